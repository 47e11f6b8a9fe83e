"""The hub's event log: registry, commands and database behind one group commit.

Appended events wait in memory for the next commit. Nothing is acknowledged to an agent, and no
reply leaves, before the events that it depends on are committed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args

from msgspec.structs import replace

from kmonitor.hub.faults import HubFaults
from kmonitor.hub.runs.apply_events import apply_event
from kmonitor.hub.runs.command_queue import CommandEntry, CommandQueue
from kmonitor.hub.runs.registry import RunRegistry
from kmonitor.hub.runs.run_record import RunRecord, read_record
from kmonitor.hub.store.connection import CONFLICT_ERRORS, REJECTED_ROW_ERRORS, RETRYABLE_ERRORS
from kmonitor.hub.store.database import Database, WriteBatch
from kmonitor.hub.store.pages import PageRequest
from kmonitor.hub.store.row_checks import count_of
from kmonitor.hub.store.sample_blocks import SampleBlock
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.codec import (
    MalformedMessage,
    ProtocolError,
    UnsupportedType,
    check_unknown_event,
    decode_event,
    encode_event,
)
from kmonitor_agent.wire.messages.commands import CommandState
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    CommandProgress,
    EpochEnded,
    EpochStarted,
    FitEnded,
    GraphSize,
    LostEvents,
    Notice,
    Sample,
    SessionDied,
    SessionEnded,
    SessionStarted,
    Verdict,
)
from kmonitor_agent.wire.messages.fields import clamp_count, clamp_seconds, is_id
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES
from kmonitor_agent.wire.spool.folder import SpooledEvent, encode_lost_event
from kmonitor_agent.wire.spool.format import SessionFacts

TakenEvent = tuple[int, str, AnyEvent | None, bytes]
"""seq, kind, event (None: a type of a newer agent, kept as it is), body."""

NoticeLevel = Literal["info", "warning", "error"]

COMMIT_INTERVAL_S = 0.06
"""Minimum time between two commits, seconds; a single event is committed at once."""

_RETRY_S = 1.0
MAX_PENDING_BYTES = 64 * 1024 * 1024
"""Maximum size of what waits for a commit, bytes."""

_ROW_OVERHEAD_BYTES = 200
_STORED_OVERHEAD_BYTES = 70
"""Size of a row in the database besides its body: columns, and its place in two indexes. Source:
measured by filling a database with 100 000 samples."""

_JUDGED_WITHIN = 10
"""Runs with fewer ended epochs are judged within their epochs too."""

_LOOK_EVERY_S = 5.0

_ENDS_UNIT = (EpochEnded, FitEnded, EpochStarted, GraphSize)
"""Events with which an epoch or a fit is over and complete."""

_Row = TypeVar("_Row", bound=tuple[Any, ...])


@dataclass(frozen=True, slots=True)
class Origin:
    """Process that sent events whose `SessionStarted` is lost.

    Attributes: as in `RunRecord`.
    """

    session: str
    host: str
    pid: int
    pid_namespace: int
    started_wall_s: float

    @classmethod
    def of(cls, facts: SessionFacts) -> "Origin":
        """Origin of the events in a spool's segment."""
        return cls(facts.session, facts.host, facts.pid, facts.pid_namespace, facts.started_wall_s)


