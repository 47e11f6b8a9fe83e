"""`kmonitor hosts`: hosts whose hubs the window and the command line reach over ssh."""

from typing import Annotated

from cyclopts import App, Parameter

from kmonitor.base.errors import UserError
from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.hub_access import folder_faults_named
from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.terminal import (
    DONE,
    print_json,
    print_stderr,
    print_table,
    print_text,
    terminal_safe,
)
from kmonitor.connect.host_access import check_host
from kmonitor.connect.remembered_hosts import HostStore, RememberedHost
from kmonitor_agent.wire.local.folders import find_folders

app = App(name="hosts")

_FOUND_BY = {
    "launcher": "found in the record of the last training run on that host",
    "path": "found on the PATH of a login shell",
    "command": "found through the remembered command",
}


@app.default
def hosts(*, json: JsonOption = False) -> int:
    """List the hosts that you have connected to, from the window or the command line.

    Example: `kmonitor hosts --json`

    Their hubs are reached over ssh, with your own configuration; `kmonitor runs --host gpu-01`
    also works for a host that is not remembered.

    Args:
        json: One JSON list with `address`, `name`, `command`, `socket` and `error`.
    """
    store = HostStore(find_folders())
    known = store.hosts()
    _warn_trouble(store)
    if json:
        print_json([fields_of(host) for host in known])
    elif known:
        rows = [(host.called, host.address, host.command, host.error or "") for host in known]
        print_table(("NAME", "ADDRESS", "COMMAND", "LAST ERROR"), rows, folds=("LAST ERROR",))
    else:
        print_text("No hosts yet. Add one: kmonitor hosts add gpu-01")
    return DONE


@app.command
def add(
    address: str,
    /,
    *,
    name: str = "",
    command: str | None = None,
    untried: Annotated[bool, Parameter(name="--untried", negative="")] = False,
) -> int:
    """Connect to a host and, if that succeeds, remember it. The window shows it from then on.

    Example: `kmonitor hosts add gpu-01 --name gpu`

    Args:
        address: An ssh destination, `gpu-01` or `user@gpu-01`; or tcp://HOST:PORT?key=KEY.
        name: Name to show; default: its address.
        command: Path to kmonitor on the host, if a login shell does not find it:
            `/path/to/bin/kmonitor`.
        untried: Remember it without connecting.
    """
    folders = find_folders()
    store = HostStore(folders)
    if not untried:
        known = store.find(address)
        _warn_trouble(store)
        remote_command = known.command if known is not None and command is None else command
        with folder_faults_named(folders):
            found = check_host(folders, RememberedHost(address, command=remote_command or ""))
        how = f", {_FOUND_BY.get(found.found_by, 'found')}: {found.python}" if found.python else ""
        print_text(
            terminal_safe(
                f"kmonitor {found.version} is running on {found.host} (process {found.pid}{how})."
            )
        )
    host = store.add(address, name=name, command=command)
    _warn_trouble(store)
    print_text(terminal_safe(f"Added: {host.called}."))
    return DONE


@app.command
def remove(host: str, /) -> int:
    """Remove a host from the list; nothing changes on the host itself.

    Example: `kmonitor hosts remove gpu-01`

    Args:
        host: Its address or its name.
    """
    store = HostStore(find_folders())
    store.remove(_known_host(store, host).address)
    print_text(terminal_safe(f"Removed: {host}."))
    return DONE


@app.command
def rename(host: str, name: str, /) -> int:
    """Rename a host.

    Example: `kmonitor hosts rename gpu-01 gpu`

    Args:
        host: Its address or its name.
        name: The new name; if empty, the host is shown by its address.
    """
    store = HostStore(find_folders())
    address = _known_host(store, host).address
    store.rename(address, name)
    print_text(terminal_safe(f"{address} is now called {name or address}."))
    return DONE


def _warn_trouble(store: HostStore) -> None:
    if store.trouble:
        print_stderr(f"kmonitor: {terminal_safe(store.trouble)}")


def _known_host(store: HostStore, host: str) -> RememberedHost:
    known = store.find(host)
    _warn_trouble(store)
    if known is None:
        raise UserError(
            f'Unknown host: "{terminal_safe(host)}".', "List the hosts: kmonitor hosts"
        )
    return known
