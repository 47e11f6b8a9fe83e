"""Every event of a run under one roof: what the agent tells, once each, in order.

`Verdict` alone is the hub's own.
"""

from kmonitor_agent.wire.messages.action_events import (
    ActionRecord,
    AllocationGrowth,
    CommandProgress,
    Diagnosis,
    Fault,
    Footprint,
    LimitCrossed,
    LimitsInForce,
    Lost,
    Notice,
    ObjectGrowth,
    Paused,
)
from kmonitor_agent.wire.messages.lifecycle_events import (
    BootDied,
    BootEnded,
    BootStarted,
    EpochEnded,
    EpochStarted,
    Event,
    FitEnded,
    FitStarted,
    StepTimes,
)
from kmonitor_agent.wire.messages.model_layout import LayoutPart, StepPeak
from kmonitor_agent.wire.messages.readings import (
    DeviceNow,
    FunctionTraces,
    GraphSize,
    LayerFacts,
    ModelFacts,
    Sample,
    SlotFacts,
    SourceOf,
    Sources,
)
from kmonitor_agent.wire.messages.study_events import (
    FoldBegan,
    FoldEnded,
    FoldNow,
    StudyStarted,
    StudyTally,
)
from kmonitor_agent.wire.messages.verdict_events import GrewWith, LimitForecast, Verdict

AnyEvent = (
    BootStarted
    | BootEnded
    | BootDied
    | Sources
    | ModelFacts
    | LayoutPart
    | StepPeak
    | FitStarted
    | FitEnded
    | EpochStarted
    | EpochEnded
    | Sample
    | GraphSize
    | ActionRecord
    | Diagnosis
    | CommandProgress
    | LimitsInForce
    | LimitCrossed
    | Paused
    | Fault
    | Notice
    | Lost
    | StudyStarted
    | FoldBegan
    | FoldNow
    | FoldEnded
    | Verdict
)
"""Every event."""

__all__ = [
    "ActionRecord",
    "AllocationGrowth",
    "AnyEvent",
    "BootDied",
    "BootEnded",
    "BootStarted",
    "CommandProgress",
    "DeviceNow",
    "Diagnosis",
    "EpochEnded",
    "EpochStarted",
    "Event",
    "Fault",
    "FitEnded",
    "FitStarted",
    "FoldBegan",
    "FoldEnded",
    "FoldNow",
    "Footprint",
    "FunctionTraces",
    "GraphSize",
    "GrewWith",
    "LayerFacts",
    "LayoutPart",
    "LimitCrossed",
    "LimitForecast",
    "LimitsInForce",
    "Lost",
    "ModelFacts",
    "Notice",
    "ObjectGrowth",
    "Paused",
    "Sample",
    "SlotFacts",
    "SourceOf",
    "Sources",
    "StepPeak",
    "StepTimes",
    "StudyStarted",
    "StudyTally",
    "Verdict",
]
