"""What the hub knows of one run: the fold of its events, and its summary for desktops."""

from typing import TypedDict

import msgspec

from kmonitor_agent.protocol.commands import CommandName, LimitSpec
from kmonitor_agent.protocol.facts import SourceOf
from kmonitor_agent.protocol.messages import ENDED_STATES, MetricNow, RunState, RunSummary
from kmonitor_agent.protocol.study_facts import StudyTally
from kmonitor_agent.protocol.verdicts import VerdictMetric, VerdictState

_AT_LIMIT_S = 60.0
"""Slurm looks each half minute for jobs past their limit, and leaves them half a minute to end.
Source: `KillWait` and `slurmctld`'s time-limit thread in slurm.conf(5)."""


class _Place(TypedDict):
    rank: int | None
    world_size: int
    group: str
    study: str
    fold: int | None
    folds: int
    attempt: int
    tally: StudyTally | None


class RunRecord(msgspec.Struct, omit_defaults=True):
    """One run; owned by the hub's main thread, which folds events into it and looks after it.

    Attributes:
        key: The run's number in the database.
        run: Run id.
        name: Name to show.
        renamed: The name was given from a desktop; a new boot keeps it.
        note: Note from a desktop.
        host, pid, pid_namespace, boot: Of the newest process.
        started_wall_s: When the first boot started.
        boot_wall_s: When the newest boot started.
        boot_offset_s: Run time at which the newest boot started, seconds.
        last_t_s: Run time of the newest event, seconds.
        last_wall_s: When the hub took the newest event.
        accepted: Sequence number of the newest event taken.
        rows: Events stored.
        phase: State as the events tell it.
        phase_why: In words, when there is more to say.
        before_reclaim: Phase to go back to when an action is over.
        seen: "silent" or "lost" when the process is seen to be so, else empty.
        seen_why: In words.
        stalled_since_s: Run time of the last step, while none is made for longer than it ever
            was; else None.
        stalled_why: In words.
        metrics: The last readings, by field name of `Sample`.
        sources: Sources of measured fields, by field name.
        faults: kmonitor's own faults in that process, by part.
        supervisor: Process id of the `kmonitor run` that starts the next process, between two of
            them; else 0.
        job_ends_wall_s: When its job's time limit ends it, UTC; None: not known.
        owner: The key whose holder told of it first, and alone may go on; empty: this user, on
            this host.
        is_elsewhere: It is of another hub that stores in the same database; never stored as such.
        change: See `RunSummary`.

    All others are fields of `RunSummary`.
    """

    key: int
    run: str
    name: str = ""
    renamed: bool = False
    note: str = ""
    host: str = ""
    pid: int = 0
    pid_namespace: int = 0
    boot: str = ""
    started_wall_s: float = 0.0
    boot_wall_s: float = 0.0
    boot_offset_s: float = 0.0
    last_t_s: float = 0.0
    last_wall_s: float = 0.0
    accepted: int = 0
    rows: int = 0
    backend: str = ""
    versions: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    phase: RunState = "starting"
    phase_why: str = ""
    before_reclaim: RunState = "training"
    seen: str = ""
    seen_why: str = ""
    stalled_since_s: float | None = None
    stalled_why: str = ""
    fit: int = 0
    fits_done: int = 0
    epoch: int | None = None
    epochs: int = 0
    epochs_done: int = 0
    step: int = 0
    steps: int | None = None
    model: str = ""
    batch_size: int | None = None
    optimizer: str = ""
    learning_rate: float | None = None
    metrics: dict[str, float] = msgspec.field(default_factory=dict[str, float])
    sources: dict[str, SourceOf] = msgspec.field(default_factory=dict[str, SourceOf])
    limits: list[LimitSpec] = msgspec.field(default_factory=list[LimitSpec])
    actions: list[CommandName] = msgspec.field(default_factory=list[CommandName])
    checkpoint_epoch: int | None = None
    checkpoint_bytes: int | None = None
    checkpoint_wall_s: float | None = None
    faults: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    gaps: int = 0
    cause: str = ""
    supervisor: int = 0
    job: str = ""
    job_ends_wall_s: float | None = None
    rank: int | None = None
    world_size: int = 0
    group: str = ""
    is_shipped: bool = False
    is_elsewhere: bool = False
    pinned: bool = False
    stored_bytes: int = 0
    owner: str = ""
    study: str = ""
    fold: int | None = None
    folds: int = 0
    attempt: int = 0
    tally: StudyTally | None = None
    verdicts: dict[VerdictMetric, VerdictState] = msgspec.field(
        default_factory=dict[VerdictMetric, VerdictState]
    )
    change: int = 0

    @property
    def state(self) -> RunState:
        """What a desktop is told; an ending that was told wins over what was seen."""
        if self.phase in ENDED_STATES:
            return self.phase
        if self.seen == "lost":
            return "lost"
        return "silent" if self.seen == "silent" else self.phase

    @property
    def is_over(self) -> bool:
        """Whether its process is known to be gone."""
        return self.state in ENDED_STATES

    @property
    def told_wall_s(self) -> float:
        """When the newest event happened, by the clock of its process; UTC epoch seconds."""
        return self.boot_wall_s + self.last_t_s - self.boot_offset_s

    @property
    def ends_at_limit(self) -> bool:
        """Whether what it told ends where the time limit of its job was."""
        ends_s = self.job_ends_wall_s
        return ends_s is not None and abs(self.told_wall_s - ends_s) <= _AT_LIMIT_S

    @property
    def is_known(self) -> bool:
        """Whether it ever told who it is."""
        return bool(self.boot)

    def summary(self) -> RunSummary:
        """As a list of runs shows it."""
        return RunSummary(
            run=self.run,
            name=self.name or self.run[:8],
            host=self.host,
            state=self.state,
            state_why=self._state_why[:4096],
            boot=self.boot or "unknown",
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
            steps=self.steps,
            model=self.model,
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            ram=self._metric("ram_bytes", "ram_of_bytes"),
            vram=self._metric("vram_bytes", "vram_of_bytes"),
            graph=self._metric("graph_operations"),
            step_time=self._metric("step_time_s"),
            limits=self.limits,
            actions=[] if self._cannot_be_asked else self.actions,
            checkpoint_epoch=self.checkpoint_epoch,
            checkpoint_bytes=self.checkpoint_bytes,
            checkpoint_wall_s=self.checkpoint_wall_s,
            faults=sum(self.faults.values()),
            gaps=self.gaps,
            note=self.note,
            cause=self.cause,
            job=self.job,
            is_shipped=self.is_shipped,
            is_elsewhere=self.is_elsewhere,
            pinned=self.pinned,
            stored_bytes=self.stored_bytes,
            verdicts=self.verdicts,
            stalled_wall_s=self._stalled_wall_s,
            **self._place(),
        )

    @property
    def _cannot_be_asked(self) -> bool:
        return self.is_over or self.is_shipped or self.is_elsewhere

    @property
    def _state_why(self) -> str:
        if self._stalled_wall_s is not None:
            return self.stalled_why
        return self.seen_why if self.state == self.seen else self.phase_why

    @property
    def _stalled_wall_s(self) -> float | None:
        if self.stalled_since_s is None or self.state != "training":
            return None
        # By the hub's clock, as all that people are told the age of: hosts' clocks differ.
        return self.last_wall_s - (self.last_t_s - self.stalled_since_s)

    def _place(self) -> _Place:
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

    def _metric(self, field: str, of_field: str = "") -> MetricNow:
        found = self.sources.get(field)
        value = self.metrics.get(field)
        absent = found.absent if found is not None and value is None else ""
        return MetricNow(
            value=value,
            of=self.metrics.get(of_field),
            source=found.source if found is not None else "",
            absent=absent,
        )
