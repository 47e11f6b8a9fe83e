"""What the hub knew at one moment, as other threads may read it: frozen, and bounded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kmonitor_agent.wire.messages.events import Sample
from kmonitor_agent.wire.messages.unions import RunState

MOST_RUNS: Final = 200
"""Living runs that are shown, those that started last; how many are left out is told."""

MOST_LOGS: Final = 20
"""Logs of Keras that are shown of each run, likewise."""

RECLAIMS: Final = ("collect", "reload", "restart")
"""Actions that give memory back."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What reclaims did since the hub started.

    Attributes:
        times: How often, by action and "done" or "failed".
        freed_bytes: Resident set before less after, where that is more than nothing.
        seconds: That the training waited.
    """

    times: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    freed_bytes: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunNow:
    """One living run; None and missing keys: not known.

    Attributes:
        run, name, host, backend, model, job, study, state: As in `RunSummary`.
        last_wall_s: When the hub took its newest event.
        metrics: Last readings by field of `Sample`.
        vram_source: Where the reading of `vram_bytes` comes from.
        epoch, epochs, epochs_done, learning_rate, faults, gaps: As in `RunSummary`.
        verdicts: Metric to "growing" or "suspected".
        sample: The newest; None where none came, or the run is silent: what was is not now.
        logs: Of the last epoch that ended.
        reclaims: Its own.
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
    reclaims: Tally


@dataclass(frozen=True, slots=True)
class HubNow:
    """The hub's own health.

    Attributes: as in `HubTold`, but for
        troubles: How many.
        resident_bytes: Of its process.
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
    """All of it.

    Attributes:
        taken_s: When, on the monotonic clock.
        hub: The hub itself.
        runs: Living ones, at most `MOST_RUNS`.
        left_out: Living ones beyond those.
        states: How many runs are in each state, ended ones too.
        events: Taken since the hub started.
        reclaims: Of all runs since then.
    """

    taken_s: float
    hub: HubNow
    runs: tuple[RunNow, ...]
    left_out: int
    states: Mapping[str, int]
    events: int
    reclaims: Tally
