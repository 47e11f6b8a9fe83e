"""Units of a run, epochs and fits, from its events."""

import math
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from msgspec.structs import replace

from kmonitor.hub.judge.bounded_places import FilledPlaces
from kmonitor.hub.judge.detectors import UnitKind
from kmonitor.hub.judge.first_epoch import FirstEpochSamples, FitPlan
from kmonitor.hub.judge.growth import MAX_UNITS
from kmonitor.hub.judge.statistics import Floats
from kmonitor_agent.wire.messages.events import (
    EPOCH_PARTS,
    ActionRecord,
    Diagnosis,
    EpochEnded,
    EpochStarted,
    Event,
    FieldSources,
    FitEnded,
    FitStarted,
    GraphSize,
    KeptObjects,
    LimitsInForce,
    ModelFacts,
    ObjectsCounted,
    ResourcesNamed,
    Sample,
    SessionEnded,
    SessionStarted,
)
from kmonitor_agent.wire.messages.verdict_events import COUNTED_METRICS, VerdictMetric

if TYPE_CHECKING:
    from kmonitor_agent.wire.messages.commands import LimitSpec


JUDGED_EVENT_KINDS: Final = (
    "session",
    "session_end",
    "fit_start",
    "fit_end",
    "epoch_start",
    "epoch_end",
    "sample",
    "graph",
    "objects",
    "resources",
    "model",
    "action",
    "limits",
    "diagnosis",
    "sources",
    "verdict",
)
"""Types of events that the judge reads, `verdict` among them."""

SAMPLED: Final = (
    "step",
    "calls",
    "ram_bytes",
    "vram_bytes",
    "allocator_in_use_bytes",
    "ram_children_bytes",
    "ram_of_bytes",
    "vram_of_bytes",
    "code_regions",
    "functions",
    "ram_left_bytes",
    "cgroup_left_bytes",
    "address_space_left_bytes",
    "major_faults",
    "memory_pressure_fraction",
    "cpu_throttled_fraction",
    "cpu_wait_fraction",
    "cpu_cores",
    "cpu_clock_hz",
    *(column for columns in COUNTED_METRICS.values() for column in columns),
)
"""Fields of samples that the judge reads."""

LEVELS: Final[dict[str, str]] = {
    "ram": "ram_bytes",
    "vram": "vram_bytes",
    "ram_left": "ram_left_bytes",
    "major_faults": "major_faults",
    "memory_pressure": "memory_pressure_fraction",
    "throttled": "cpu_throttled_fraction",
    "cpu_wait": "cpu_wait_fraction",
    "cores": "cpu_cores",
    "clock": "cpu_clock_hz",
    **{metric: column for metric, (column, _) in COUNTED_METRICS.items()},
}
"""Levels that are judged, to their fields of samples."""

KEPT_UNITS: Final = 2 * MAX_UNITS
"""Units kept; older ones change no judgement."""

_HEAP_COUNTS: Final = (
    *("python_blocks", "full_collections", "malloc_bytes", "malloc_free_bytes"),
    *("malloc_largest_free_bytes", "malloc_arenas", "objects_to_full_collection"),
)
"""Fields that an epoch's end and its unit have in common."""

_Bound = Literal["host", "cgroup", "address_space"]
_ByCallback = dict[tuple[str, str], float]
_MOST_FUNCTIONS: Final = 16
_TABLES: Final = 6
_DISKS: Final[tuple[VerdictMetric, ...]] = ("disk", "temp_disk")
_NEAR_S: Final = 3600.0
"""Time to the end of what others use too, seconds, that is near if the run's end is unknown."""

_JUDGED: Final[tuple[UnitKind, ...]] = (UnitKind.EPOCH, UnitKind.FIT)


