"""Jobs of a polling thread for `kmonitor top`: details of runs, and commands to them."""

import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from kmonitor.base.errors import UserError
from kmonitor.cli.common.event_text import event_lines
from kmonitor.cli.common.hub_poller import HubPoller
from kmonitor.cli.common.terminal import terminal_safe
from kmonitor.cli.send_command import requester_name
from kmonitor.cli.top.state import HISTORY_S, Note, Question, RamHistory, RunDetails
from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.export.events import decode_row
from kmonitor.ui.events.event_log import LOG_KINDS
from kmonitor.ui.text.formats import with_plain_spaces
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
    """Reads through one poller; `request_...` from the main thread, the rest on the poller's.

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
        """Have the RAM of the last minutes read, once a run."""
        if run.run not in self._with_history:
            self._with_history.add(run.run)
            self._poller.submit(partial(self._read_history, run))

    def request_details(self, run: RunSummary, *, with_events: bool) -> None:
        """Have verdicts and events read, once for each change of the run."""
        stamp = run.change if with_events else run.epochs_done
        if self._awaited.get(f"{run.run}{with_events}") != stamp:
            self._awaited[f"{run.run}{with_events}"] = stamp
            self._poller.submit(partial(self._read_details, run, with_events=with_events))

    def send(self, question: Question) -> None:
        """Send a command that was confirmed; what becomes of it is posted."""
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