class HubEventLog:
    """Run registry, command queue and database, written together. Owned by the hub's main thread.

    Attributes:
        head: Newest row id that is committed: what desktops may see.
        unit_ended: Runs with an epoch or a fit that has ended, or with a sample after a new call
            outside of fits; the judge's dispatcher takes them out.
        listeners: Called with each appended event of an agent.
        own_listeners: Called with each event of the hub's own: notices and verdicts.
        pending: Changes since the last commit.
    """

    def __init__(
        self, database: Database, faults: HubFaults, clock: Clock, *, is_lenient: bool = False
    ) -> None:
        """Read runs and commands from the database.

        Args:
            faults: Counts faults, and names runs with wrong rows.
            is_lenient: True to leave out and name a row whose place in the database another one
                has; else the hub has to read everything again.
        """
        self.database = database
        self.registry = RunRegistry(database.next_key)
        self.registry.load(read_runs(database, faults), database.deleted_runs())
        self.command_queue = CommandQueue(
            database.open_commands(), lambda exc: faults.record("store: command", exc)
        )
        self._faults = faults
        self._is_lenient = is_lenient
        self._clock = clock
        self._next_row = database.head + 1
        self.pending = WriteBatch()
        self._pending_bytes = 0
        self._trouble = ""
        self._thens: list[Callable[[], object]] = []
        self._not_before_s = 0.0
        self._unconfirmed: dict[str, int] = {}
        self._gaps: dict[int, tuple[int, LostEvents]] = {}
        """Newest event's row by run key, if it is a gap."""
        self.unit_ended: set[str] = set()
        self._looked_s: dict[int, float] = {}
        self.listeners: list[Callable[[RunRecord, AnyEvent | None], None]] = []
        self.own_listeners: list[Callable[[RunRecord, AnyEvent | None], None]] = []

    @property
    def head(self) -> int:
        """Newest row id that is committed."""
        return self.database.head

    @property
    def used_bytes(self) -> int:
        """Size of this hub's history; in a shared database the sum counted for its runs."""
        used = self.database.used_bytes()
        return sum(record.stored_bytes for record in self.registry.all()) if used is None else used

    @property
    def is_full(self) -> bool:
        """True if too much waits for a commit to take more."""
        return self._pending_bytes > MAX_PENDING_BYTES

    def append(self, record: RunRecord, events: Sequence[TakenEvent]) -> None:
        """Append a run's events, which follow the ones taken before; they wait for a commit."""
        wall_s = self._clock.wall_s()
        self._unconfirmed.setdefault(record.run, record.accepted)
        for seq, kind, event, body in events:
            if (
                isinstance(event, SessionStarted)
                and record.is_known
                and event.session != record.session
            ):
                self._end_session(record, "the process was restarted before it responded")
            calls = record.calls
            t_s = self._applied(record, event)
            row = self._next_row
            self._next_row += 1
            gap = self._gap(record, row, event)
            stored_body = body if gap is None else encode_event(gap)
            self.pending.events.append((row, record.key, seq, t_s, wall_s, kind, stored_body))
            self._pending_bytes += len(stored_body) + _ROW_OVERHEAD_BYTES
            record.stored_bytes += len(stored_body) + _STORED_OVERHEAD_BYTES
            is_sampled_call = record.calls > calls
            if (
                is_sampled_call
                or isinstance(event, _ENDS_UNIT)
                or self._is_look_due(record, t_s, event)
            ):
                self.unit_ended.add(record.run)
            elif isinstance(event, CommandProgress):
                self._progress(event, row)
            elif _ends_run(event):
                self._end_run(record, "the training process ended before it responded")
            for listener in self.listeners:
                with self._faults.guarded("listener", of=record.run):
                    listener(record, event)
            record.accepted = seq
        record.rows += len(events)
        ahead_s = record.last_event_wall_s - wall_s
        record.clock_ahead_s = 60.0 * int(ahead_s / 60.0) if ahead_s > 0.0 else 0.0
        # Events that were shipped later did not happen now.
        record.last_wall_s = min(wall_s, record.last_event_wall_s) if record.is_shipped else wall_s
        self.registry.mark_changed(record)

    def _is_look_due(self, record: RunRecord, t_s: float, event: AnyEvent | None) -> bool:
        """True if a run in a long early epoch is due to be judged, every five seconds."""
        if not isinstance(event, Sample):
            return False
        if record.epochs_done >= _JUDGED_WITHIN or record.epoch is None:
            self._looked_s.pop(record.key, None)
            return False
        if t_s - self._looked_s.setdefault(record.key, t_s) < _LOOK_EVERY_S:
            return False
        self._looked_s[record.key] = t_s
        return True

    def _gap(self, record: RunRecord, row: int, event: AnyEvent | None) -> LostEvents | None:
        """One row for a gap, however many events report parts of it."""
        before = self._gaps.pop(record.key, None)
        if not isinstance(event, LostEvents):
            return None
        gap = event
        if before is not None and before[1].last + 1 == gap.first and before[1].why == gap.why:
            gap = replace(gap, first=before[1].first)
            self.pending.joined.append((before[0],))
            record.rows -= 1
            record.stored_bytes -= len(encode_event(before[1])) + _STORED_OVERHEAD_BYTES
        self._gaps[record.key] = (row, gap)
        return gap

    def _applied(self, record: RunRecord, event: AnyEvent | None) -> float:
        """Apply an event to its run; return its run time, seconds."""
        if event is not None:
            # An event that cannot be applied is stored all the same, and keeps no other from it.
            with self._faults.guarded("event", of=record.run):
                return apply_event(record, event)
        return record.last_t_s

    def append_gap(self, record: RunRecord, last: int, origin: Origin | None) -> None:
        """Store that events up to number `last` are lost for good."""
        if not record.is_known and origin is not None:
            record.session = origin.session
            record.host = origin.host
            record.pid = origin.pid
            record.pid_namespace = origin.pid_namespace
            record.started_wall_s = record.session_started_wall_s = origin.started_wall_s
        gap = LostEvents(
            # Its own time is not known: that of the run's newest event is used.
            t_s=max(0.0, record.last_t_s - record.session_offset_s),
            first=record.accepted + 1,
            last=last,
            why="these are no longer on the training machine or the hub",
        )
        self._faults.record("gap", f"{record.run} {gap.first}..{gap.last}")
        self.append(record, [(last, "lost", gap, encode_event(gap))])

    def confirmed(self, record: RunRecord) -> int:
        """Newest sequence number of a run that is committed."""
        return self._unconfirmed.get(record.run, record.accepted)

    def advance_command(self, entry: CommandEntry, state: CommandState, why: str = "") -> None:
        """Move a command to its next state, and store its end."""
        if self.command_queue.advance(entry, state, why) and entry.is_final:
            self._audit_end(entry)

    def run_is_lost(self, record: RunRecord, why: str) -> None:
        """Store that a run's process is gone, and close its open commands."""
        # At the time of its newest event; the run comes back only with events of its own number.
        self.notify(record, record.last_t_s, "error", "lost", why)
        self._end_run(record, "the training process has ended")

    def notify(
        self, record: RunRecord, run_t_s: float, level: NoticeLevel, code: str, text: str
    ) -> None:
        """Store a notice of the hub itself about a run.

        Args:
            run_t_s: Time of the notice, run time.
            level: See `Notice`.
        """
        t_s = max(0.0, run_t_s - record.session_offset_s)
        notice = Notice(t_s=t_s, level=level, code=code, text=text)
        self._append_own(record, run_t_s, "notice", notice)

    def append_verdict(self, record: RunRecord, verdict: Verdict) -> None:
        """Store a verdict of the hub itself on a run; `verdict.t_s` is a run time."""
        run_t_s = verdict.t_s
        session_verdict = replace(verdict, t_s=max(0.0, run_t_s - record.session_offset_s))
        record.verdicts.pop(verdict.metric, None)
        if verdict.state in ALARMED_STATES:
            record.verdicts[verdict.metric] = verdict.state
        self._append_own(record, run_t_s, "verdict", session_verdict)

    def _append_own(
        self, record: RunRecord, run_t_s: float, kind: str, event: Notice | Verdict
    ) -> None:
        body = encode_event(event)
        # A row of the hub's own has a number below 0: no agent's number can be that.
        row = self._next_row
        wall_s = self._clock.wall_s()
        self._next_row += 1
        self.pending.events.append((row, record.key, -row, run_t_s, wall_s, kind, body))
        self._pending_bytes += len(body) + _ROW_OVERHEAD_BYTES
        record.stored_bytes += len(body) + _STORED_OVERHEAD_BYTES
        record.rows += 1
        self.registry.mark_changed(record)
        for listener in self.own_listeners:
            with self._faults.guarded("listener", of=record.run):
                listener(record, event)

    def add_block(self, block: SampleBlock) -> None:
        """Add packed samples; not of a run that was deleted meanwhile."""
        run = self.registry.id_of(block.run_key)
        record = None if run is None else self.registry.get(run)
        if record is None:
            return
        self.pending.blocks.append(block)
        record.stored_bytes += block.n_bytes
        self.registry.mark_changed(record)

    def audit(self, who: str, what: str, run: str, subject: str, result: str) -> None:
        self.pending.audit.append((self._clock.wall_s(), who, what, run, subject, result))

    @property
    def trouble(self) -> str:
        """Why nothing can be written now, and the remedy; empty: the last attempt succeeded."""
        return self._trouble

    def attempt(
        self,
        act: Callable[[], object],
        undo: Callable[[], object],
        audit: Sequence[tuple[str, str, str, str, str]],
    ) -> bool:
        """Do something with a waiting requester and write it at once; or none of it, now or later.

        Args:
            act: Does it, in memory.
            undo: Reverts that.
            audit: Rows for `audit`.

        Returns:
            True if it is written; `trouble` says why not.
        """
        if self.flush():
            act()
            for row in audit:
                self.audit(*row)
            if self.flush():
                return True
            undo()
            self.pending = WriteBatch()
            self._pending_bytes = 0
        if not self.pending.audit:
            # One row for all refusals until there is room again.
            who, what, run, subject, _ = audit[0]
            self.audit(who, what, run, subject, f"refused: {self._trouble}")
        return False

    def flush(self) -> bool:
        """Write what waits, without the actions that follow it; False if that fails now."""
        if not self._has_changes():
            return True
        is_resting = bool(self._trouble) and self._clock.monotonic_s() < self._not_before_s
        if is_resting or not self._write():
            return False
        self.then(_do_nothing)  # the loop confirms to agents what is written
        return True

    def then(self, act: Callable[[], object]) -> None:
        """Run an action once everything known now is committed."""
        self._thens.append(act)

    def wait_s(self, now_s: float) -> float | None:
        """Seconds until the next commit is due; None if nothing waits for one."""
        if self._has_changes():
            return max(0.0, self._not_before_s - now_s)
        return 0.0 if self._thens else None

    def commit(self) -> bool:
        """Write everything that waits; False if that failed (it will be tried again).

        Raises:
            OUT_OF_SYNC_ERRORS, sqlite3.DatabaseError: A retry is useless: the database holds rows
                that this hub does not recognize, or is damaged.
        """
        if self._has_changes() and not self._write():
            return False
        thens, self._thens = self._thens, []
        for act in thens:
            with self._faults.guarded("answer"):
                act()
        return True

    def _write(self) -> bool:
        changes = self.pending
        # After a failure older copies are still here; each try would add one more of each.
        changes.runs = _newest([*changes.runs, *self.registry.pop_dirty()])
        changes.commands = _newest([*changes.commands, *self.command_queue.pop_dirty()])
        changes.deleted += self.registry.pop_deleted()
        started_s = self._clock.monotonic_s()
        try:
            self._write_all(changes)
        except RETRYABLE_ERRORS as exc:
            # No acknowledgement leaves; the agents keep what they have and resend.
            self._faults.record("store", exc)
            self._trouble = self.database.trouble(exc)
            self._not_before_s = started_s + _RETRY_S
            return False
        self._trouble = ""
        self.pending = WriteBatch()
        self._pending_bytes = 0
        self._unconfirmed.clear()
        self._not_before_s = started_s + COMMIT_INTERVAL_S
        return True

    @property
    def _fatal_errors(self) -> tuple[type[Exception], ...]:
        return (
            (*REJECTED_ROW_ERRORS, *CONFLICT_ERRORS) if self._is_lenient else REJECTED_ROW_ERRORS
        )

    def _write_all(self, batch: WriteBatch) -> None:
        """Write everything except rows that no database takes: those are named and left out.

        Raises: as `Database.write`; what is not written yet is what then waits.
        """
        try:
            self.database.write(batch)
        except self._fatal_errors as exc:
            batches = self._split_batch(batch, exc)
        else:
            return
        # By halves: which row it is the database does not say.
        while batches:
            part = batches.pop(0)
            try:
                self.database.write(part)
            except RETRYABLE_ERRORS:
                for later in batches:
                    part.add(later)
                self.pending = part
                raise
            except self._fatal_errors as exc:
                batches = self._split_batch(part, exc) + batches

    def _split_batch(self, batch: WriteBatch, exc: Exception) -> list[WriteBatch]:
        """Smaller batches to try in place of one that could not be written."""
        if batch.n_rows > 1:
            return batch.halves()
        if not batch.events:
            self._faults.record("store: refused", exc, of=_named(batch))
            return []
        row, key, seq, t_s, wall_s, kind, _body = batch.events[0]
        run = self.registry.id_of(key) or "a run that no longer exists"
        self._faults.record("store: refused", exc, of=f"event {seq} of {run}")
        if kind == "lost":
            return []
        # Its number is acknowledged: a row in its place says that it is lost.
        lost = encode_lost_event(clamp_count(seq), clamp_seconds(t_s), f"not stored: {exc}")
        return [WriteBatch(events=[(row, key, seq, t_s, wall_s, "lost", lost)])]

    def _has_changes(self) -> bool:
        pending = self.pending
        return bool(
            pending.events
            or pending.audit
            or pending.blocks
            or pending.runs
            or pending.commands
            or pending.deleted
            or self.registry.is_dirty
            or self.command_queue.is_dirty
        )

    def _progress(self, event: CommandProgress, row: int) -> None:
        entry = self.command_queue.get(event.id)
        if entry is None:
            return  # asked by the script itself
        if self.command_queue.advance(entry, event.state, event.why, row) and entry.is_final:
            self._audit_end(entry)

    def _end_session(self, record: RunRecord, why: str) -> None:
        for entry in self.command_queue.open_of(record.run):
            if entry.session != record.session or entry.name == "restart":
                continue  # a restart is reported by the process that follows
            self._end_command(entry, why)

    def _end_run(self, record: RunRecord, why: str) -> None:
        # No process follows that could report a restart, also one that an earlier process began.
        for entry in self.command_queue.open_of(record.run):
            self._end_command(entry, why)

    def _end_command(self, entry: CommandEntry, why: str) -> None:
        is_unsent = entry.state == "queued" and not entry.was_sent
        self.advance_command(entry, "expired" if is_unsent else "unknown", why)

    def _audit_end(self, entry: CommandEntry) -> None:
        result = f"{entry.state}: {entry.why}" if entry.why else entry.state
        self.audit(entry.requested_by, f"command {entry.name}", entry.run, entry.id, result)


