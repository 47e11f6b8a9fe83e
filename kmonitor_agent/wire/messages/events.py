"""All events of a run and their union `AnyEvent`; the classes are in the modules `*_events`.

Its agent sends each once, in order; `Verdict` is the hub's own.
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
    LostEvents,
    Notice,
    ObjectGrowth,
    Paused,
)
from kmonitor_agent.wire.messages.lifecycle_events import (
    EPOCH_PARTS,
    CallbackTime,
    EpochEnded,
    EpochParts,
    EpochStarted,
    Event,
    FitEnded,
    FitStarted,
    SessionDied,
    SessionEnded,
    SessionStarted,
    StepTimes,
)
from kmonitor_agent.wire.messages.model_layout import LayoutPart, StepPeak
from kmonitor_agent.wire.messages.readings import (
    DeviceSample,
    FieldSource,
    FieldSources,
    FunctionTraces,
    GraphSize,
    KeptObjects,
    LayerFacts,
    ModelFacts,
    NamedResource,
    ObjectsCounted,
    ResourcesNamed,
    Sample,
    SlotFacts,
)
from kmonitor_agent.wire.messages.study_events import (
    FoldEnded,
    FoldProgress,
    FoldStarted,
    StudyStarted,
    StudyTally,
)
from kmonitor_agent.wire.messages.verdict_events import CorrelatedGrowth, LimitForecast, Verdict

AnyEvent = (
    SessionStarted
    | SessionEnded
    | SessionDied
    | FieldSources
    | ModelFacts
    | LayoutPart
    | StepPeak
    | FitStarted
    | FitEnded
    | EpochStarted
    | EpochEnded
    | Sample
    | GraphSize
    | ObjectsCounted
    | ResourcesNamed
    | ActionRecord
    | Diagnosis
    | CommandProgress
    | LimitsInForce
    | LimitCrossed
    | Paused
    | Fault
    | Notice
    | LostEvents
    | StudyStarted
    | FoldStarted
    | FoldProgress
    | FoldEnded
    | Verdict
)

__all__ = [
    "EPOCH_PARTS",
    "ActionRecord",
    "AllocationGrowth",
    "AnyEvent",
    "CallbackTime",
    "CommandProgress",
    "CorrelatedGrowth",
    "DeviceSample",
    "Diagnosis",
    "EpochEnded",
    "EpochParts",
    "EpochStarted",
    "Event",
    "Fault",
    "FieldSource",
    "FieldSources",
    "FitEnded",
    "FitStarted",
    "FoldEnded",
    "FoldProgress",
    "FoldStarted",
    "Footprint",
    "FunctionTraces",
    "GraphSize",
    "KeptObjects",
    "LayerFacts",
    "LayoutPart",
    "LimitCrossed",
    "LimitForecast",
    "LimitsInForce",
    "LostEvents",
    "ModelFacts",
    "NamedResource",
    "Notice",
    "ObjectGrowth",
    "ObjectsCounted",
    "Paused",
    "ResourcesNamed",
    "Sample",
    "SessionDied",
    "SessionEnded",
    "SessionStarted",
    "SlotFacts",
    "StepPeak",
    "StepTimes",
    "StudyStarted",
    "StudyTally",
    "Verdict",
]
