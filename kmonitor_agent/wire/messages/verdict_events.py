"""The events that judge: what the hub makes of a run's measured values, unit by unit."""

from typing import Annotated, Final, Literal, get_args

import msgspec

from kmonitor_agent.wire.messages.fields import Amount, Count, Name, Number, Seconds, Text
from kmonitor_agent.wire.messages.lifecycle_events import Event
from kmonitor_agent.wire.messages.readings import KeptObjects

VerdictMetric = Literal[
    "ram",
    "vram",
    "graph",
    "step_time",
    "epoch_time",
    "open_files",
    "threads",
    "processes",
    "shared_memory",
    "disk",
    "temp_disk",
]
"""What is judged; the same metrics as charts and limits have."""

TIME_METRICS: frozenset[VerdictMetric] = frozenset({"step_time", "epoch_time"})

COUNTED_METRICS: Final[dict[VerdictMetric, tuple[str, str]]] = {
    "open_files": ("open_files", "open_files_of"),
    "threads": ("threads", "threads_of"),
    "processes": ("processes", "processes_of"),
    "shared_memory": ("shared_memory_bytes", "shared_memory_of_bytes"),
    "disk": ("disk_used_bytes", "disk_of_bytes"),
    "temp_disk": ("temp_disk_used_bytes", "temp_disk_of_bytes"),
}
"""What is counted and can run out, to the fields of `Sample` of what there is, and can be."""

VERDICT_METRICS: tuple[VerdictMetric, ...] = get_args(VerdictMetric)

VerdictState = Literal[
    "measuring", "rising", "steady", "growing", "suspected", "slowing", "cleared"
]
"""`rising`: so far, not yet judged; `growing` is a fact about numbers; `suspected`: a leak is, as
what is counted grew with it; `slowing`: it was growing, and does so less and less."""

ALARMED_STATES: frozenset[VerdictState] = frozenset({"growing", "suspected"})


RECENT_UNITS: Final = 5
"""Of these the part is said that takes most of the time."""

LEAST_SHARE_GIVEN_BACK: Final = 0.1
"""Of what had come; an action that gave back less did not help."""


