"""`kmonitor keys` and `authorize`: this device's key, and keys that may connect to the hub."""

import re
import time
from collections.abc import Iterable
from typing import Annotated, Final

from cyclopts import App, Parameter

from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.hub_access import HostOption, HubOption, folder_faults_named, open_hub
from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.terminal import (
    DONE,
    UsageError,
    elided_middle,
    print_json,
    print_stderr,
    print_table,
    print_text,
    terminal_lines,
    terminal_safe,
)
from kmonitor.connect.hub_socket import device_keys
from kmonitor.ui.text.formats import moment_text, with_plain_spaces
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.host_identity import own_keys
from kmonitor_agent.wire.messages.access_messages import KeyGrant, Role
from kmonitor_agent.wire.messages.unions import KeysReply

app = App(
    name="keys",
    help=(
        "Show this machine's key, and the keys that may connect to the hub over the network."
        " `kmonitor authorize` adds a key.\n\nExample: `kmonitor keys list`"
    ),
)


@app.command
def mine(*, agent: Annotated[bool, Parameter(name="--agent", negative="")] = False) -> int:
    """Print the public key of this machine, which is created on first use.

    Example: `kmonitor keys mine`

    The private key stays in a file that only you can read. Give the public key to the owner of the
    hub, who adds it with `kmonitor authorize`.

    Args:
        agent: The key of training runs on this machine, for `MonitorCallback(hub="tcp://...")`,
            instead of the key that the window and the command line use.
    """
    folders = find_folders()
    if agent:
        with folder_faults_named(folders):
            pair = own_keys(folders, "agent")
    else:
        pair = device_keys(folders)
    print_text(pair.public_text)
    role = "agent" if agent else "viewer"
    print_stderr("The owner of the hub authorizes it with:")
    print_stderr(f"  kmonitor authorize {pair.public_text} --role {role} --name NAME")
    return DONE


@app.command(name="list")
def list_(
    *,
    json: JsonOption = False,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """List the authorized keys, and the address to connect to.

    Example: `kmonitor keys list --json`

    Args:
        json: One JSON object: `address` (empty if the hub is not listening), `keys`, and `fault`
            (why the list cannot be trusted, in which case no key is authorized; otherwise empty).
        host: List the keys of the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or
            a name from `kmonitor hosts`.
        hub: List the keys of the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    with open_hub(host, hub=hub) as client:
        reply = client.keys()
    if json:
        print_json({"address": reply.address, "keys": fields_of(reply.keys), "fault": reply.fault})
    else:
        _print_keys(reply)
    return DONE


def _print_keys(reply: KeysReply) -> None:
    if reply.address:
        print_text(f"The hub is listening on: {reply.address}")
    else:
        text = (
            "The hub is not listening on the network. To make it listen, start it with: "
            "kmonitor hub --bind ADDRESS:PORT"
        )
        print_text(terminal_lines(text, indent=0))
    if reply.fault:
        print_stderr(f"{terminal_safe(reply.fault)}.")
        return
    if not reply.keys:
        print_text(
            "No keys are authorized. Authorize one: kmonitor authorize KEY --role ROLE --name NAME"
        )
        return
    now_wall_s = time.time()
    rows = [
        (
            each.name,
            each.role,
            with_plain_spaces(moment_text(each.since_wall_s, now_wall_s=now_wall_s)),
            each.key,
        )
        for each in reply.keys
    ]
    print_table(("NAME", "ROLE", "SINCE", "KEY"), rows, folds=("NAME",))


@app.command
def revoke(name_or_key: str, /, *, host: HostOption = None, hub: HubOption = None) -> int:
    """Revoke a key: its device can no longer connect, and an open connection is closed at once.

    Example: `kmonitor keys revoke anna-laptop`

    Args:
        name_or_key: As `kmonitor keys list` shows it.
        host: Revoke it at the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a
            name from `kmonitor hosts`.
        hub: Revoke it at the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    if not name_or_key.strip():
        raise UsageError("The key name must not be empty.", "List the keys: kmonitor keys list")
    with open_hub(host, hub=hub) as client:
        client.keys(revoke=name_or_key)
    print_text(f'"{terminal_safe(name_or_key)}" can no longer connect.')
    return DONE


_KEY: Final = re.compile(r"[0-9a-f]{64}")
_NAME: Final = re.compile(r"[\w.@][\w.@ -]{0,63}")
_SHOWN_CELLS: Final = 70


def authorize(
    key: str,
    /,
    *,
    role: Annotated[Role, Parameter(name="--role")],
    name: Annotated[str, Parameter(name="--name")],
    replace: Annotated[bool, Parameter(name="--replace", negative="")] = False,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Authorize a device to connect to the hub over the network; run this on the hub's machine.

    The device prints its key with `kmonitor keys mine`. The hub listens if it was started with
    `kmonitor hub --bind ADDRESS:PORT`; `kmonitor keys list` prints the address to connect to.

    Example: `kmonitor authorize KEY --role viewer --name ada-laptop`

    Args:
        key: The device's key: 64 hexadecimal digits.
        role: viewer: sees runs and charts. operator: also sends commands, edits and removes runs,
            and authorizes keys. agent: a training process, which reports its own runs.
        name: Name of the key, for lists and the audit log.
        replace: Give an already authorized key this name and role.
        host: Grant access to the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a
            name from `kmonitor hosts`.
        hub: Grant access to the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    digits = key.strip().lower()
    if not _KEY.fullmatch(digits):
        raise UsageError(
            f'"{terminal_safe(elided_middle(key, _SHOWN_CELLS))}" is not a key.',
            "A key is 64 hexadecimal digits; the device prints its own with: kmonitor keys mine",
        )
    if not _NAME.fullmatch(name):
        raise UsageError(
            f'"{terminal_safe(elided_middle(name, _SHOWN_CELLS))}" is not a valid key name.',
            "Use 1 to 64 letters, digits, spaces or . @ _ - and start with a letter or digit.",
        )
    wanted = KeyGrant(key=digits, name=name, role=role)
    with open_hub(host, hub=hub) as client:
        _warn_if_replaced(client.keys().keys, wanted, may_replace=replace)
        reply = client.keys(authorize=wanted)
    print_text(f'"{terminal_safe(name)}" can now connect ({role}).')
    if reply.address:
        print_text(f"It connects to: {reply.address}")
    else:
        print_text("This hub is not listening on the network. Start it with:")
        print_text("  kmonitor hub --bind ADDRESS:PORT")
    return DONE


def _warn_if_replaced(known: Iterable[KeyGrant], wanted: KeyGrant, *, may_replace: bool) -> None:
    before = next((one for one in known if one.key == wanted.key), None)
    if before is None or (before.name, before.role) == (wanted.name, wanted.role):
        return
    if not may_replace:
        raise UsageError(
            f'That key is already authorized as "{terminal_safe(before.name)}" ({before.role}).',
            "Add --replace to give it the new name and role.",
        )
    print_text(f'It was "{terminal_safe(before.name)}" ({before.role}) until now.')
