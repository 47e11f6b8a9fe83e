"""Record of one run, kept up by applying its events, and its summary for desktops."""

import zlib
from typing import Annotated, Final, Literal, TypedDict

import msgspec

from kmonitor.hub.store.row_checks import repaired_bytes
from kmonitor_agent.wire.messages.agent_messages import OptionalRunId
from kmonitor_agent.wire.messages.commands import CommandName, LimitSpec
from kmonitor_agent.wire.messages.events import FieldSource
from kmonitor_agent.wire.messages.fields import (
    MAX_NAME,
    MAX_TEXT,
    Amount,
    Count,
    Id,
    Name,
    Number,
    Seconds,
    Text,
    Wall,
    clamp_count,
    clamp_fields,
    clamp_seconds,
    clamp_wall,
    read_clamped,
)
from kmonitor_agent.wire.messages.study_events import StudyTally
from kmonitor_agent.wire.messages.unions import (
    ENDED_STATES,
    MOST_COLUMNS,
    MetricReading,
    RunState,
    RunSummary,
)
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric, VerdictState

MAX_SOURCES: Final = 512
"""Maximum number of fields with sources per run; 64 columns each of 8 devices are fewer."""

MAX_FAULTS: Final = 64
"""Maximum number of kmonitor's parts with faults per run."""

_AT_LIMIT_S = 60.0
"""Tolerance for an end at a job's limit, seconds. Slurm looks every half minute for jobs past
their limit, and leaves them half a minute to end. Source: `KillWait` and `slurmctld`'s time-limit
thread in slurm.conf(5)."""

_SUM_BYTES: Final = 4
_MAX_REPAIRED_BYTES: Final = 8192
"""Longest record that is searched for a flipped bit: a longer one is rebuilt from its events."""

_encode: Final = msgspec.msgpack.Encoder().encode
_check: Final = msgspec.msgpack.Decoder(RunSummary).decode


class _StudyFields(TypedDict):
    rank: int | None
    world_size: int
    group: str
    study: str
    fold: int | None
    folds: int
    attempt: int
    tally: StudyTally | None


