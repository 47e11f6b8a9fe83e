"""A run that is not on this machine's hub is looked for on the remembered hosts, side by side."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from kmonitor.base.errors import Expected
from kmonitor.cli.common.run_choice import UnknownRun, choose_run
from kmonitor.cli.common.terminal import counted, plain
from kmonitor.connect.host_access import reached
from kmonitor.connect.host_book import HostBook, RememberedHost
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.hub_socket import direct_hub
from kmonitor.connect.remote_hub import Stopped
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import SCHEME
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.local.sockets import ipc
from kmonitor_agent.wire.messages.unions import RunSummary

HOST_S: Final = 15.0
"""How long a host may take to answer, seconds."""

_AT_ONCE: Final = 16


class NowhereFound(Expected):
    """No hub that was asked knows the run; says what each answered."""

    def __init__(self, wanted: str, said: list[tuple[str, str]]) -> None:
        lines = "\n".join(f"  {place}: {plain(words)}" for place, words in said)
        super().__init__(
            f'There is no run "{plain(wanted)}" on any host that was asked.',
            f"Asked:\n{lines}\nSee the runs of one with: kmonitor runs --host NAME",
        )


def run_anywhere(folders: Folders, here: list[RunSummary], wanted: str) -> str:
    """The id of the run that is meant, on this machine or else on a remembered host.

    Args:
        folders: This user's.
        here: The runs of this machine's hub.
        wanted: What was typed.

    Raises:
        UnknownRun: None is, and no host is remembered.
        NowhereFound: None is, on no host that was asked.
        AmbiguousRun: More than one is.
    """
    try:
        return choose_run(here, wanted).run
    except UnknownRun:
        hosts = HostBook(folders).hosts()
        if not hosts:
            raise
    with ThreadPoolExecutor(min(len(hosts), _AT_ONCE), "kmonitor-search") as pool:
        told = list(pool.map(partial(_runs_of, folders), hosts))
    found = [run for runs in told if not isinstance(runs, str) for run in runs]
    try:
        return choose_run(found, wanted).run
    except UnknownRun:
        said = [("this machine", _none_of(here))]
        for host, runs in zip(hosts, told, strict=True):
            said.append((host.called, runs if isinstance(runs, str) else _none_of(runs)))
        raise NowhereFound(wanted, said) from None


def _none_of(runs: list[RunSummary]) -> str:
    return f"{counted(len(runs), 'run')}, none of them" if runs else "no runs"


def _runs_of(folders: Folders, host: RememberedHost) -> list[RunSummary] | str:
    """A host's runs, or why they are not known."""
    stop = threading.Event()
    timer = threading.Timer(HOST_S, stop.set)
    timer.start()
    try:
        if host.address.startswith(SCHEME):
            with HubClient(direct_hub(host.address, folders)) as client:
                return client.runs()
        with (
            reached(folders, host, stop=stop) as (_, tunnel),
            HubClient(ipc(tunnel.local)) as client,
        ):
            return client.runs()
    except Stopped:
        return f"it did not answer within {HOST_S:g} s."
    except Expected as exc:
        return exc.what
    except (NotPrivate, OSError) as exc:
        return str(exc)
    finally:
        timer.cancel()
