"""`kmonitor authorize`: let a device connect to this user's hub over the network."""

import re
from collections.abc import Iterable
from typing import Annotated, Final

from cyclopts import Parameter

from kmonitor.cli.common.hub_access import HostOption, HubOption, open_hub
from kmonitor.cli.common.statuses import DONE, Misuse
from kmonitor.cli.common.terminal import elided_middle, plain, say
from kmonitor_agent.wire.messages.access_messages import KeyGrant, Role

_KEY: Final = re.compile(r"[0-9a-f]{64}")
_SHOWN_CELLS: Final = 70
_NAME: Final = re.compile(r"[\w.@][\w.@ -]{0,63}")


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
    """Let a device connect to the hub over the network; run it where the hub runs.

    The device prints its key with `kmonitor keys mine`. The hub listens when it was started with
    `kmonitor hub --bind ADDRESS:PORT`; `kmonitor keys list` prints the address to connect to.

    Example: `kmonitor authorize 3f2a... --role viewer --name anna-laptop`

    Args:
        key: The device's key: 64 hexadecimal digits.
        role: viewer: sees runs and charts. operator: also commands, edits and removes, and lets
            others in. agent: a training, which tells of its own runs.
        name: What this key is called here, in lists and in the audit.
        replace: Give a key that is known already this name and role instead of its own.
        host: Of the hub on this host, reached over ssh: `gpu-01`, `user@gpu-01`, or a name of
            `kmonitor hosts`.
        hub: Of the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    digits = key.strip().lower()
    if not _KEY.fullmatch(digits):
        raise Misuse(
            f'"{plain(elided_middle(key, _SHOWN_CELLS))}" is no key.',
            "A key is 64 hexadecimal digits; the device prints its own with: kmonitor keys mine",
        )
    if not _NAME.fullmatch(name):
        raise Misuse(
            f'"{plain(elided_middle(name, _SHOWN_CELLS))}" cannot be the name of a key.',
            "Write 1 to 64 letters, digits, spaces or . @ _ - and begin with a letter or digit.",
        )
    wanted = KeyGrant(key=digits, name=name, role=role)
    with open_hub(host, hub=hub) as client:
        _mind_what_it_was(client.keys().keys, wanted, may_replace=replace)
        told = client.keys(authorize=wanted)
    say(f'"{plain(name)}" may connect now ({role}).')
    if told.address:
        say(f"It connects to: {told.address}")
    else:
        say("This hub does not listen on the network. It does when started as:")
        say("  kmonitor hub --bind ADDRESS:PORT")
    return DONE


def _mind_what_it_was(known: Iterable[KeyGrant], wanted: KeyGrant, *, may_replace: bool) -> None:
    before = next((one for one in known if one.key == wanted.key), None)
    if before is None or (before.name, before.role) == (wanted.name, wanted.role):
        return
    if not may_replace:
        raise Misuse(
            f'That key may connect already, as "{plain(before.name)}" ({before.role}).',
            "Add --replace to give it the new name and role.",
        )
    say(f'It was "{plain(before.name)}" ({before.role}) until now.')
