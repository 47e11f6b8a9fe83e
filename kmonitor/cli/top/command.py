"""`kmonitor top`: opens the screen, follows the hubs, and handles keys."""

import os
import queue
import struct
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Final

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.base.wakeup import WakeupPipe
from kmonitor.cli.common.event_text import event_lines
from kmonitor.cli.common.hub_access import FolderOption, HostOption, HubOption, HubRoute
from kmonitor.cli.common.hub_poller import HubPoller
from kmonitor.cli.common.run_list import RunSort
from kmonitor.cli.common.terminal import DONE, UsageError, terminal_safe
from kmonitor.cli.send_command import requester_name
from kmonitor.cli.top.state import HISTORY_S, Note, Question, RamHistory, RunDetails, TopState
from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor.export.events import decode_row
from kmonitor.ui.events.event_log import LOG_KINDS
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.commands import FINAL_STATES, CommandStatus
from kmonitor_agent.wire.messages.events import ActionRecord
from kmonitor_agent.wire.messages.unions import RunSummary

_MOST_LINES: Final = 100
_BUCKETS: Final = 60


@dataclass(slots=True)
class _Known:
    cursor: int = 0
    epochs_done: int = -1
    actions: deque[str] = field(default_factory=lambda: deque[str](maxlen=_MOST_LINES))
    events: deque[str] = field(default_factory=lambda: deque[str](maxlen=_MOST_LINES))


class RunReader:
    """Reads through one poller: `request_...` from the main thread, the rest on the poller's.

    `post` is called on the poller's thread with each result.
    """

    def __init__(
        self, poller: HubPoller, post: Callable[[RunDetails | RamHistory | Note], None]
    ) -> None:
        self._poller = poller
        self._post = post
        self._known: dict[str, _Known] = {}
        self._with_history: set[str] = set()
        self._awaited: dict[str, int] = {}

    def request_history(self, run: RunSummary) -> None:
        """Request the RAM of the last minutes, once per run."""
        if run.run not in self._with_history:
            self._with_history.add(run.run)
            self._poller.submit(partial(self._read_history, run))

    def request_details(self, run: RunSummary, *, with_events: bool) -> None:
        """Request verdicts and events, once per change of the run."""
        stamp = run.change if with_events else run.epochs_done
        if self._awaited.get(f"{run.run}{with_events}") != stamp:
            self._awaited[f"{run.run}{with_events}"] = stamp
            self._poller.submit(partial(self._read_details, run, with_events=with_events))

    def send(self, question: Question) -> None:
        """Send a confirmed command; its result is posted."""
        self._poller.submit(partial(self._send, question))

    def _read_history(self, run: RunSummary, client: HubClient) -> None:
        try:
            from_s = max(0.0, run.duration_s - HISTORY_S)
            reply = client.series(run.run, ["ram_bytes"], from_s=from_s, buckets=_BUCKETS)
        except HubRefused:
            return
        for column in reply.columns:
            pairs = zip(_floats(column.t_s), _floats(column.values), strict=True)
            points = tuple((t_s, value) for t_s, value in pairs if value == value)  # noqa: PLR0124 - no NaN
            self._post(RamHistory(run.run, points))

    def _read_details(self, run: RunSummary, client: HubClient, *, with_events: bool) -> None:
        known = self._known.setdefault(run.run, _Known())
        if with_events:
            self._read_events(run, known, client)
        try:
            verdicts = tuple(client.verdicts_so_far(run.run).verdicts)
        except HubRefused:
            verdicts = ()
        self._post(RunDetails(run.run, verdicts, tuple(known.actions), tuple(known.events)))

    def _read_events(self, run: RunSummary, known: _Known, client: HubClient) -> None:
        while True:
            page = client.rows(cursor=known.cursor, runs=(run.run,), kinds=LOG_KINDS)
            if page.head < known.cursor:
                known.cursor = 0
                continue
            for row in page.rows:
                for line in event_lines(row, name=run.name)[:1]:
                    text = terminal_safe(with_plain_spaces(line))
                    known.events.append(text)
                    if isinstance(decode_row(row), ActionRecord):
                        known.actions.append(text)
            known.cursor = page.cursor
            if not page.more:
                return

    def _send(self, question: Question, client: HubClient) -> None:
        try:
            status = client.command(question.run, question.action, requested_by=requester_name())
        except UserError as exc:
            self._post(Note(f"{exc.what} {exc.remedy}".strip()))
            return
        self._report(question, status)

    def _ask_again(self, question: Question, sent: CommandStatus, client: HubClient) -> None:
        status = client.wait_for(sent, timeout_s=0.2)
        if status.state in FINAL_STATES:
            self._report(question, status)
        else:
            self._poller.submit(partial(self._ask_again, question, sent), is_urgent=False)

    def _report(self, question: Question, status: CommandStatus) -> None:
        why = f": {status.why}" if status.why else ""
        self._post(Note(f"{question.run.name}: {status.name} is {status.state}{why}."))
        if status.state not in FINAL_STATES:
            self._poller.submit(partial(self._ask_again, question, status), is_urgent=False)


def _floats(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // 8}d", packed)


_REFRESH_S: Final = 1.0
_MOST_HISTORIES: Final = 50
"""Most runs whose last minutes are read when they are first listed."""


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
    collect and stop it after asking for confirmation. `?` lists all keys; `q` quits.

    Args:
        sort: Order of the runs; `o` changes it.
        ended: Also list runs that have ended; press `a` to toggle this while it runs.
        folder: Only the runs in this folder, which is opened read-only.
        host: Only the runs of this host, over ssh: `gpu-01`, `user@gpu-01`, or a name from
            `kmonitor hosts`.
        hub: Only the runs of the hub at this address, tcp://HOST:PORT?key=KEY.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise UsageError(
            "kmonitor top needs a terminal with cursor control.",
            "Use instead: kmonitor runs, or kmonitor runs --watch --json",
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
    """Route to the named hub; else to this user's own and those of the remembered hosts."""
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
        for poller in self._pollers:
            poller.start()

    def stop(self) -> None:
        for poller in self._pollers:
            poller.stop()

    def run(self) -> None:
        """Draw and handle keys until a key quits."""
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
        """Handle a key; return True to quit."""
        question = self._state.question
        match self._state.press(key):
            case "quit":
                return True
            case "interrupt":
                raise KeyboardInterrupt
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
        """Take the results of the pollers, and request data of the shown runs."""
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
