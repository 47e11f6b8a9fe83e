"""Parts of the time of epochs: their durations by unit, and the part that grew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kmonitor.base.trend import median, theil_sen_slope
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import EPOCH_PARTS

HALF: Final = 0.5
"""Share of the growth that a part must explain."""

MOST_POINTS: Final = 60
"""Points of a window for its slope: 0.2 ms instead of 3 for 200."""

_BEYOND_COMPUTE: Final = 3.0
"""Factor by which a part must have grown more than computing: else everything is slower, by
something outside."""

OF_STEPS: Final = frozenset({"input", "callbacks", "compiling"})

WITHIN_STEPS: Final = OF_STEPS | {"compute"}

BETWEEN: Final = ("between_epochs", "between_fits")
"""Parts that are the script's own, and do not depend on the number of steps."""


_SOME_INPUT: Final = 0.25
"""Share of the growth from which the wait for Python's data is the reason of slower computing."""

_PYTHON_DATA: Final = frozenset({"generator", "pydataset"})
"""Kinds of data that are Python code."""


@dataclass(frozen=True, slots=True)
class PartOfTime:
    """A part that grew, or that takes most of the time.

    Attributes:
        name: Name of the part, as in `EpochParts`.
        share: Share of the growth, or of the time.
        callback: Class of the callback, if the part is one of callbacks.
        beside: Another part that takes longer because of it, whose growth is in the share.
    """

    name: str
    share: float
    callback: str = ""
    beside: str = ""


def has_input(units: Sequence[Unit]) -> bool:
    """True if the wait for input is known apart from computing."""
    return "input" in units[-1].times


def share_of(grown: Mapping[str, float], name: str) -> float:
    whole = sum(seconds for seconds in grown.values() if seconds > 0.0)
    return min(1.0, grown[name] / whole) if whole > 0.0 else 1.0


def grown_part(
    units: Sequence[Unit], first: int | None = None, names: Sequence[str] = EPOCH_PARTS
) -> PartOfTime | None:
    """The part that grew most, if it is at least half of the growth; None: unknown.

    Args:
        units: Measured units.
        first: First unit of a slower level; None: it grows from unit to unit.
        names: Names of the parts among which it is.
    """
    grown = {name: growth_of(seconds_of(units, name), first) for name in names}
    whole = sum(seconds for seconds in grown.values() if seconds > 0.0)
    name = max(grown, key=grown.__getitem__)
    if grown[name] < HALF * whole or whole <= 0.0 or not is_beyond(units, name, grown, first):
        return None
    return named_part(units, name, grown, class_of(units, name, first))


def named_part(
    units: Sequence[Unit], name: str, grown: Mapping[str, float], callback: str = ""
) -> PartOfTime:
    """The part with its share of the growth; the input instead of computing that waits for it.

    Python code of the data runs beside TensorFlow's steps, and computing waits for the
    interpreter's lock then: both grow, and it is the input that takes longer.
    """
    fit = units[-1].fit
    is_python = fit is not None and (fit.data_python or fit.data_kind in _PYTHON_DATA)
    share = share_of(grown, name)
    of_input = share_of(grown, "input") if "input" in grown else 0.0
    if name == "compute" and is_python and of_input >= _SOME_INPUT:
        return PartOfTime("input", min(1.0, share + of_input), beside=name)
    return PartOfTime(name, share, callback)


def class_of(units: Sequence[Unit], name: str, first: int | None) -> str:
    """The class of callbacks that grew most; empty where the part is none of callbacks."""
    named = {each for unit in units for each in unit.callback_times if each[0] == name}
    return largest(
        {
            each[1]: growth_of(
                np.array([unit.callback_times.get(each, 0.0) for unit in units]), first
            )
            for each in sorted(named)
        }
    )


def largest(amounts: Mapping[str, float]) -> str:
    return max(amounts, key=amounts.__getitem__, default="")


def seconds_of(units: Sequence[Unit], name: str) -> Floats:
    return np.array([unit.times.get(name, 0.0) for unit in units])


def without_first(units: Sequence[Unit], name: str) -> Floats:
    """Durations of a part; of the wait for input without that for the first batches of epochs."""
    seconds = seconds_of(units, name)
    if name != "input":
        return seconds
    return seconds - np.array([unit.first_input_s for unit in units])


def growth_of(seconds: Floats, first: int | None) -> float:
    if first is not None:
        return median(seconds[first:]) - median(seconds[1:first])
    x = np.arange(len(seconds), dtype=np.float64)
    return theil_sen_slope(x, seconds, max_points=MOST_POINTS) or 0.0


def is_beyond(
    units: Sequence[Unit], name: str, grown: Mapping[str, float], first: int | None = None
) -> bool:
    """True if it grew by a larger factor than computing did: a busy machine slows down everything.

    Args:
        units: Measured units.
        name: The part.
        grown: Growth of each part, seconds.
        first: First unit of a jump: factors are then relative to the time before it.
    """
    of = units if first is None else units[1:first]
    level, compute = (median(seconds_of(of, each)) for each in (name, "compute"))
    if name == "compute" or level <= 0.0 or compute <= 0.0:
        return True
    return grown[name] / level >= _BEYOND_COMPUTE * max(0.0, grown["compute"]) / compute
