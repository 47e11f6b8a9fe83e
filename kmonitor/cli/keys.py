"""`kmonitor keys`: this device's key, and who may connect to the hub over the network."""

import time
from typing import Annotated

from cyclopts import App, Parameter

from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.hub_access import HostOption, HubOption, folder_faults_named, open_hub
from kmonitor.cli.common.statuses import DONE
from kmonitor.cli.common.terminal import complain, plain, say, say_json, say_table
from kmonitor.connect.hub_socket import device_keys
from kmonitor.ui.text.formats import moment_text, plain_text
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.host_identity import own_keys
from kmonitor_agent.wire.messages.unions import KeysTold

app = App(
    name="keys",
    help="This device's key, and who may connect to the hub over the network. Keys are let in "
    "with `kmonitor authorize`.",
)


@app.command
def mine(*, agent: Annotated[bool, Parameter(name="--agent", negative="")] = False) -> int:
    """Print this device's own public key, which is made on first use.

    Its secret stays in a file that only you can read. Give the public key to whoever runs the
    hub, who lets it in with `kmonitor authorize`.

    Args:
        agent: The key of trainings on this device, for `MonitorCallback(hub="tcp://...")`,
            instead of the one of window and command line.
    """
    folders = find_folders()
    if agent:
        with folder_faults_named(folders):
            pair = own_keys(folders, "agent")
    else:
        pair = device_keys(folders)
    say(pair.public_text)
    role = "agent" if agent else "viewer"
    complain("Whoever runs the hub lets it in with:")
    complain(f"  kmonitor authorize {pair.public_text} --role {role} --name NAME")
    return DONE


@app.command(name="list")
def list_(
    *,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """List who may connect over the network, and the address to connect to.

    Args:
        json: One JSON object: `address` (empty when the hub does not listen), `keys`, and `fault`
            (why the list cannot be trusted and lets nobody in; else empty).
        host: Of the hub on this host, reached over ssh: `gpu-01`, `user@gpu-01`, or a name of
            `kmonitor hosts`.
        hub: Of the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    with open_hub(host, hub=hub) as client:
        told = client.keys()
    if json:
        say_json({"address": told.address, "keys": fields_of(told.keys), "fault": told.fault})
    else:
        _say_keys(told)
    return DONE


@app.command
def revoke(name_or_key: str, /, *, host: HostOption = None, hub: HubOption = None) -> int:
    """Let a device connect no more; if it is connected, that ends at once.

    Args:
        name_or_key: As `kmonitor keys list` shows it.
        host: Of the hub on this host, reached over ssh: `gpu-01`, `user@gpu-01`, or a name of
            `kmonitor hosts`.
        hub: Of the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    with open_hub(host, hub=hub) as client:
        client.keys(revoke=name_or_key)
    say(f'"{plain(name_or_key)}" may not connect any more.')
    return DONE


def _say_keys(told: KeysTold) -> None:
    if told.address:
        say(f"The hub listens at: {told.address}")
    else:
        say("The hub does not listen on the network (kmonitor hub --bind ADDRESS:PORT does).")
    if told.fault:
        complain(f"{plain(told.fault)}.")
        return
    if not told.keys:
        say("No key may connect. Let one in with: kmonitor authorize KEY --role ROLE --name NAME")
        return
    now = time.time()
    rows = [
        (
            each.name,
            each.role,
            plain_text(moment_text(each.since_wall_s, now_wall_s=now)),
            each.key,
        )
        for each in told.keys
    ]
    say_table(("NAME", "ROLE", "SINCE", "KEY"), rows, folds=("NAME",))
