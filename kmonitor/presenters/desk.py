"""All that one window knows of its hub, fed by messages; no Qt."""

from typing import Literal, Protocol

import msgspec

from kmonitor.presenters.command_desk import Ask, CommandDesk
from kmonitor.presenters.connection import Connection
from kmonitor.presenters.diagnosis import DiagnosisBook
from kmonitor.presenters.event_log import EventLog
from kmonitor.presenters.history import History
from kmonitor.presenters.limit_desk import LimitDesk
from kmonitor.presenters.readings import RunReadings
from kmonitor.presenters.reclaim_table import ReclaimBook
from kmonitor.presenters.run_book import RunBook
from kmonitor_agent.local.clock import Clock
from kmonitor_agent.protocol.codec import decode_event
from kmonitor_agent.protocol.commands import Arguments, CommandName
from kmonitor_agent.protocol.errors import ProtocolError
from kmonitor_agent.protocol.facts import ActionRecord, AnyEvent, Diagnosis, Sample, Sources
from kmonitor_agent.protocol.messages import (
    CommandTold,
    ErrorMessage,
    HubTold,
    Row,
    RowsTold,
    RunsTold,
    RunSummary,
    SeriesTold,
)

Topic = Literal["link", "runs", "log", "series", "readings", "commands"]
"""What can have changed since the window last looked."""


class SeriesSink(Protocol):
    """Takes what the charts draw; made when the charts are loaded."""

    def take_event(self, row: Row, event: AnyEvent, *, is_live: bool) -> None:
        """A decoded event of any run, live or from history."""
        ...

    def take_series(self, told: SeriesTold) -> None:
        """An answer to a question for columns."""
        ...

    def refuse(self, ask: int) -> None:
        """A question was refused."""
        ...

    def show_runs(self, runs: list[RunSummary]) -> None:
        """These runs are drawn, the selected one first."""
        ...

    def forget(self) -> None:
        """Another hub: all that was told is void."""
        ...


