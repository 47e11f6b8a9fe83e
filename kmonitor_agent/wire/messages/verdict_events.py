"""Verdicts: the hub's judgements on a run's measured values, unit by unit."""

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
"""Metrics that are judged; they are the same as those of charts and limits."""

TIME_METRICS: frozenset[VerdictMetric] = frozenset({"step_time", "epoch_time"})

COUNTED_METRICS: Final[dict[VerdictMetric, tuple[str, str]]] = {
    "open_files": ("open_files", "open_files_of"),
    "threads": ("threads", "threads_of"),
    "processes": ("processes", "processes_of"),
    "shared_memory": ("shared_memory_bytes", "shared_memory_of_bytes"),
    "disk": ("disk_used_bytes", "disk_of_bytes"),
    "temp_disk": ("temp_disk_used_bytes", "temp_disk_of_bytes"),
}
"""Resources that can run out, to the fields of `Sample` with the used and the possible amount."""

VERDICT_METRICS: tuple[VerdictMetric, ...] = get_args(VerdictMetric)

VerdictState = Literal[
    "measuring", "rising", "steady", "growing", "suspected", "slowing", "cleared"
]
"""`rising`: so far, not yet judged; `growing`: a fact about numbers; `suspected`: a leak is
suspected, because something that is counted grew with the metric; `slowing`: it was growing, and
does so less and less."""

ALARMED_STATES: frozenset[VerdictState] = frozenset({"growing", "suspected"})


STEPS_DIFFER: Final = "steps_differ"
KINDS_DIFFER: Final = "kinds_differ"
MAY_BE_GARBAGE: Final = "may_be_garbage"
"""Values of `Verdict.why_not` where few units have as many steps as the last, where each fit has
another model or batch size, and where Python has not collected all objects since a rise began."""

RECENT_UNITS: Final = 5
"""Number of recent units in which the part that takes most of the time is determined."""

LEAST_SHARE_GIVEN_BACK: Final = 0.1
"""Share of the growth that an action must give back to count as helpful."""