@dataclass(slots=True)
class Unit:
    """One epoch or fit; NaN where not measured.

    Attributes:
        number: Ordinal among the run's epochs or fits, in the order of their ends.
        start_s: Run time of its start, seconds.
        ended_s: Run time of its end, seconds.
        low: Smallest of `ram`, `vram` and `allocator` (on the host) or `device_allocator`, bytes.
        high: Largest of the same, bytes.
        at_end: `ram`, `vram` (bytes) and `threads` at the ends of its epochs, the smallest
            reading; and `ram_of_one_arena`, the first without what malloc keeps in any arena but
            the fullest.
        children_bytes: Memory that child processes add to that of the process.
        code_regions: Regions of compiled code, as last read.
        registered: Functions registered with the runtime, in a part of an epoch.
        python_blocks: Blocks in use in Python's allocator, at the end of its last epoch.
        full_collections: Full garbage collections of the process, at the end of its last epoch.
        objects_to_full_collection: New objects until Python makes one; 0: never.
        malloc_bytes: Memory in use in malloc, at the end of its last epoch.
        malloc_free_bytes: Freed memory that malloc keeps, at the end of its last epoch.
        malloc_largest_free_bytes: Largest part of that in one arena.
        malloc_arenas: Arenas of malloc, at the end of its last epoch.
        operations: Operations in live traces, at its end.
        traces: Live traces, at its end.
        retained: Live traces that are kept for dead models only, at its end.
        disused: Live traces that are kept though nothing uses them, and whose weights are alive,
            at its end.
        functions: Traces by function, for the largest functions.
        changed: Difference between the last two traces of a function, by its name.
        parts: Growth of the process's memory in each part of it: "steps", "validation",
            "between_epochs", "between_fits", bytes; unmeasured parts are absent.
        kept: Objects kept by the script, as last counted in it.
        counted_s: In a part of time, run time of that count, seconds.
        is_counted: True if they were counted in it; places that are absent have not changed.
        step_s: Median step time, seconds.
        wall_s: Duration of its epochs together, each from the end of the one before to its own
            end, without validations and checkpoints, which come now and then, seconds.
        times: Time of its epochs by part, as in `EpochParts`, seconds.
        first_input_s: Part of that for input before the first steps of its epochs.
        cpu_s: Processor time of the process, as in `EpochParts`; NaN: unknown.
        callback_times: Seconds in callbacks, by part ("callbacks" or "checkpoints") and class.
        callbacks_in_steps: Those of them in steps; all of them where that is not known.
        is_diagnosed: True if *Diagnose* collected garbage in it, or traced allocations.
        kind: The model's parameters and batch size; step times of fits are compared within a kind.
        fit: Start of the fit that its last epoch belongs to.
    """

    number: int
    start_s: float
    ended_s: float = math.nan
    low: dict[str, float] = field(default_factory=dict[str, float])
    high: dict[str, float] = field(default_factory=dict[str, float])
    at_end: dict[str, float] = field(default_factory=dict[str, float])
    n_samples: int = 0
    children_bytes: float = math.nan
    code_regions: float = math.nan
    registered: float = math.nan
    python_blocks: float = math.nan
    full_collections: float = math.nan
    objects_to_full_collection: float = math.nan
    malloc_bytes: float = math.nan
    malloc_free_bytes: float = math.nan
    malloc_largest_free_bytes: float = math.nan
    malloc_arenas: float = math.nan
    operations: float = math.nan
    traces: float = math.nan
    retained: float = math.nan
    disused: float = math.nan
    functions: dict[str, float] = field(default_factory=dict[str, float])
    changed: dict[str, str] = field(default_factory=dict[str, str])
    parts: dict[str, float] = field(default_factory=dict[str, float])
    kept: list[KeptObjects] = field(default_factory=list[KeptObjects])
    counted_s: float = math.nan
    is_counted: bool = False
    step_s: float = math.nan
    wall_s: float = math.nan
    times: dict[str, float] = field(default_factory=dict[str, float])
    first_input_s: float = 0.0
    cpu_s: float = 0.0
    callback_times: _ByCallback = field(default_factory=dict[tuple[str, str], float])
    callbacks_in_steps: _ByCallback = field(default_factory=dict[tuple[str, str], float])
    steps: int = 0
    is_diagnosed: bool = False
    kind: tuple[int, int | None] = (0, None)
    fit: FitStarted | None = None

    @property
    def is_collector_off(self) -> bool:
        """True if Python looks for garbage among all objects never, or once they have doubled."""
        needed = self.objects_to_full_collection
        return needed == 0.0 or needed > self.python_blocks

    def measured(self, name: str, low: float, high: float) -> None:
        """Add samples of a level, of which these are the smallest and largest, bytes."""
        self.low[name] = min(low, self.low.get(name, low))
        self.high[name] = max(high, self.high.get(name, high))

    def measured_at_end(self, name: str, value: float) -> None:
        """Add a reading at an epoch's end; a unit shorter than the sample interval has it too."""
        self.measured(name, value, value)
        self.at_end[name] = min(value, self.at_end.get(name, value))

    def epoch_ended(self, event: EpochEnded, children_bytes: float) -> None:
        """Add the counts at the end of one of its epochs.

        Args:
            children_bytes: Memory that child processes add, as last read; NaN if never.
        """
        self.children_bytes = children_bytes
        if event.ram_process_bytes is not None:
            ram = event.ram_process_bytes
            ram += children_bytes if math.isfinite(children_bytes) else 0.0
            self.measured_at_end("ram", ram)
            if event.malloc_free_bytes is not None and event.malloc_largest_free_bytes is not None:
                ram -= event.malloc_free_bytes - event.malloc_largest_free_bytes
                least = self.at_end.get("ram_of_one_arena", ram)
                self.at_end["ram_of_one_arena"] = min(ram, least)
        if event.threads is not None:
            self.measured_at_end("threads", event.threads)
        if event.allocator_in_use_bytes is not None:
            self.measured_at_end("vram", event.allocator_in_use_bytes)
        for name in _HEAP_COUNTS:
            if (value := getattr(event, name)) is not None:
                setattr(self, name, value)

    def took(self, event: EpochEnded) -> None:
        """Add the times of one of its epochs."""
        self.steps += event.steps
        if event.parts is None:
            return
        self.first_input_s += event.parts.first_input_s
        self.cpu_s += math.nan if event.parts.cpu_s is None else event.parts.cpu_s
        wall_s = event.parts.wall_s - event.parts.validation_s - event.parts.checkpoints_s
        self.wall_s = wall_s + (0.0 if math.isnan(self.wall_s) else self.wall_s)
        for name in EPOCH_PARTS:
            seconds = getattr(event.parts, f"{name}_s")
            if seconds is not None:
                self.times[name] = self.times.get(name, 0.0) + seconds
        for each in event.parts.callbacks:
            named = "checkpoints" if each.saves else "callbacks", sys.intern(each.name)
            in_steps_s = each.seconds if each.in_steps_s is None else each.in_steps_s
            self.callbacks_in_steps[named] = self.callbacks_in_steps.get(named, 0.0) + in_steps_s
            self.callback_times[named] = self.callback_times.get(named, 0.0) + each.seconds

    def grew(self, part: str, n_bytes: float) -> None:
        """Add growth of the process's memory in one part; negative if it fell."""
        self.parts[part] = self.parts.get(part, 0.0) + n_bytes

    def graph(self, event: GraphSize) -> None:
        """Take a count of the graph; the last one is that of its end."""
        self.operations = float(event.operations)
        self.traces = float(event.traces)
        if event.retained is not None:
            self.disused = float(event.disused)
            self.retained = float(event.retained) - self.disused
        self.functions = {
            sys.intern(each.name): float(each.traces)
            for each in event.by_function[:_MOST_FUNCTIONS]
        }
        self.changed = {each.name: each.changed for each in event.by_function if each.changed}