class CorrelatedGrowth(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Something counted that grew over the same units.

    Attributes:
        kind: "traces", "retained", "blocks", "python_bytes", "allocator_bytes", "native_bytes",
            "free_bytes", "children_bytes", "code", "functions", "kept_bytes", "kept_objects",
            "named", "named_bytes", "major_faults"; "first_unit": bytes, once, and not a unit.
        per_unit: Change a unit, in what it counts.
        low: Lower end of the 95% interval.
        high: Upper end.
        name: Whose: a function, a line of the script, or the place that keeps; empty: all.
    """

    kind: Name
    per_unit: Number
    low: Number
    high: Number
    name: Text = ""


class CacheFill(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How far the cache of a fit's data is, in memory.

    Attributes:
        steps: That took from the data so far.
        of_steps: After which it is full.
        end_bytes: What it holds then; None where shapes vary.
    """

    steps: Count
    of_steps: Count
    end_bytes: Amount | None = None


class ArenaFill(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Freed memory that malloc keeps in each of its arenas.

    Attributes:
        arenas: Arenas that malloc has.
        free_bytes: What they keep together.
        largest_bytes: The most that one of them keeps.
    """

    arenas: Count
    free_bytes: Amount
    largest_bytes: Amount


class TriedAction(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What was done against growth, and what it gave back the last time, as measured.

    Attributes:
        action: "collect", "reload" or "restart".
        times: How often, while the same was known to grow.
        given_back_bytes: By how much less was held after it; 0: nothing that counts.
        risen_bytes: By how much more than the least since was held before it; None: not known.
    """

    action: Name
    times: Count
    given_back_bytes: Amount
    risen_bytes: Amount | None = None

    @property
    def did_help(self) -> bool:
        """Whether it gave back a tenth, or more, of what had come."""
        return self.given_back_bytes > LEAST_SHARE_GIVEN_BACK * (self.risen_bytes or 0.0)


class LimitForecast(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """When a limit is met, if it goes on like this; counted from the last unit judged.

    Attributes:
        limit: Of the metric, in its unit.
        of: "own": a limit set for the run; "host", "cgroup", "address_space": memory that can be
            had; "device"; "system": what the system allows of what is counted.
        units: Most likely so many units.
        earliest: Fewest.
        latest: Most; None: it may never be met.
        unit_s: What a unit takes lately, seconds; None if not known.
        by_others: What others take a unit of what is left, in the metric's unit; 0: hardly any.
    """

    limit: Amount
    of: Literal["own", "host", "cgroup", "address_space", "device", "system"]
    units: Amount
    earliest: Amount
    latest: Amount | None = None
    unit_s: Seconds | None = None
    by_others: Amount = 0.0


class Verdict(Event, frozen=True, tag="verdict"):
    """How one metric of a run develops; made by the hub, taken from no training.

    Attributes:
        metric: What is judged.
        state: What is known.
        per: What a unit is; "call": one of `evaluate`, `predict` or `collect()` outside of fits.
        units: Units since the last start or reload that were measured.
        unit: Epochs or fits of the run that had ended.
        turned: Whether its words differ from before; False: newer figures of the same.
        from_s: Run time at which the window of the evidence begins, seconds.
        to_s: Run time at which it ends.
        window: Units in it; of steps and calls those from its first to its last.
        slope: Change of the lower envelope a unit, in the metric's unit; None before a window.
        slope_low: Lower end of its 95% interval.
        slope_high: Upper end.
        rise: From the beginning of the window to its end, in the metric's unit.
        why_not: Why it is not called growth: "too_small", "no_trend", "steps", "slowing",
            "bending", "stopped"; empty when it is, or when nothing was judged.
        unit_s: What a unit takes lately, seconds; None if not known.
        cause: What grows: "retained_traces", "retracing", "compiled", "rebuilt", "kept",
            "python", "tensors", "workers", "malloc", "native", "cache", "unknown"; of what is
            counted "files", "threads", "processes", "zombies", "blocks", "disk";
            of slower steps also "pressure", "throttled", "clock", "garbage"; "filling": a
            cache of the dataset, which has an end; "arenas": freed memory that malloc keeps in
            one arena after another; "uncollected": Python objects that may be garbage, and wait
            for a full collection; "data_cache": what the first epoch took, where nothing grows;
            of times "part": that of `where`; empty where nothing is known.
        sureness: "counted", "fitting" or "open".
        name: Function, line, path or thread that the cause is about; empty if not known.
        changed: With "retracing", what its last two traces differ in, as of `FunctionTraces`.
        grew_with: What grew over the same units and speaks for the cause.
        advice: What may help, the mildest first.
        filling: With "filling", how far the cache is.
        arenas: With "arenas", what they keep.
        kept: What is kept, and where, with "kept" and "rebuilt"; None: not known.
        where: The part of the units in which nearly all of the growth comes: "steps" (from an
            epoch's begin to its end, without validation), "validation", "between_epochs",
            "between_fits"; of times the part that grew, or that takes most, as of `EpochParts`;
            empty: in several, or not known.
        where_part: Of the growth, or of the time, 0..1; None likewise.
        since: The epoch or fit since which it takes longer, as `unit` counts; 0: it grows, or
            does not.
        ruled_out: With "unknown", of slower steps: what was counted and does not explain it.
        forecast: None unless it grows towards a limit that is known.
        tried: Actions that were done against this cause, and what they gave back.
    """

    metric: VerdictMetric
    state: VerdictState
    per: Literal["step", "call", "epoch", "fit", "fold"]
    units: Count = 0
    unit: Count = 0
    turned: bool = False
    from_s: Seconds = 0.0
    to_s: Seconds = 0.0
    window: Count = 0
    slope: Number | None = None
    slope_low: Number | None = None
    slope_high: Number | None = None
    rise: Number = 0.0
    why_not: Name = ""
    unit_s: Seconds | None = None
    cause: Name = ""
    sureness: Name = ""
    name: Text = ""
    changed: Text = ""
    grew_with: Annotated[list[CorrelatedGrowth], msgspec.Meta(max_length=32)] = []
    advice: Annotated[list[Name], msgspec.Meta(max_length=16)] = []
    filling: CacheFill | None = None
    arenas: ArenaFill | None = None
    forecast: LimitForecast | None = None
    kept: KeptObjects | None = None
    where: Name = ""
    where_part: Amount | None = None
    tried: Annotated[list[TriedAction], msgspec.Meta(max_length=4)] = []
    since: Count = 0
    ruled_out: Annotated[list[Name], msgspec.Meta(max_length=16)] = []