def _ends_run(event: AnyEvent | None) -> bool:
    """True if no other process follows the one that this event ends."""
    if isinstance(event, SessionDied):
        return not event.supervisor
    return isinstance(event, SessionEnded) and event.why != "restart"


def _named(batch: WriteBatch) -> str:
    """Name of the owner of a batch's only row, which is not an event."""
    if batch.runs:
        return f"run {batch.runs[0][1]}"
    if batch.commands:
        return f"command {batch.commands[0][0]}"
    if batch.blocks:
        return f"samples of run number {batch.blocks[0].run_key}"
    return "audit" if batch.audit else "deletion"


def _newest(rows: Iterable[_Row]) -> list[_Row]:
    """The last of the rows with the same first value, which replace each other."""
    return list({row[0]: row for row in rows}.values())


def _do_nothing() -> None: ...


def read_event_body(seq: int, body: bytes) -> TakenEvent:
    """One event ready to be appended. Raises: `ProtocolError`: no training sends it."""
    try:
        event = decode_event(body)
    except UnsupportedType as exc:
        check_unknown_event(body)
        return seq, exc.type_name, None, body
    if isinstance(event, Verdict):
        raise MalformedMessage("only the hub computes verdicts")
    return seq, str(event.__struct_config__.tag), event, body


def spooled_events(
    run: str, events: Iterable[SpooledEvent], faults: HubFaults
) -> list[TakenEvent]:
    """Events of a run's spool ready to be appended; `LostEvents` in place of invalid ones."""
    return [_decode_spooled(run, event, faults) for event in events]


