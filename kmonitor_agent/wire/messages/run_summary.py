"""What a list of runs shows of one: its state, its progress and its four metrics."""

from typing import Annotated, Literal

import msgspec

from kmonitor_agent.wire.messages.commands import CommandName, LimitSpec
from kmonitor_agent.wire.messages.identity import (
    Amount,
    Count,
    Id,
    Name,
    Number,
    Seconds,
    Text,
    Wall,
)
from kmonitor_agent.wire.messages.study_events import StudyTally
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric, VerdictState

RunState = Literal[
    "starting",
    "training",
    "idle",
    "paused",
    "reclaiming",
    "finished",
    "stopped",
    "failed",
    "interrupted",
    "silent",
    "lost",
]
"""State of a run, said by the hub.

`starting`: boot known, no fit yet. `idle`: between fits. `reclaiming`: an action is running.
`silent`: its process lives but sends nothing ("no data for N s"). `lost`: its process is gone
without a word.
"""

ENDED_STATES: frozenset[RunState] = frozenset(
    {"finished", "stopped", "failed", "interrupted", "lost"}
)


class MetricNow(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The last reading of one metric.

    Attributes:
        value: In the metric's unit; None if absent.
        of: What it is a part of, same unit; None where nothing bounds it.
        source: Where it comes from.
        absent: Why there is none.
    """

    value: Amount | None = None
    of: Amount | None = None
    source: Text = ""
    absent: Text = ""


class RunSummary(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a list of runs shows of one.

    Attributes:
        run: Run id.
        name: Run name.
        host: Host name.
        state: See `RunState`.
        state_why: In words, when there is more to say.
        boot: Id of the newest process.
        pid: Its process id.
        started_wall_s: When the first boot started, UTC.
        last_wall_s: When the hub stored the newest event, UTC.
        duration_s: Run time of the newest event, seconds (`t_s` of rows).
        backend: Keras backend.
        versions: Package to version.
        fit: Ordinal of the last fit.
        fits_done: Fits that ended.
        epoch: Epoch index from 0 in the last fit; None before the first. Of a fit that goes on in
            a later process, until it begins one there, the last that is known.
        epochs: Planned epochs of that fit; 0 unknown.
        epochs_done: Epochs ended in all fits together.
        step: Steps done in the running epoch.
        steps: Steps per epoch; None unknown.
        model: Model name of the last fit.
        batch_size: Of the last fit; None unknown.
        optimizer: Of the last fit.
        learning_rate: Last known.
        ram: Metric `ram`, bytes.
        vram: Metric `vram`, bytes.
        graph: Metric `graph`, operations.
        step_time: Metric `step_time`, seconds.
        limits: In force, as the agent said.
        actions: Commands that the process can carry out now; empty when it has ended.
        checkpoint_epoch: Epoch of the last checkpoint; None if there is none.
        checkpoint_bytes: Size of the state in it; the file is larger.
        checkpoint_wall_s: When.
        faults: kmonitor's own faults counted in that process.
        gaps: Events known to be lost.
        note: A desktop user's note on it.
        cause: How its last process died, in a few words ("out of memory", "SIGKILL", "exit
            status 3"); empty when it did not, or nobody could tell.
        job: Cluster job ("slurm 123"), or empty.
        rank: Which of the processes of one strategy it is, from 0; None: it is alone.
        world_size: How many they are; 0 when it is alone or nobody told.
        group: The same for all of them, and for later launches that look the same.
        is_shipped: It was read from a folder, and its process cannot be asked for anything.
        is_elsewhere: Another hub, with which this one shares a database, keeps it: it is only
            looked at here.
        pinned: It is never removed to save room.
        verdicts: Metrics that grow: "growing" or "suspected"; those that do not are left out.
        stored_bytes: About what it takes in the hub's database.
        study: Id of the study that it is a fold of, or its own id when it is the study; or empty.
        fold: Which fold, from 0; None: it is the study itself, or of none.
        folds: How many folds the study has; 0: it is of none.
        attempt: Which try of the fold, from 1.
        tally: Of a study: how far its folds are; None: it is none, or has not told yet.
        stalled_wall_s: While it trains, and makes no step for longer than it ever did at such a
            place: when it made the last one, UTC; else None.
        change: Grows with every change of this summary, for `RunsAsked.since_change`.
    """

    run: Id
    name: Name
    host: Name
    state: RunState
    boot: Id
    pid: Count
    started_wall_s: Wall
    last_wall_s: Wall
    change: Count
    duration_s: Seconds = 0.0
    state_why: Text = ""
    backend: Name = ""
    versions: Annotated[dict[Name, Name], msgspec.Meta(max_length=256)] = {}
    fit: Count = 0
    fits_done: Count = 0
    epoch: Count | None = None
    epochs: Count = 0
    epochs_done: Count = 0
    step: Count = 0
    steps: Count | None = None
    model: Name = ""
    batch_size: Count | None = None
    optimizer: Name = ""
    learning_rate: Number | None = None
    ram: MetricNow = MetricNow()
    vram: MetricNow = MetricNow()
    graph: MetricNow = MetricNow()
    step_time: MetricNow = MetricNow()
    limits: Annotated[list[LimitSpec], msgspec.Meta(max_length=32)] = []
    actions: Annotated[list[CommandName], msgspec.Meta(max_length=16)] = []
    checkpoint_epoch: Count | None = None
    checkpoint_bytes: Count | None = None
    checkpoint_wall_s: Wall | None = None
    faults: Count = 0
    gaps: Count = 0
    note: Text = ""
    cause: Name = ""
    job: Name = ""
    rank: Count | None = None
    world_size: Count = 0
    group: Name = ""
    is_shipped: bool = False
    is_elsewhere: bool = False
    pinned: bool = False
    verdicts: Annotated[dict[VerdictMetric, VerdictState], msgspec.Meta(max_length=16)] = {}
    stored_bytes: Count = 0
    study: Name = ""
    fold: Count | None = None
    folds: Count = 0
    attempt: Count = 0
    tally: StudyTally | None = None
    stalled_wall_s: Wall | None = None
