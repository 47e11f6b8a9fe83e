"""State of the hub and its runs at one moment, for exporters, and the store of runs' data for it.

A `Snapshot` is frozen and bounded: any thread may read it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.events import ActionRecord, AnyEvent, EpochEnded, Sample
from kmonitor_agent.wire.messages.unions import RunState

MOST_RUNS: Final = 200
"""Maximum number of living runs exported, those that started last; the number of others is
exported too."""

MOST_LOGS: Final = 20
"""Maximum number of Keras logs exported per run."""

RECLAIMS: Final = ("collect", "reload", "restart")
"""Actions that give memory back."""


@dataclass(frozen=True, slots=True)
class ReclaimTotals:
    """Totals of reclaims since the hub started.

    Attributes:
        times: Number of reclaims, by action and "done" or "failed".
        freed_bytes: Resident set before minus after, where that is positive.
        seconds: Time that the training waited.
    """

    times: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    freed_bytes: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """One living run; None and missing keys: unknown.

    Attributes:
        run, name, host, backend, model, job, study, state: As in `RunSummary`.
        last_wall_s: Time at which the hub took its newest event, UTC epoch seconds.
        metrics: Last readings by field of `Sample`.
        vram_source: Source of the reading of `vram_bytes`.
        epoch, epochs, epochs_done, learning_rate, faults, gaps: As in `RunSummary`.
        verdicts: Metric to "growing" or "suspected".
        sample: The newest sample; None if there is none, or the run is silent and the sample out
            of date.
        logs: Logs of the last epoch that ended.
        reclaims: Reclaims of this run.
    """

    run: str
    name: str
    host: str
    backend: str
    model: str
    job: str
    study: str
    state: RunState
    last_wall_s: float
    metrics: Mapping[str, float]
    vram_source: str
    epoch: int | None
    epochs: int
    epochs_done: int
    learning_rate: float | None
    faults: int
    gaps: int
    verdicts: Mapping[str, str]
    sample: Sample | None
    logs: Mapping[str, float]
    reclaims: ReclaimTotals


@dataclass(frozen=True, slots=True)
class HubSnapshot:
    """The hub's own health.

    Attributes: as in `HubReply`, but for
        troubles: Number of troubles.
        resident_bytes: Resident set of its process.
        cpu_s: Processor time of its process.
    """

    version: str
    started_wall_s: float
    wall_s: float
    agents: int
    viewers: int
    rows: int
    database_bytes: int
    faults: Mapping[str, int]
    troubles: int
    runs_removed: int
    resident_bytes: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of the hub and its runs.

    Attributes:
        taken_at_s: Time, on the monotonic clock.
        hub: The hub itself.
        runs: Living runs, at most `MOST_RUNS`.
        left_out: Number of living runs beyond those.
        states: Number of runs in each state, including ended ones.
        events: Number of events taken since the hub started.
        reclaims: Reclaims across all runs since the hub started.
    """

    taken_at_s: float
    hub: HubSnapshot
    runs: tuple[RunSnapshot, ...]
    left_out: int
    states: Mapping[str, int]
    events: int
    reclaims: ReclaimTotals


@dataclass(slots=True)
class _ReclaimCounts:
    times: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    freed_bytes: float = 0.0
    seconds: float = 0.0

    def add(self, record: ActionRecord) -> None:
        self.times[record.action, "done" if record.ok else "failed"] += 1
        self.seconds += record.seconds
        after = record.after
        if after is None:
            return
        before_bytes = record.before.ram_process_bytes
        after_bytes = after.ram_process_bytes
        if before_bytes is not None and after_bytes is not None:
            self.freed_bytes += max(0.0, before_bytes - after_bytes)

    def frozen(self, actions: Iterable[str]) -> ReclaimTotals:
        # From 0 on: a counter that first shows with 1 has not grown to who looks at it.
        known = {(action, result): 0 for action in actions for result in ("done", "failed")}
        return ReclaimTotals({**known, **self.times}, self.freed_bytes, self.seconds)


@dataclass(slots=True)
class RunMetrics:
    sample: Sample | None = None
    logs: dict[str, float] = field(default_factory=dict[str, float])
    reclaims: _ReclaimCounts = field(default_factory=_ReclaimCounts)


class RunMetricsStore:
    """Samples, logs and reclaims of living runs, which their records lack.

    Owned by the hub's main thread; its snapshots are for any thread.
    """

    def __init__(self) -> None:
        self.by_run: dict[str, RunMetrics] = {}
        self._reclaims = _ReclaimCounts()
        self._events = 0

    def on_event(self, record: RunRecord, event: AnyEvent | None) -> None:
        """Take an event of a run; None: an event of unknown type."""
        self._events += 1
        match event:
            case Sample():
                self._of(record).sample = event
            case EpochEnded():
                self._of(record).logs = event.logs
            case ActionRecord() if event.action in RECLAIMS:
                self._of(record).reclaims.add(event)
                self._reclaims.add(event)
            case _:
                pass

    def snapshot(self, hub: HubSnapshot, records: Iterable[RunRecord], now_s: float) -> Snapshot:
        """Snapshot of the present state; data of runs that have ended is dropped.

        Args:
            now_s: Monotonic time.
        """
        known = [record for record in records if record.is_known]
        living = [record for record in known if not record.is_over]
        # Those that started last: by what changed last, they would come and go.
        living.sort(key=lambda record: (record.started_wall_s, record.run), reverse=True)
        alive = {record.run for record in living}
        for run in self.by_run.keys() - alive:
            del self.by_run[run]
        return Snapshot(
            taken_at_s=now_s,
            hub=hub,
            runs=tuple(self._run_snapshot(record) for record in living[:MOST_RUNS]),
            left_out=max(0, len(living) - MOST_RUNS),
            states=Counter(record.state for record in known),
            events=self._events,
            reclaims=self._reclaims.frozen(RECLAIMS),
        )

    def _of(self, record: RunRecord) -> RunMetrics:
        found = self.by_run.get(record.run)
        if found is None:
            found = self.by_run[record.run] = RunMetrics()
        return found

    def _run_snapshot(self, record: RunRecord) -> RunSnapshot:
        metrics = self._of(record)
        source = record.sources.get("vram_bytes")
        is_silent = record.state == "silent"
        return RunSnapshot(
            run=record.run,
            name=record.name or record.run[:8],
            host=record.host,
            backend=record.backend,
            model=record.model,
            job=record.job,
            study=record.study,
            state=record.state,
            last_wall_s=record.last_wall_s,
            metrics={} if is_silent else dict(record.metrics),
            vram_source="" if source is None else source.source,
            epoch=record.epoch,
            epochs=record.epochs,
            epochs_done=record.epochs_done,
            learning_rate=record.learning_rate,
            faults=sum(record.faults.values()),
            gaps=record.gaps,
            verdicts={str(metric): state for metric, state in record.verdicts.items()},
            sample=None if is_silent else metrics.sample,
            logs=metrics.logs,
            reclaims=metrics.reclaims.frozen(each for each in RECLAIMS if each in record.actions),
        )