class _HeldMemory:
    """Memory of the process at the ends of epochs: growth by part of a unit."""

    def __init__(self) -> None:
        self._fit = 0
        self._began: float | None = None
        self._ended: float | None = None

    def begin(self, event: EpochStarted, units: Iterable[Unit]) -> None:
        self._began = event.ram_process_bytes
        before = self._ended
        is_same_fit = event.fit == self._fit
        self._fit = event.fit
        if self._began is not None and before is not None:
            part = "between_epochs" if is_same_fit else "between_fits"
            for unit in units:
                unit.grew(part, self._began - before)

    def end(self, event: EpochEnded, units: Iterable[Unit]) -> None:
        began, self._began = self._began, None
        self._ended = event.ram_process_bytes
        if began is None or self._ended is None:
            return
        in_validation = event.validation_bytes or 0.0
        for unit in units:
            unit.grew("steps", self._ended - began - in_validation)
            unit.grew("validation", in_validation)


class RunUnits:
    """The units of one run since its last start or reload; owned by the judging thread.

    Attributes:
        completed: Complete units, the newest last, by kind of unit.
        filled: Places of the script that became full, by kind of unit.
        fits_ended: Number of fits of the whole run that ended.
        levels: `LEVELS`, and the allocator's once it is known whose memory that is.
        limits: Limits in force.
        ram_of: Available RAM, bytes: the run's own memory and the rest that it can get.
        ram_bound: Owner of the nearest bound.
        vram_of: Total that VRAM is a part of, bytes; None if unknown.
        counts_of: Possible amount of each resource that is counted, by metric.
        is_one_disk: True if temporary files are on the same disk as the fit's folder.
        named: The last six lists of names of these resources, at run times, by metric.
        uses_torch: False if the process is known to have no PyTorch.
        plan: Plan of the running fit, or of the last one.
        epoch_samples: Memory during the first epoch since the last start or reload.
    """

    def __init__(self) -> None:
        self.completed: dict[UnitKind, deque[Unit]] = {
            per: deque(maxlen=KEPT_UNITS) for per in _JUDGED
        }
        self.filled = {per: FilledPlaces() for per in _JUDGED}
        self.fits_ended = 0
        self.limits: list[LimitSpec] = []
        self.ram_of: float | None = None
        self.ram_bound: _Bound = "host"
        self.vram_of: float | None = None
        self.counts_of: dict[VerdictMetric, float] = {}
        self.is_one_disk = False
        self.named: dict[str, deque[ResourcesNamed]] = {}
        self.uses_torch = True
        self.epoch_samples = FirstEpochSamples()
        self.plan = FitPlan()
        self._epochs_ended = 0
        self._fresh: dict[UnitKind, int] = dict.fromkeys(_JUDGED, 0)
        self._open: dict[UnitKind, Unit] = {per: Unit(1, 0.0) for per in _JUDGED}
        self._ended: tuple[int, int, Unit] | None = None
        self._children_bytes = self._code_regions = math.nan
        self._held = _HeldMemory()
        self.levels: Mapping[str, str] = LEVELS
        self._allocator = ""
        self._steps_s: list[float] = []
        self._kind: tuple[int, int | None] = (0, None)
        self._fit: FitStarted | None = None

    def near_units(self, kind: UnitKind, unit_s: float | None) -> float:
        """Units within which an end that others bring about is near, from the newest unit.

        Args:
            unit_s: Recent duration of a unit, seconds; None: unknown.
        """
        fit = self._fit
        # The end of the first fit may be that of the run; further ones show that it is not.
        if kind is UnitKind.EPOCH and fit is not None and fit.epochs and fit.fit <= 1:
            return max(0, fit.epochs - fit.initial_epoch - self.plan.epochs_ended)
        return _NEAR_S / unit_s if unit_s else 0.0

    def pop_n_fresh(self, kind: UnitKind) -> int:
        """Number of units completed since the last call."""
        fresh, self._fresh[kind] = self._fresh[kind], 0
        return min(fresh, len(self.completed[kind]))

    def add(self, t_s: float, event: Event) -> None:
        """Add one event of the run, in order.

        Args:
            t_s: Its run time, seconds.
            event: An event of `JUDGED_EVENT_KINDS`; others change nothing.
        """
        match event:
            case Sample():
                self.add_samples(np.array([t_s]), columns_of(event))
            case GraphSize() | ObjectsCounted() | ResourcesNamed():
                self._count(t_s, event)
            case EpochStarted():
                self._complete_epoch()
                self._open[UnitKind.EPOCH].start_s = t_s
                self._held.begin(event, self._open.values())
                self.epoch_samples.begin(t_s)
            case EpochEnded():
                self._epoch_ended(t_s, event)
            case FitStarted():
                self._fit = event
                self._kind = (0, event.batch_size)
                self.plan = FitPlan(
                    event.epochs,
                    event.steps,
                    cache_steps=event.cache_steps,
                    cache_bytes=event.cache_bytes,
                )
            case FitEnded():
                self._fit_ended(t_s)
            case SessionEnded():
                self._complete_epoch()
            case _:
                self._note(t_s, event)

    def add_samples(self, t_s: Floats, columns: Mapping[str, Floats]) -> None:
        """Add samples that follow each other with no other event between them.

        Args:
            t_s: Their run times, seconds, `[n]`.
            columns: Fields of `SAMPLED` that were read, `[n]` each, NaN where not.
        """
        for level, name in self.levels.items():
            values = _finite_values(columns.get(name))
            for unit in self._open.values() if len(values) else ():
                unit.measured(level, float(values.min()), float(values.max()))
        for unit in self._open.values():
            unit.n_samples += len(t_s)
        if "ram_bytes" in columns:
            self.epoch_samples.samples(t_s, columns["ram_bytes"])
        newest = {name: _finite_values(columns.get(name))[-1:].tolist() for name in SAMPLED}
        self._children_bytes = (newest["ram_children_bytes"] or [self._children_bytes])[0]
        self._code_regions = (newest["code_regions"] or [self._code_regions])[0]
        self.vram_of = (newest["vram_of_bytes"] or [self.vram_of])[0]
        if newest["ram_of_bytes"]:
            (self.ram_of,) = newest["ram_of_bytes"]
            self.ram_bound = _nearest_bound(newest)
        self._read_counts(newest)

    def _read_counts(self, newest: Mapping[str, list[float]]) -> None:
        for metric, (_, whole) in COUNTED_METRICS.items():
            if newest[whole]:
                (self.counts_of[metric],) = newest[whole]
        disk, temp_disk = ([newest[each] for each in COUNTED_METRICS[name]] for name in _DISKS)
        # Another disk has neither the same size nor the same number of bytes in use.
        self.is_one_disk = self.is_one_disk or (all(disk) and disk == temp_disk)

    def _note(self, t_s: float, event: Event) -> None:
        match event:
            case ModelFacts():
                self._kind = (event.parameters, self._kind[1])
            case SessionStarted():
                self._complete_epoch()
                self.uses_torch = event.backend in {"", "torch"} or "torch" in event.versions
                self._restart(t_s)
            case ActionRecord() if _restarts(event):
                self._complete_epoch()
                self._restart(t_s)
            case LimitsInForce():
                self.limits = event.limits
            case Diagnosis():
                for unit in self._open.values():
                    unit.is_diagnosed = True
            case FieldSources():
                self._sources(event)
            case _:
                pass

    def _sources(self, event: FieldSources) -> None:
        for each in event.sources:
            if each.field == "allocator_in_use_bytes":
                # The allocator of a GPU says nothing about this process's own memory.
                self._allocator = "allocator" if "CPU" in each.source else "device_allocator"
                self.levels = {**LEVELS, self._allocator: each.field}

    def _count(self, t_s: float, event: GraphSize | ObjectsCounted | ResourcesNamed) -> None:
        if isinstance(event, GraphSize):
            self._graph(event)
        elif isinstance(event, ResourcesNamed):
            names = self.named.setdefault(event.metric, deque(maxlen=_TABLES))
            names.append(replace(event, t_s=t_s))
        elif not event.why:
            for per, units in self.completed.items():
                self.filled[per].count(event.kept, units)
            for unit in self._open.values():
                unit.is_counted = True
                unit.kept = event.kept or unit.kept

    def _graph(self, event: GraphSize) -> None:
        self._open[UnitKind.FIT].graph(event)
        ended = self._ended
        if ended is not None and ended[:2] == (event.fit, event.epoch):
            # Counted at the epoch's end, and sent just after it.
            ended[2].graph(event)
            self._complete_epoch()
        else:
            self._open[UnitKind.EPOCH].graph(event)

    def _epoch_ended(self, t_s: float, event: EpochEnded) -> None:
        self._complete_epoch()
        self._epochs_ended += 1
        filled = self.plan.fills_cache
        self.plan.epochs_ended += 1
        self.plan.steps_ended += event.steps
        filled = filled and not self.plan.fills_cache
        self.plan.steps = self.plan.steps or event.steps
        self.epoch_samples.end(t_s)
        self._held.end(event, self._open.values())
        for each in self._open.values():
            each.epoch_ended(event, self._children_bytes)
            if event.allocator_in_use_bytes is not None and self._allocator:
                each.measured_at_end(self._allocator, event.allocator_in_use_bytes)
            each.took(event)
            each.fit = self._fit
            each.code_regions = self._code_regions
        unit = self._open[UnitKind.EPOCH]
        unit.ended_s = t_s
        unit.kind = self._kind
        if event.step_times is not None:
            unit.step_s = event.step_times.step_s
            self._steps_s.append(unit.step_s)
        self._ended = (event.fit, event.epoch, unit)
        if filled and self.plan.epochs_ended > 1:
            # Memory that fills the cache is not a trend: judge from here on.
            self.completed[UnitKind.EPOCH].clear()
            self._fresh[UnitKind.EPOCH] = 0
        self._open[UnitKind.EPOCH] = Unit(self._epochs_ended + 1, t_s)

    def _complete_epoch(self) -> None:
        """Complete the epoch that ended last: all its events have come."""
        if self._ended is not None:
            self._add(UnitKind.EPOCH, self._ended[2])
            self._ended = None

    def _fit_ended(self, t_s: float) -> None:
        self._complete_epoch()
        self.fits_ended += 1
        unit = self._open[UnitKind.FIT]
        unit.ended_s = t_s
        unit.kind = self._kind
        if self._steps_s:
            unit.step_s = sorted(self._steps_s)[len(self._steps_s) // 2]
        self._steps_s.clear()
        self._add(UnitKind.FIT, unit)
        self._open[UnitKind.FIT] = Unit(self.fits_ended + 1, t_s)

    def _add(self, kind: UnitKind, unit: Unit) -> None:
        self.completed[kind].append(unit)
        self._fresh[kind] += 1

    def _restart(self, t_s: float) -> None:
        self.epoch_samples = FirstEpochSamples()
        self._children_bytes = self._code_regions = math.nan
        self._held = _HeldMemory()
        self.named.clear()
        self.is_one_disk = False
        for per in _JUDGED:
            self.filled[per] = FilledPlaces()
            self.completed[per].clear()
            self._fresh[per] = 0
            self._open[per] = Unit(self._open[per].number, t_s)


def columns_of(sample: Sample) -> dict[str, Floats]:
    """Fields of `SAMPLED` that a sample has, `[1]` each."""
    fields = ((name, getattr(sample, name)) for name in SAMPLED)
    return {name: np.array([float(value)]) for name, value in fields if value is not None}


def _restarts(action: ActionRecord) -> bool:
    """True if memory after an action is no continuation of that before.

    Those of limits and of the script come again and again, and are part of how memory grows.
    """
    if not action.ok or action.unchanged:
        return False
    is_by_person = action.requested_by != "script" and not action.requested_by.startswith("limit ")
    return action.action == "reload" or (action.action == "collect" and is_by_person)


def _nearest_bound(newest: Mapping[str, list[float]]) -> _Bound:
    """Owner of the bound that leaves least, from a sample."""
    left = newest["ram_left_bytes"]
    if left and left == newest["cgroup_left_bytes"]:
        return "cgroup"
    return "address_space" if left and left == newest["address_space_left_bytes"] else "host"


def _finite_values(values: Floats | None) -> Floats:
    return np.empty(0) if values is None else values[np.isfinite(values)]
