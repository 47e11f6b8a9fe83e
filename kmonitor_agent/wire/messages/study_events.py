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
"""How an attempt at a fold ended. "interrupted": with the study, which may go on with it."""

TrialOutcome = Literal["", "pruned", "too_large", "failed"]
"""What a trial of a search that finished came to, where that is no value."""

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""Part of a fold's work that is done."""

GrowthBytes = Annotated[float, msgspec.Meta(ge=-MAX_AMOUNT, le=MAX_AMOUNT)]
"""By how much a size grew, bytes; negative when it fell."""


class StudyTally(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How many folds of a study are how far.

    Attributes:
        over: Folds that will not be tried again.
        finished: Of those, the ones whose function returned.
        failed: Of those, the ones whose function raised.
        killed: Of those, the ones that were ended: memory, time, a hang, a signal.
        running: Folds that run now.
        retried: Folds that needed more than one attempt.
        out_of_memory: Of the killed, the ones that memory ended.
        pruned: Of the finished, the trials that their search's pruner ended.
        too_large: Of the finished, the trials whose models would not fit, and were not trained.
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
    """A process began to run a study's folds, or goes on with them.

    Attributes:
        function: File or module and name of the function.
        folds: How many there are.
        at_once: How many run at the same time.
        retries: How often a fold that was killed is tried again.
        timeout_s: How long an attempt may take, as given; None: it is learned.
        memory_bytes: What a fold's processes may hold together; None: only the host bounds it.
        directory: The study's folder.
        tally: How far it is.
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
        attempt: Which attempt, from 1.
        started_wall_s: When, UTC epoch seconds.
        device: The GPU that it is pinned to; empty without.
        resumed: It goes on where the attempt before was killed.
        tally: Of the study, with this.
    """

    fold: Count
    attempt: Count
    started_wall_s: Wall
    device: Name = ""
    resumed: bool = False
    tally: StudyTally = StudyTally()


class FoldProgress(Event, frozen=True, tag="fold_progress"):
    """How far a fold that runs is; the longer it runs, the less often.

    Attributes:
        fold: Index.
        attempt: Which attempt.
        seconds: How long it has run.
        held_bytes: By all its processes, what they share once, pages of files left out.
        share: Part of its work that is done; None: not known.
        forecast_s: How long it will take in all, about; None where it is not known.
        limit_s: How long it may take, as given or learned; None: not known yet.
    """

    fold: Count
    attempt: Count
    seconds: Seconds
    held_bytes: Amount = 0.0
    share: Share | None = None
    forecast_s: Seconds | None = None
    limit_s: Seconds | None = None


class FoldEnded(Event, frozen=True, tag="fold_end"):
    """An attempt at a fold ended; sent again for what ended before a study goes on.

    Attributes:
        fold: Index.
        attempt: Which attempt.
        cause: How.
        again: The fold will be tried once more.
        why: In words; empty for an exception's message when private.
        signal: Name of the signal that killed it ("SIGSEGV"), or empty.
        seconds: How long it ran.
        steps: Of its fits, or of `fold.step()`.
        peak_bytes: Most that its processes held together, likewise; None: not measured.
        growth_bytes: Of what they held, from begin to end.
        vram_bytes: Peak of the framework's allocator on its GPU; None: it used none.
        device: The GPU that it was pinned to; empty without.
        resumed: It had gone on where the attempt before was killed.
        started_wall_s: When it began, UTC epoch seconds.
        noun: What a fold of this study is for people.
        outcome: What one that finished came to, where that is no value; empty: a value.
        tally: Of the study, with this.
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
