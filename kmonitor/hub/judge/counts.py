"""Judgements of counted resources that have an end: descriptors, threads, children, blocks.

A count needs no statistics: from the third unit on, steady additions are visible. It is called
growing after four additions about even where its end is near, after seven where it is far, so that
a pool which warms up is left alone; its cause is searched from then on. Disks count here too,
because written bytes add up alike.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kmonitor.base.trend import Slope, median
from kmonitor.hub.judge.causes import Cause, Confidence, GrowthExplanation, Remedy
from kmonitor.hub.judge.counters import CounterGrowth, CounterKind
from kmonitor.hub.judge.detectors import GrowthState, Judgement
from kmonitor.hub.judge.growth import Growth, WhyNot
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import NamedResource, ResourcesNamed
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

_MIB: Final = 2.0**20


@dataclass(frozen=True, slots=True)
class CountRule:
    """Smallest changes that matter.

    Attributes:
        least_a_unit: Smaller additions count as none.
        least_in_all: A count that rose by less is not called growing.
        is_of_all: True if other processes add to it too: it is judged only where its end is near.
    """

    least_a_unit: float = 1.0
    least_in_all: float = 8.0
    is_of_all: bool = False


COUNT_RULES: Final[dict[VerdictMetric, CountRule]] = {
    "open_files": CountRule(),
    "threads": CountRule(),
    "processes": CountRule(),
    "shared_memory": CountRule(0.25 * _MIB, 4 * _MIB),
    "disk": CountRule(_MIB, 8 * _MIB, is_of_all=True),
    "temp_disk": CountRule(_MIB, 8 * _MIB, is_of_all=True),
}
"""Rules by metric; these are the metrics that this module judges."""

_SAVED_LATELY: Final = 10
_SAID_AFTER: Final = 2
NEAR_UNITS: Final = 200.0
"""Units within which an end that the run brings about is near."""

_TO_ALARM_NEAR: Final = 4
_TO_ALARM_FAR: Final = 7
_TO_CLEAR: Final = 3
_EVEN: Final = 0.3
"""Smallest addition, as a part of their median, for additions that are about even."""

_LATELY: Final = 8
_LEAST_BAND: Final = 0.1
_FALLEN: Final = 0.5
_GIVEN_BACK: Final = 3
"""Part of the rise, or number of additions, whose loss shows that it is given back now and
then."""


def next_count_judgement(
    before: Judgement,
    values: Floats,
    rule: CountRule,
    room: float | None,
    near_units: float = NEAR_UNITS,
) -> Judgement:
    """The judgement after one more unit.

    Args:
        before: Judgement after the previous unit; `Judgement()` at first.
        values: One value per unit since the last start or reload, the new one last, finite, `[n]`.
        rule: Smallest changes that matter.
        room: Amount left until the end; None: unknown.
        near_units: Units within which the end of what others use too is near.
    """
    course = _course(values, rule.least_a_unit)
    growth = _growth(values, course)
    if before.is_open_alarm:
        return _alarmed(before, values, growth)
    units_left = np.inf
    if room is not None and growth.slope is not None:
        units_left = room / growth.slope.middle
    if growth.slope is None or (rule.is_of_all and units_left > near_units):
        if before.state is GrowthState.CLEARED:
            return Judgement(GrowthState.CLEARED, growth)
        is_known = len(values) > _TO_ALARM_NEAR
        return Judgement(GrowthState.STEADY if is_known else GrowthState.MEASURING, growth)
    needed = _TO_ALARM_NEAR if units_left <= NEAR_UNITS else _TO_ALARM_FAR
    earlier = values[: growth.first]
    is_highest = not len(earlier) or bool(values[-1] > earlier.max())
    is_enough = course.n_additions >= needed and course.sizes.sum() >= rule.least_in_all
    if is_enough and is_highest:
        return Judgement(GrowthState.GROWING, growth, alarmed_units=1)
    return Judgement(GrowthState.RISING, growth)


def _alarmed(before: Judgement, values: Floats, growth: Growth) -> Judgement:
    now = replace(before, alarmed_units=before.alarmed_units + 1)
    if growth.slope is not None:
        return replace(now, state=GrowthState.GROWING, growth=growth, in_a_row=0)
    against = before.in_a_row + 1
    if _has_fallen(values) or against >= _TO_CLEAR:
        return Judgement(GrowthState.CLEARED, replace(growth, why_not=WhyNot.STOPPED))
    return replace(now, in_a_row=against)


def _has_fallen(values: Floats) -> bool:
    """True if the last unit gave back half of the rise, or several of the additions before it.

    One addition may be a pool that was started beside them.
    """
    if len(values) < 2 or values[-1] >= values[-2]:  # noqa: PLR2004
        return False
    rise = float(values.max() - values.min())
    falls = np.flatnonzero(np.diff(values[:-1]) < 0.0)
    tooth = values[int(falls[-1]) + 1 if len(falls) else 0 : -1]
    given_back = len(np.unique(tooth[tooth > values[-1]]))
    return bool(values[-1] <= values[-2] - _FALLEN * rise) or given_back >= _GIVEN_BACK


@dataclass(frozen=True, slots=True)
class _Course:
    """Additions since the count last fell.

    Attributes:
        at: Index of the unit of each addition, rising, `[k]`.
        sizes: Size of each addition, `[k]`.
        n_units: Number of all units.
    """

    at: Floats
    sizes: Floats
    n_units: int

    @property
    def n_additions(self) -> int:
        """Number of units that added something.

        A unit that was not read shows no change: one of twice the size after it is of both.
        """
        if not len(self.sizes):
            return 0
        gaps = np.diff(self.at, prepend=self.at[0] - 1.0)
        return int(np.minimum((self.sizes / self.sizes.min()).round(), gaps).sum())

    @property
    def goes_on(self) -> bool:
        """True if additions are about even, and come as often as before.

        A checkpoint may be written every fifth epoch only, and a disk read every second one.
        """
        if len(self.sizes) < _SAID_AFTER:
            return False
        lately = self.sizes[-_LATELY:]
        least = _EVEN * median(lately)
        gaps = np.diff(self.at)[-_LATELY:]
        since = self.n_units - 1 - self.at[-1]
        return bool(lately.min() >= least) and bool(since <= gaps.max())


def _course(values: Floats, least: float) -> _Course:
    added = np.diff(values)
    falls = np.flatnonzero(added <= -least)
    begin = int(falls[-1]) + 1 if len(falls) else 0
    at = np.flatnonzero(added[begin:] >= least) + begin
    return _Course((at + 1).astype(np.float64), added[at], len(values))


def _growth(values: Floats, course: _Course) -> Growth:
    """The last additions as a window with their change per unit."""
    last = len(values) - 1
    if not course.goes_on:
        return Growth(WhyNot.NO_TREND, max(0, last - 1), last)
    sizes = course.sizes[-_LATELY:]
    first = int(course.at[-len(sizes)]) - 1
    # The units between two additions count; those before the first and behind the last do not.
    gaps = np.diff(course.at[-len(sizes) :])
    per_addition = 1.0 / float(gaps.mean())
    slope = Slope(
        *(per_addition * float(end) for end in (np.mean(sizes), sizes.min(), sizes.max()))
    )
    return Growth(None, first, last, float(values[last] - values[first]), slope)


def units_to_end(growth: Growth, room: float) -> tuple[float, float, float]:
    """Number of units until the end is met: most likely, earliest, latest.

    Args:
        room: Amount left until the end.
    """
    slope = growth.slope or Slope(0.0, 0.0, 0.0)
    low = min(slope.low, (1.0 - _LEAST_BAND) * slope.middle)
    high = max(slope.high, (1.0 + _LEAST_BAND) * slope.middle)
    return room / slope.middle, room / high, room / max(low, 1e-9)


_CAUSES: Final[dict[str, tuple[Cause, tuple[Remedy, ...]]]] = {
    "file": (Cause.FILES, (Remedy.CLOSE_FILES,)),
    "socket": (Cause.FILES, (Remedy.CLOSE_SOCKETS,)),
    "pipe": (Cause.FILES, (Remedy.CLOSE_PIPES,)),
    "shared_memory": (Cause.FILES, (Remedy.UNLINK_BLOCKS, Remedy.SHARE_LESS)),
    "thread": (Cause.THREADS, (Remedy.POOL_ONCE,)),
    "child": (Cause.PROCESSES, (Remedy.FEWER_WORKERS, Remedy.WAIT_FOR_CHILDREN)),
    "zombie": (Cause.ZOMBIES, (Remedy.WAIT_FOR_CHILDREN,)),
    "block": (Cause.BLOCKS, (Remedy.UNLINK_BLOCKS, Remedy.SHARE_LESS)),
}
_OF_METRICS: Final[dict[VerdictMetric, tuple[Cause, tuple[Remedy, ...]]]] = {
    "open_files": (Cause.FILES, (Remedy.CLOSE_FILES,)),
    "threads": _CAUSES["thread"],
    "processes": _CAUSES["child"],
    "shared_memory": _CAUSES["block"],
    "disk": (Cause.DISK, (Remedy.FREE_SPACE,)),
    "temp_disk": (Cause.DISK, (Remedy.FREE_SPACE,)),
}


def near_with_saves(near_units: float, units: Sequence[Unit]) -> float:
    """Units within which the end of what others use too is near; more if the run saves files."""
    saves = any(unit.times.get("checkpoints") for unit in units[-_SAVED_LATELY:])
    return max(near_units, NEAR_UNITS) if saves else near_units


def _scaled(slope: Slope, part: float) -> Slope:
    return Slope(part * slope.middle, part * slope.low, part * slope.high)


def explain_open_count(
    metric: VerdictMetric,
    judgement: Judgement,
    units: Sequence[Unit],
    tables: Sequence[ResourcesNamed],
    *,
    uses_torch: bool,
) -> GrowthExplanation | None:
    """Cause of a count that is growing, by the names of the judged units.

    None before: a pool that warms up is no fault, and needs no advice.

    Args:
        units: Units in which it was measured, to which the indices of the judgement refer.
        tables: See `explain_count`.
        uses_torch: See `explain_count`.
    """
    growth = judgement.growth
    if growth is None or not judgement.is_open_alarm:
        return None
    window = units[growth.first :]
    earlier = sum(table.t_s <= unit.ended_s for unit in window[:1] for table in tables)
    within = tables[max(0, earlier - 1) :]
    if len(within) < _FEWEST_TABLES:
        within = tables
    saves = any(unit.times.get("checkpoints") for unit in window)
    return explain_count(metric, growth, within, saves=saves, uses_torch=uses_torch)


def explain_count(
    metric: VerdictMetric,
    growth: Growth,
    tables: Sequence[ResourcesNamed],
    *,
    saves: bool = False,
    uses_torch: bool = True,
) -> GrowthExplanation:
    """Kind and name with the largest growth of a count, and the remedy.

    Threads of native libraries come last, and without one: pools grow with the work they have.

    Args:
        tables: Names and counts, some units apart, the newest last; fewer than two: unknown.
        saves: True if the run saved checkpoints meanwhile: a disk's space is everybody's.
        uses_torch: False if it is known that the process has no PyTorch, whose workers share
            memory.
    """
    cause, advice = _OF_METRICS[metric]
    if saves and metric == "disk":
        advice = (Remedy.FEWER_CHECKPOINTS, *advice)
    grown = grown_names(tables)
    named, count = next(iter(grown.items()), (None, 0))
    if named is None or growth.slope is None:
        return GrowthExplanation(cause, Confidence.COUNTED, advice=_known(advice, uses_torch))
    cause, advice = _CAUSES.get(named.kind, (cause, advice))
    advice = _known(advice, uses_torch)
    if _is_native(named):
        advice = ()
    part = count / sum(grown.values())
    kind = CounterKind.NAMED_BYTES if named.kind == "block" else CounterKind.NAMED
    because = CounterGrowth(kind, _scaled(growth.slope, part), named.name or named.kind)
    function = named.name or None
    return GrowthExplanation(cause, Confidence.COUNTED, (because,), function, advice)


def _known(advice: tuple[Remedy, ...], uses_torch: bool) -> tuple[Remedy, ...]:  # noqa: FBT001
    if uses_torch or Remedy.SHARE_LESS not in advice:
        return advice
    others = (each for each in advice if each is not Remedy.SHARE_LESS)
    return tuple(others) or (Remedy.UNLINK_BLOCKS,)


def grown_names(tables: Sequence[ResourcesNamed]) -> dict[NamedResource, int]:
    """Names that have become more numerous, and by how much; the one to report first.

    The kind with the largest growth comes first, even where its names differ. Names that have not
    grown in the later half of the tables have stopped, as descriptors that a framework opens at
    its start. Threads of kmonitor are not reported.
    """
    if len(tables) < _FEWEST_TABLES:
        return {}
    first, middle = (
        {(each.kind, each.name): each.count for each in table}
        for table in (tables[0].named, tables[(len(tables) - 1) // 2].named)
    )
    foreign = [each for each in tables[-1].named if not _is_own(each)]
    more = {each: each.count - first.get((each.kind, each.name), 0) for each in foreign}
    more = {each: count for each, count in more.items() if count > 0}
    lately = (each for each in more if each.count > middle.get((each.kind, each.name), 0))
    more = {each: more[each] for each in lately} or more
    by_kind = Counter[str]()
    for each, count in more.items():
        by_kind[each.kind] += count
    order = sorted(more, key=lambda each: (_is_native(each), -by_kind[each.kind], -more[each]))
    return {each: more[each] for each in order}


_FEWEST_TABLES: Final = 2
_OWN_THREADS: Final = ("kmonitor", "ZMQbg")
_INTERPRETER: Final = "python"


def _is_own(named: NamedResource) -> bool:
    return named.kind == "thread" and named.name.startswith(_OWN_THREADS)


def _is_native(named: NamedResource) -> bool:
    """True for threads of TensorFlow, and of libraries that leave them the process's name.

    Threads that Python started have names in Python.
    """
    name = named.name
    is_unnamed = name.rstrip(".*0123456789") == _INTERPRETER
    return named.kind == "thread" and (name.startswith("tf_") or is_unnamed)