class RunRecord(msgspec.Struct, omit_defaults=True):
    """Record of one run; owned by the hub's main thread, which applies events to it.

    Attributes:
        key: The run's number in the database.
        run: Run id.
        name: Name to show.
        renamed: True if the name was given from a desktop; a new session keeps it.
        note: Note from a desktop.
        host, pid, pid_namespace, session: See `RunSummary`; of the newest process.
        started_wall_s: Start of the first session, UTC epoch seconds.
        session_started_wall_s: Start of the newest session, UTC epoch seconds.
        session_offset_s: Run time at which the newest session started, seconds.
        last_t_s: Run time of the newest event, seconds.
        last_wall_s: Time at which the hub took the newest event, UTC epoch seconds.
        accepted: Sequence number of the newest event taken.
        rows: Number of stored events.
        phase: State by its events.
        phase_why: Reason for the phase as text, if there is more to say.
        before_reclaim: Phase after the running action.
        liveness: "silent" or "lost" if the process is seen to be so, else empty.
        liveness_why: Reason for that, as text.
        stalled_since_s: Run time of the last step, if none was made for longer than ever before;
            else None.
        stalled_why: Description of that stall, as text.
        metrics: The last readings, by field name of `Sample`.
        extra_columns: Columns that its samples fill beside those of every run.
        sources: Sources of measured fields, by field name.
        faults: kmonitor's own faults in that process, by part.
        supervisor: Process id of the `kmonitor run` that starts the next process, between two of
            them; else 0.
        job_ends_wall_s: End of its job's time limit, UTC epoch seconds; None: unknown.
        owner: The key that sent it first, and that alone may continue it; empty: this user, on
            this host.
        late_s: Maximum delay of shipped events after they were written, seconds.
        is_left: True if no process holds the spool that is shipped, and its own process did not
            close it.
        clock_ahead_s: Lead of the newest event's time over the hub's clock, whole minutes in
            seconds; 0: none.
        is_elsewhere: True if it is of another hub that stores in the same database; never stored
            as such.
        change: See `RunSummary`.

    All others are fields of `RunSummary`.
    """

    key: Count
    run: Id
    name: Name = ""
    renamed: bool = False
    note: Text = ""
    host: Name = ""
    pid: Count = 0
    pid_namespace: Count = 0
    session: OptionalRunId = ""
    started_wall_s: Wall = 0.0
    session_started_wall_s: Wall = 0.0
    session_offset_s: Seconds = 0.0
    last_t_s: Seconds = 0.0
    last_wall_s: Wall = 0.0
    accepted: Count = 0
    rows: Count = 0
    backend: Name = ""
    versions: Annotated[dict[Name, Name], msgspec.Meta(max_length=256)] = msgspec.field(
        default_factory=dict[str, str]
    )
    phase: RunState = "starting"
    phase_why: Text = ""
    before_reclaim: RunState = "training"
    liveness: Literal["", "silent", "lost"] = ""
    liveness_why: Text = ""
    stalled_since_s: Seconds | None = None
    stalled_why: Text = ""
    fit: Count = 0
    fits_done: Count = 0
    epoch: Count | None = None
    epochs: Count = 0
    epochs_done: Count = 0
    step: Count = 0
    calls: Count = 0
    steps: Count | None = None
    model: Name = ""
    batch_size: Count | None = None
    optimizer: Name = ""
    learning_rate: Number | None = None
    metrics: Annotated[dict[Name, Amount], msgspec.Meta(max_length=64)] = msgspec.field(
        default_factory=dict[str, float]
    )
    extra_columns: Annotated[list[Name], msgspec.Meta(max_length=MOST_COLUMNS)] = msgspec.field(
        default_factory=list[str]
    )
    sources: Annotated[dict[Name, FieldSource], msgspec.Meta(max_length=MAX_SOURCES)] = (
        msgspec.field(default_factory=dict[str, FieldSource])
    )
    limits: Annotated[list[LimitSpec], msgspec.Meta(max_length=32)] = msgspec.field(
        default_factory=list[LimitSpec]
    )
    actions: Annotated[list[CommandName], msgspec.Meta(max_length=16)] = msgspec.field(
        default_factory=list[CommandName]
    )
    checkpoint_epoch: Count | None = None
    checkpoint_bytes: Count | None = None
    checkpoint_wall_s: Wall | None = None
    faults: Annotated[dict[Name, Count], msgspec.Meta(max_length=MAX_FAULTS)] = msgspec.field(
        default_factory=dict[str, int]
    )
    gaps: Count = 0
    cause: Name = ""
    supervisor: Count = 0
    job: Name = ""
    job_ends_wall_s: Wall | None = None
    rank: Count | None = None
    world_size: Count = 0
    group: Name = ""
    is_shipped: bool = False
    late_s: Seconds = 0.0
    is_left: bool = False
    clock_ahead_s: Seconds = 0.0
    is_elsewhere: bool = False
    pinned: bool = False
    stored_bytes: Count = 0
    owner: Name = ""
    study: Name = ""
    fold: Count | None = None
    folds: Count = 0
    attempt: Count = 0
    tally: StudyTally | None = None
    verdicts: Annotated[dict[VerdictMetric, VerdictState], msgspec.Meta(max_length=16)] = (
        msgspec.field(default_factory=dict[VerdictMetric, VerdictState])
    )
    change: Count = 0

    @property
    def state(self) -> RunState:
        """State for desktops; an ending among its events wins over what was seen."""
        if self.phase in ENDED_STATES:
            return self.phase
        if self.liveness == "lost":
            return "lost"
        return "silent" if self.liveness == "silent" else self.phase

    @property
    def is_over(self) -> bool:
        """True if its process is known to be gone."""
        return self.state in ENDED_STATES

    @property
    def last_event_wall_s(self) -> float:
        """Time of the newest event, by the clock of its process; UTC epoch seconds."""
        return clamp_wall(self.session_started_wall_s + self.last_t_s - self.session_offset_s)

    @property
    def ends_at_limit(self) -> bool:
        """True if its events end at the time limit of its job."""
        ends_s = self.job_ends_wall_s
        return ends_s is not None and abs(self.last_event_wall_s - ends_s) <= _AT_LIMIT_S

    @property
    def is_known(self) -> bool:
        """True if its process ever identified itself."""
        return bool(self.session)

    @property
    def has_first_event(self) -> bool:
        """True if the first event of its process came, and not only a gap in its place."""
        return bool(self.versions or self.actions or (self.name and not self.renamed))

    def clamp(self) -> None:
        """Cut sums and concatenations of values, each of which is within its bounds."""
        self.session_offset_s = clamp_seconds(self.session_offset_s)
        self.last_t_s = clamp_seconds(self.last_t_s)
        self.gaps = clamp_count(self.gaps)
        self.phase_why = self.phase_why[:MAX_TEXT]
        self.cause = self.cause[:MAX_NAME]
        if self.checkpoint_wall_s is not None:
            self.checkpoint_wall_s = clamp_wall(self.checkpoint_wall_s)

    def summary(self) -> RunSummary:
        """Summary for a list of runs, within the bounds of its fields.

        Raises:
            msgspec.ValidationError: It cannot be shown.
        """
        summary = self._summary()
        try:
            _check(_encode(summary))
        except (msgspec.ValidationError, OverflowError):
            return clamp_fields(summary)
        return summary

    def _summary(self) -> RunSummary:
        return RunSummary(
            run=self.run,
            name=self.name or self.run[:8],
            host=self.host,
            state=self.state,
            state_why=self._state_why[:4096],
            session=self.session or "unknown",
            pid=self.pid,
            started_wall_s=self.started_wall_s,
            last_wall_s=self.last_wall_s,
            change=self.change,
            duration_s=self.last_t_s,
            backend=self.backend,
            versions=self.versions,
            fit=self.fit,
            fits_done=self.fits_done,
            epoch=self.epoch,
            epochs=self.epochs,
            epochs_done=self.epochs_done,
            step=self.step,
            calls=self.calls,
            steps=self.steps,
            model=self.model,
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            ram=self._ram(),
            vram=self._metric("vram_bytes", "vram_of_bytes"),
            graph=self._metric("graph_operations"),
            step_time=self._metric("step_time_s"),
            limits=self.limits,
            actions=[] if self._takes_no_commands else self.actions,
            checkpoint_epoch=self.checkpoint_epoch,
            checkpoint_bytes=self.checkpoint_bytes,
            checkpoint_wall_s=self.checkpoint_wall_s,
            faults=sum(self.faults.values()),
            gaps=self.gaps,
            note=self.note,
            cause=self.cause,
            job=self.job,
            is_shipped=self.is_shipped,
            clock_ahead_s=self.clock_ahead_s,
            is_elsewhere=self.is_elsewhere,
            pinned=self.pinned,
            stored_bytes=self.stored_bytes,
            verdicts=self.verdicts,
            stalled_wall_s=self._stalled_wall_s,
            **self._study_fields(),
        )

    @property
    def _takes_no_commands(self) -> bool:
        return self.is_over or self.is_shipped or self.is_elsewhere

    @property
    def _state_why(self) -> str:
        if self._stalled_wall_s is not None:
            return self.stalled_why
        return self.liveness_why if self.state == self.liveness else self.phase_why

    @property
    def _stalled_wall_s(self) -> float | None:
        if self.stalled_since_s is None or self.state != "training":
            return None
        # By the hub's clock, as all whose age is shown: hosts' clocks differ.
        return clamp_wall(self.last_wall_s - (self.last_t_s - self.stalled_since_s))

    def _study_fields(self) -> _StudyFields:
        return {
            "rank": self.rank,
            "world_size": self.world_size,
            "group": self.group,
            "study": self.study,
            "fold": self.fold,
            "folds": self.folds,
            "attempt": self.attempt,
            "tally": self.tally,
        }

    def _ram(self) -> MetricReading:
        ram = self._metric("ram_bytes", "ram_of_bytes")
        return msgspec.structs.replace(ram, file_bytes=self.metrics.get("ram_file_bytes"))

    def _metric(self, field: str, of_field: str = "") -> MetricReading:
        found = self.sources.get(field)
        value = self.metrics.get(field)
        absent = found.absent if found is not None and value is None else ""
        return MetricReading(
            value=value,
            of=self.metrics.get(of_field),
            source=found.source if found is not None else "",
            absent=absent,
        )


_decode: Final = msgspec.msgpack.Decoder(RunRecord).decode

CANNOT_DECODE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError)
"""Errors of reading damaged stored data."""


def record_body(record: RunRecord) -> bytes:
    """A record as it is stored, followed by its checksum."""
    body = _encode(record)
    return body + zlib.crc32(body).to_bytes(_SUM_BYTES)


def read_record(body: object) -> RunRecord | None:
    """A stored record, cut to the bounds of its fields; None if it is none, or is damaged."""
    if not isinstance(body, bytes) or len(body) < _SUM_BYTES:
        return None
    stored = int.from_bytes(body[-_SUM_BYTES:])
    body = body[:-_SUM_BYTES]
    if zlib.crc32(body) != stored:
        body = repaired_bytes(body, stored) if len(body) <= _MAX_REPAIRED_BYTES else None
    if body is None:
        return None
    try:
        return _decode(body)
    except CANNOT_DECODE:
        pass
    try:
        return read_clamped(RunRecord, msgspec.msgpack.decode(body))
    except CANNOT_DECODE:
        return None
