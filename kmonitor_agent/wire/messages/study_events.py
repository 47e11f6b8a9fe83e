"""Events of a study, sent by the process that called `run_folds`, in a run of their own.

The run's id is the study's. A fold's own process is a run of its own, whose sessions name the
study and the fold.
"""

from typing import Annotated, Literal

import msgspec

from kmonitor_agent.wire.messages.fields import (
    MAX_AMOUNT,
    Amount,
    Count,
    Name,
    Seconds,
    Text,
    Wall,
)
from kmonitor_agent.wire.messages.lifecycle_events import Event

FoldCause = Literal[
    "finished", "error", "out_of_memory", "timeout", "hang", "killed", "interrupted"
]
"""How an attempt at a fold ended. "interrupted": with the study, which may continue it."""

TrialOutcome = Literal["", "pruned", "too_large", "failed"]
"""Outcome of a finished trial that has no value; empty: it has one."""

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""Completed fraction of a fold's work."""

GrowthBytes = Annotated[float, msgspec.Meta(ge=-MAX_AMOUNT, le=MAX_AMOUNT)]
"""Growth of a size, bytes; negative when it fell."""


class StudyTally(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Number of folds of a study by state.

    Attributes:
        over: Folds that will not be tried again.
        finished: Folds whose function returned.
        failed: Folds whose function raised.
        killed: Folds that were killed: memory, time, a hang, a signal.
        running: Folds that run now.
        retried: Folds that needed more than one attempt.
        out_of_memory: Killed folds that ran out of memory.
        pruned: Finished trials that the pruner of their search ended.
        too_large: Finished trials whose models would not fit, and were not trained.
    """

    over: Count = 0
    finished: Count = 0
    failed: Count = 0
    killed: Count = 0
    running: Count = 0
    retried: Count = 0
    out_of_memory: Count = 0
    pruned: Count = 0
    too_large: Count = 0


class StudyStarted(Event, frozen=True, tag="study"):
    """A process began to run a study's folds, or continues with them.

    Attributes:
        function: File or module and name of the function.
        folds: Number of folds.
        at_once: Number of folds that run at the same time.
        retries: Number of retries of a killed fold.
        timeout_s: Maximum duration of an attempt, as given; None: it is learned.
        memory_bytes: Memory limit of a fold's processes together; None: only the host bounds it.
        directory: The study's folder.
        tally: Folds by state.
    """

    function: Text
    folds: Count
    at_once: Count = 1
    retries: Count = 0
    timeout_s: Seconds | None = None
    memory_bytes: Count | None = None
    directory: Text = ""
    tally: StudyTally = StudyTally()


class FoldStarted(Event, frozen=True, tag="fold_start"):
    """An attempt at a fold began.

    Attributes:
        fold: Index, from 0.
        attempt: Number of the attempt, from 1.
        started_wall_s: Start, UTC epoch seconds.
        device: The GPU that it is pinned to; empty without.
        resumed: True if it continues where the previous attempt was killed.
        tally: Tally of the study, including this attempt.
    """

    fold: Count
    attempt: Count
    started_wall_s: Wall
    device: Name = ""
    resumed: bool = False
    tally: StudyTally = StudyTally()


class FoldProgress(Event, frozen=True, tag="fold_progress"):
    """Progress of a running fold; the longer it runs, the less often.

    Attributes:
        fold: Index, from 0.
        attempt: Number of the attempt, from 1.
        seconds: Duration so far.
        held_bytes: Memory of all its processes; shared pages count once, file pages do not count.
        share: Completed fraction of its work; None: unknown.
        forecast_s: Expected total duration; None: unknown.
        limit_s: Maximum duration, as given or learned; None: not known yet.
    """

    fold: Count
    attempt: Count
    seconds: Seconds
    held_bytes: Amount = 0.0
    share: Share | None = None
    forecast_s: Seconds | None = None
    limit_s: Seconds | None = None


class FoldEnded(Event, frozen=True, tag="fold_end"):
    """An attempt at a fold ended; sent again for earlier attempts when a study continues.

    Attributes:
        fold: Index, from 0.
        attempt: Number of the attempt, from 1.
        cause: How it ended.
        again: True if the fold will be tried once more.
        why: Reason as text; empty for an exception's message when private.
        signal: Name of the signal that killed it ("SIGSEGV"), or empty.
        seconds: Duration.
        steps: Steps of its fits, or of `fold.step()`.
        peak_bytes: Peak memory of all its processes; shared pages count once, file pages do not
            count; None: not measured.
        growth_bytes: Growth of that memory from begin to end.
        vram_bytes: Peak of the framework's allocator on its GPU; None: it used none.
        device: The GPU that it was pinned to; empty without.
        resumed: True if it had continued where the previous attempt was killed.
        started_wall_s: Start, UTC epoch seconds.
        noun: Noun for the user.
        outcome: Outcome of a finished trial that has no value; empty: it has one.
        tally: Tally of the study, including this attempt.
    """

    fold: Count
    attempt: Count
    cause: FoldCause
    again: bool = False
    why: Text = ""
    signal: Name = ""
    seconds: Seconds = 0.0
    steps: Count = 0
    peak_bytes: Amount | None = None
    growth_bytes: GrowthBytes = 0.0
    vram_bytes: Amount | None = None
    device: Name = ""
    resumed: bool = False
    started_wall_s: Wall = 0.0
    noun: Literal["fold", "trial"] = "fold"
    outcome: TrialOutcome = ""
    tally: StudyTally = StudyTally()