class CorrelatedGrowth(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A count that grew over the same units.

    Attributes:
        kind: "traces", "retained", "disused", "blocks", "python_bytes", "allocator_bytes",
            "native_bytes", "free_bytes", "children_bytes", "code", "functions", "kept_bytes",
            "kept_objects", "named", "named_bytes", "major_faults"; "first_unit": bytes, once, and
            not a unit.
        per_unit: Change per unit, in what `kind` counts.
        low: Lower end of the 95% interval of that change.
        high: Upper end of the interval.
        name: Function, line of the script, place that keeps objects, or their type; empty: all.
    """

    kind: Name
    per_unit: Number
    low: Number
    high: Number
    name: Text = ""


class CacheFill(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Fill level of the in-memory cache of a fit's data.

    Attributes:
        steps: Steps that have taken data so far.
        of_steps: Steps after which the cache is full.
        end_bytes: Size of the full cache; None where shapes vary.
    """

    steps: Count
    of_steps: Count
    end_bytes: Amount | None = None


class ArenaFill(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Freed memory that malloc keeps in each of its arenas.

    Attributes:
        arenas: Arenas that malloc has.
        free_bytes: Freed memory that all arenas keep.
        largest_bytes: Largest amount that one arena keeps.
    """

    arenas: Count
    free_bytes: Amount
    largest_bytes: Amount


class TriedAction(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An action against growth, and the measured amount that it gave back the last time.

    Attributes:
        action: "collect", "reload" or "restart".
        times: Number of times that it ran while the same growth was known.
        given_back_bytes: Decrease of the memory held, from before to after it; 0: nothing that
            counts.
        risen_bytes: Memory held before it, minus the least since the process began or last gave
            memory back; None: unknown.
    """

    action: Name
    times: Count
    given_back_bytes: Amount
    risen_bytes: Amount | None = None

    @property
    def did_help(self) -> bool:
        """True if it gave back more than a tenth of the growth."""
        return self.given_back_bytes > LEAST_SHARE_GIVEN_BACK * (self.risen_bytes or 0.0)


class LimitForecast(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """When a limit is met if the growth continues, counted from the last unit judged.

    Attributes:
        limit: The limit, in the metric's unit.
        of: "own": a limit set for the run; "host", "cgroup", "address_space": available memory;
            "device"; "system": the system's limit on a resource that is counted.
        units: Most likely number of units.
        earliest: Lowest number of units.
        latest: Highest number of units; None: the limit may never be met.
        unit_s: Recent duration of a unit, seconds; None: unknown.
        by_others: Amount of the rest that other processes take per unit, in the metric's unit; 0:
            hardly any.
    """

    limit: Amount
    of: Literal["own", "host", "cgroup", "address_space", "device", "system"]
    units: Amount
    earliest: Amount
    latest: Amount | None = None
    unit_s: Seconds | None = None
    by_others: Amount = 0.0


class SlowerPart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One of several parts of the time that take longer.

    Attributes:
        where: Name of the part, as in `EpochParts`.
        share: Fraction of the additional time that is spent in it now, 0..1.
        name: Class of the callback, if the part is one of callbacks.
        since: The epoch or fit since which it takes longer; 0: gradual growth.
        rise: Additional time per unit at a jump, seconds; of the step time a step.
        slope: Change of the part per unit, in the same unit; None at a jump.
        advice: Possible remedies for it, as in `Verdict`.
    """

    where: Name
    share: Amount
    name: Text = ""
    since: Count = 0
    rise: Number = 0.0
    slope: Number | None = None
    advice: Annotated[list[Name], msgspec.Meta(max_length=16)] = []


class Verdict(Event, frozen=True, tag="verdict"):
    """Development of one metric of a run; written by the hub, not taken from a training.

    Attributes:
        metric: The metric that is judged.
        state: See `VerdictState`.
        per: Kind of unit; "call": one of `evaluate`, `predict` or `collect()` outside of fits.
        units: Units measured since the last start or reload.
        unit: Epochs or fits of the run that had ended.
        turned: True if its text differs from that of the verdict before; False: newer figures of
            the same.
        from_s: Run time at which the window of the evidence begins, seconds.
        to_s: Run time at which it ends.
        window: Units in the window; for steps and calls those from its first to its last.
        slope: Change of the lower envelope per unit, in the metric's unit; None before a window.
        slope_low: Lower end of the 95% interval of the slope.
        slope_high: Upper end of the interval.
        rise: Rise from the beginning of the window to its end, in the metric's unit.
        why_not: Why it is not called growth: "too_small", "no_trend", "steps", "slowing",
            "bending", "stopped"; "steps_differ": few epochs or fits have as many steps as the
            last; "kinds_differ": each fit has another model or batch size; "may_be_garbage":
            Python has not collected all objects since; empty when it is, or when nothing was
            judged.
        unit_s: Recent duration of a unit, seconds; None: unknown.
        cause: Cause of the growth: "retained_traces", "disused_traces", "retracing", "compiled",
            "rebuilt", "kept", "python", "tensors", "workers", "malloc", "native", "cache",
            "unknown"; for resources that are counted "files", "threads", "processes", "zombies",
            "blocks", "disk" (for RAM too, without the last); for slower steps also "pressure",
            "throttled", "clock", "busy", "own_work", "garbage", "traced_again"; "filling": a cache
            of the dataset, or a cache or queue of the script, which has an end, or is full where
            nothing grows; "buffer": a list of the script that is emptied now and then,
            with the largest number of its objects as capacity; "arenas": freed memory that malloc
            keeps in one arena after another;
            "uncollected": Python objects that may be garbage, and wait for a full collection;
            "data_cache": memory of the first epoch, where nothing grows; for times "part": that of
            `where`; empty if unknown.
        sureness: "counted", "fitting" or "open".
        name: Function, line, path or thread that the cause is about; empty if unknown.
        changed: With "retracing", the difference between its last two traces, as in
            `FunctionTraces`.
        grew_with: Counts that grew over the same units and support the cause.
        advice: Possible remedies, the mildest first.
        filling: With "filling", the fill level of the dataset's cache; None: one of the script, in
            `kept`.
        arenas: With "arenas", the memory that they keep.
        kept: With "kept", "filling", "buffer", "rebuilt" and "retracing", the objects and the
            place that keeps them; None: unknown.
        where: The part of the units in which nearly all of the growth occurs: "steps" (from an
            epoch's begin to its end, without validation), "validation", "between_epochs",
            "between_fits"; for times the part that grew, or that takes most, as in `EpochParts`,
            or "compute_and_input" where they are not known apart; empty: in several parts, or
            unknown.
        where_part: Fraction of the growth, or of the time, in `where`, 0..1; None: in several
            parts, or unknown.
        slower_parts: The parts that take longer, if there are several; the first one is `where`.
        since: The epoch or fit since which a unit takes longer, in the count of `unit`; 0: gradual
            growth, or none.
        ruled_out: With "unknown", for slower steps: counts that do not explain the growth.
        forecast: None unless the metric grows towards a known limit.
        tried: Actions against this cause, and the amounts that they gave back.
        on_host: For "vram", true if it is host memory, handed out by the CPU's allocator.
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
    on_host: bool = False
    slower_parts: Annotated[list[SlowerPart], msgspec.Meta(max_length=4)] = []
