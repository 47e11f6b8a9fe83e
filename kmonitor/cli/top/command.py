"""`kmonitor top`: opens the screen, follows the hubs, and does what keys say."""

import os
import queue
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.base.wakeup import WakeupPipe
from kmonitor.cli.common.hub_access import FolderOption, HostOption, HubOption, HubRoute
from kmonitor.cli.common.hub_poller import HubPoller
from kmonitor.cli.common.run_list import RunSort
from kmonitor.cli.common.terminal import DONE, UsageError
from kmonitor.cli.top.run_reader import RunReader
from kmonitor.cli.top.state import Note, RamHistory, RunDetails, TopState
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor_agent.wire.local.folders import find_folders

if TYPE_CHECKING:
    from kmonitor_agent.wire.messages.unions import RunSummary

_REFRESH_S: Final = 1.0
_MOST_HISTORIES: Final = 50
"""Runs whose last minutes are read when they are first listed."""


def top(
    *,
    sort: Annotated[RunSort, Parameter(name="--sort")] = "started",
    ended: Annotated[bool, Parameter(name="--ended", negative="")] = False,
    folder: FolderOption = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Watch the runs of this machine and of the remembered hosts, live.

    Example: `kmonitor top --sort ram`

    Enter opens the details of the selected run. `p`, `s`, `r`, `c` and `x` pause, save, reload,
    collect and stop it after asking for confirmation. `?` lists all keys, `q` quits.

    Args:
        sort: Order of the runs; `o` changes it.
        ended: Also list runs that have ended; `a` toggles this later.
        folder: Only the runs in this folder, which is opened read-only.
        host: Only the runs of this host, reached over ssh: `gpu-01`, `user@gpu-01`, or a name from
            `kmonitor hosts`.
        hub: Only the runs of the hub at this address, tcp://HOST:PORT?key=KEY.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise UsageError(
            "kmonitor top needs a terminal with cursor control.",
            "Instead use: kmonitor runs, or kmonitor runs --watch --json",
        )
    state = TopState(sort=sort, states=() if ended else ("live",))
    with ExitStack() as stack:
        pipe = WakeupPipe()
        stack.callback(pipe.close)
        session = TopSession(state, pipe, _routes(HubRoute(host, folder, hub)))
        stack.callback(session.stop)
        session.start()
        session.run()
    return DONE


def _routes(named: HubRoute) -> list[HubRoute]:
    """The hub that is named; else this user's own and those of the remembered hosts."""
    if named != HubRoute():
        return [named]
    return [named, *(HubRoute(host.address) for host in HostStore(find_folders()).hosts())]


class TopSession:
    """Composition root: pollers, state, view and screen; main thread only."""

    def __init__(self, state: TopState, pipe: WakeupPipe, routes: Sequence[HubRoute]) -> None:
        try:
            from kmonitor.cli.top.keyboard_screen import KeyboardScreen  # noqa: PLC0415
        except ImportError as exc:
            raise UserError("kmonitor top needs a Unix terminal.", "Use: kmonitor runs") from exc
        from kmonitor.cli.top.view import TopView  # noqa: PLC0415

        self._state = state
        self._pipe = pipe
        self._messages: queue.SimpleQueue[RunDetails | RamHistory | Note] = queue.SimpleQueue()
        self._pollers = [HubPoller(route, pipe.wake) for route in routes]
        self._readers = [RunReader(poller, self._messages.put) for poller in self._pollers]
        self._reader_of: dict[str, RunReader] = {}
        self._screen = KeyboardScreen(pipe)
        self._view = TopView()
        self._size = self._screen.size

    def start(self) -> None:
        """Begin to poll."""
        for poller in self._pollers:
            poller.start()

    def stop(self) -> None:
        """End the pollers."""
        for poller in self._pollers:
            poller.stop()

    def run(self) -> None:
        """Draw and take keys until one of them leaves."""
        with self._screen.opened():
            while True:
                self._collect()
                if self._screen.size != self._size:
                    self._size = self._screen.size
                    self._screen.redraw()
                self._screen.draw(self._view.frame(self._state, self._size))
                keys = self._screen.wait(_REFRESH_S)
                if keys is None or any(self._press(key) for key in keys):
                    return

    def _press(self, key: str) -> bool:
        """Do what a key says; True: leave."""
        question = self._state.question
        match self._state.press(key):
            case "quit":
                return True
            case "suspend":
                self._screen.suspend()
            case "redraw":
                self._screen.redraw()
            case "send" if question is not None:
                self._state.question = None
                self._state.note = f"{question.run.name}: sending {question.action}."
                self._reader_of[question.run.run].send(question)
            case _:
                pass
        return False

    def _collect(self) -> None:
        """Take what the pollers have found, and have them read what is shown."""
        state = self._state
        runs: dict[str, RunSummary] = {}
        for poller, reader in zip(self._pollers, self._readers, strict=True):
            for run in poller.runs:
                if run.run not in runs:
                    runs[run.run] = run
                    self._reader_of[run.run] = reader
        state.apply_runs(list(runs.values()))
        while not self._messages.empty():
            state.apply_message(self._messages.get())
        state.hosts = len(self._pollers)
        state.troubles = tuple(
            f"{poller.route.host or 'This machine'}: {poller.trouble}"
            for poller in self._pollers
            if poller.trouble
        )
        for run in state.listed()[:_MOST_HISTORIES]:
            self._reader_of[run.run].request_history(run)
            if run.verdicts:
                self._reader_of[run.run].request_details(run, with_events=False)
        selected = state.selected_run()
        if selected is not None and state.has_details:
            self._reader_of[selected.run].request_details(selected, with_events=True)
