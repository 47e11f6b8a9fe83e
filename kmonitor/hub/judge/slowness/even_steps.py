"""Units whose numbers of steps differ, as if each had made as many.

An epoch of twice as many steps computes twice as long, and takes the process twice the processor
time: no step of it is slower.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kmonitor.hub.judge.slowness.parts import OF_STEPS
from kmonitor.hub.judge.units import Unit

_BY_STEPS: Final = OF_STEPS | {"compute"}


def steps_alone(units: Sequence[Unit]) -> list[Unit]:
    """The steps of the units, as many in each, without what comes once an epoch.

    That is the wait for the first batch, and what callbacks do between epochs.
    """
    return with_even_steps([_steps_of(unit) for unit in units])


def _steps_of(unit: Unit) -> Unit:
    times = {name: seconds for name, seconds in unit.times.items() if name in _BY_STEPS}
    if "input" in times:
        times["input"] = max(0.0, times["input"] - unit.first_input_s)
    callback_times = {
        each: unit.callbacks_in_steps.get(each, 0.0)
        for each in unit.callback_times
        if each[0] in _BY_STEPS
    }
    if "callbacks" in times:
        aside_s = sum(unit.callback_times[each] - in_s for each, in_s in callback_times.items())
        times["callbacks"] = max(0.0, times["callbacks"] - aside_s)
    return replace(_with_times(unit, times, callback_times), first_input_s=0.0)


def _with_times(
    unit: Unit, times: dict[str, float], callback_times: dict[tuple[str, str], float]
) -> Unit:
    had_s = sum(unit.times.values())
    of_whole = sum(times.values()) / had_s if had_s > 0.0 else 1.0
    return replace(
        unit,
        times=times,
        callback_times=callback_times,
        cpu_s=unit.cpu_s * of_whole,
        wall_s=unit.wall_s * of_whole,
    )


def with_even_steps(units: Sequence[Unit], steps: float | None = None) -> list[Unit]:
    """The units as if each had made as many steps, each as long as its own.

    Parts that come once an epoch take as long as they did. The processor time is assumed to be
    spread evenly over the time of the unit.

    Args:
        units: Measured units.
        steps: Number of steps; None: that of the newest unit.
    """
    steps = (units[-1].steps or 1) if steps is None else steps
    return [_as_of(unit, steps / unit.steps) if unit.steps else unit for unit in units]


def _as_of(unit: Unit, by: float) -> Unit:
    if by == 1.0:
        return unit
    times = {name: _even(unit, name, by) for name in unit.times}
    callback_times = {
        each: seconds * (by if each[0] in _BY_STEPS else 1.0)
        for each, seconds in unit.callback_times.items()
    }
    return _with_times(unit, times, callback_times)


def _even(unit: Unit, name: str, by: float) -> float:
    once_s = unit.first_input_s if name == "input" else 0.0
    seconds = unit.times[name]
    return once_s + (seconds - once_s) * by if name in _BY_STEPS else seconds