def _decode_spooled(run: str, event: SpooledEvent, faults: HubFaults) -> TakenEvent:
    try:
        return read_event_body(event.seq, event.body)
    except ProtocolError as exc:
        faults.record("spools: event", exc, of=run)
        return read_event_body(event.seq, encode_lost_event(event.seq, 0.0, str(exc)))


_PAGE_ROWS: Final = 1_000
_ALL_BUT_SAMPLES: Final = tuple(
    str(kind.__struct_config__.tag)
    for kind in get_args(AnyEvent)
    if kind.__struct_config__.tag not in {"sample", "verdict"}
)


def read_runs(database: Database, faults: HubFaults) -> Iterator[RunRecord]:
    """Every run of this hub; runs that cannot be read as stored are named."""
    for key, named, body, stored in list(database.runs()):
        record = read_record(body)
        run = named if record is None else record.run
        if not isinstance(run, str) or not is_id(run):
            faults.record("store: run", "its ID is invalid: it is skipped", of=f"run number {key}")
            continue
        if record is None:
            faults.record("store: run", "cannot be read: rebuilt from its events", of=run)
            record = _rebuild_record(database, key, run)
        record.key = key
        record.run = run
        # The rows are the truth: a number that is stored is never taken again.
        record.accepted = max(record.accepted, count_of(stored))
        yield record


def _rebuild_record(database: Database, key: int, run: str) -> RunRecord:
    """A run from its stored events; without samples, which only hold its last readings."""
    record = RunRecord(key=key, run=run)
    cursor = 0
    more = True
    while more:
        page = database.page(PageRequest(cursor, _PAGE_ROWS, (key,), _ALL_BUT_SAMPLES))
        for stored in page.rows:
            record.rows += 1
            try:
                apply_event(record, decode_event(stored[-1]))
            except ProtocolError:
                continue
        cursor = page.cursor
        more = page.more
    record.last_wall_s = record.last_event_wall_s
    return record