class Desk:
    """Takes messages, keeps the parts up to date, and notes what changed; main thread only.

    Attributes:
        book: The runs. link: The connection. log: Event log. commands: What was asked from here.
        limits: Limits in force and asked for. reclaims: What was reclaimed. diagnoses: What was
            found.
        changed: What changed since the window last looked; the window clears it.
    """

    def __init__(self, *, ask: Ask, clock: Clock, user: str) -> None:
        self.book = RunBook()
        self.link = Connection()
        self.log = EventLog()
        self.reclaims = ReclaimBook()
        self.diagnoses = DiagnosisBook()
        self.commands = CommandDesk(ask, asked_by=user)
        self.limits = LimitDesk(self.commands, user=user)
        self.changed: set[Topic] = set()
        self._readings: dict[str, RunReadings] = {}
        self._history = History(ask)
        self._clock = clock
        self._hub = ""
        self._charts: SeriesSink | None = None

    def attach_charts(self, charts: SeriesSink) -> None:
        """Feed the charts from now on."""
        self._charts = charts
        self._show_runs()

    def readings(self, run: str) -> RunReadings:
        """The readings of one run."""
        return self._readings.setdefault(run, RunReadings())

    def connected(self, told: HubTold) -> None:
        """The hub answers."""
        if told.hub != self._hub:
            self._hub = told.hub
            self.log.clear()
            self.reclaims.clear()
            self.diagnoses.clear()
            self._history.forget()
            self._readings.clear()
            if self._charts is not None:
                self._charts.forget()
        self.link.connected(told)
        self.changed |= {"link", "runs", "log"}
        self._show_runs()

    def disconnected(self, why: str, *, retry_in_s: float, since_wall_s: float) -> None:
        """The hub does not answer."""
        retry_wall_s = self._clock.wall_s() + retry_in_s
        self.link.disconnected(why, since_wall_s=since_wall_s, retry_wall_s=retry_wall_s)
        self.changed |= {"link", "runs"}

    def take(self, message: msgspec.Struct) -> None:
        """Take any message that the hub sent."""
        match message:
            case RunsTold():
                self._take_runs(message)
            case RowsTold():
                self._take_rows(message)
            case SeriesTold():
                self._take_series(message)
            case CommandTold():
                self._take_command(message)
            case ErrorMessage():
                self._take_error(message)
            case _:
                # Answers that only the asker needs, and hints.
                return

    def select(self, run: str) -> None:
        """Look at this run."""
        if self.book.select(run):
            self.changed |= {"runs", "readings", "series"}
            self._show_runs()

    def command(self, name: CommandName, args: Arguments | None = None) -> None:
        """Ask the selected run's process for something.

        Args:
            name: What.
            args: How; None: in the usual way.
        """
        run = self.book.current()
        if run is not None and name in run.actions:
            self.commands.send(run, name, args)
            self.changed.add("commands")

    @property
    def is_first_start(self) -> bool:
        """Whether there is certainly no run yet."""
        hub = self.link.hub
        known_empty = self.book.is_filled or (hub is not None and hub.rows == 0)
        return not self.book.runs() and known_empty

    def _take_runs(self, told: RunsTold) -> None:
        if self.book.take(told):
            self.changed.add("readings")
        for summary in told.runs:
            self.limits.settle(summary)
        self.changed |= {"runs", "series"}
        self._show_runs()

    def _take_rows(self, told: RowsTold) -> None:
        is_live = not self._history.take(told)
        if is_live:
            self.link.count_rows(len(told.rows))
        for row in told.rows:
            try:
                event = decode_event(row.body)
            except ProtocolError:
                # A newer agent's event type: stored by the hub, nothing for this version to show.
                continue
            self._take_event(row, event, is_live=is_live)

    def _take_event(self, row: Row, event: AnyEvent, *, is_live: bool) -> None:
        if isinstance(event, Sample):
            self.readings(row.run).take_sample(event, row.t_s)
            self.changed.add("readings")
        elif isinstance(event, Sources):
            self.readings(row.run).take_sources(event)
            self.changed.add("readings")
        elif self._log(row, event):
            self.changed.add("log")
        if self._charts is not None:
            self._charts.take_event(row, event, is_live=is_live)
            self.changed.add("series")

    def _log(self, row: Row, event: AnyEvent) -> bool:
        summary = self.book.get(row.run)
        name = summary.name if summary else row.run[:8]
        start_wall_s = summary.started_wall_s if summary else self._clock.wall_s() - row.t_s
        wall_s = start_wall_s + row.t_s
        if isinstance(event, ActionRecord):
            self.reclaims.add(row.run, row.row, event, wall_s=wall_s)
        elif isinstance(event, Diagnosis):
            self.diagnoses.add(row.run, row.row, event, wall_s=wall_s)
        return self.log.add(row.row, event, run=row.run, name=name, wall_s=wall_s)

    def _take_series(self, told: SeriesTold) -> None:
        readings = self.readings(told.run)
        readings.add_sources(told.sources)
        if not self._history.take_series(told, readings) and self._charts is not None:
            self._charts.take_series(told)
        self.changed |= {"series", "readings"}

    def _take_command(self, told: CommandTold) -> None:
        asked = self.commands.take(told)
        if asked is not None:
            self.limits.ended(asked)
            self.changed |= {"commands", "series"}

    def _take_error(self, error: ErrorMessage) -> None:
        asked = self.commands.refuse(error)
        if asked is not None:
            self.limits.ended(asked)
            self.changed |= {"commands", "series"}
        if self._charts is not None:
            self._charts.refuse(error.ask)

    def _show_runs(self) -> None:
        shown = list(self.book.shown())
        if not self.link.is_live:
            return
        for summary in shown[:1]:
            self._history.want(summary)
        if self._charts is not None:
            self._charts.show_runs(shown)
