"""Units whose numbers of steps differ, as if each had made as many.

An epoch of twice as many steps computes twice as long, and takes the process twice the processor
time: no step of it is slower.
"""

from collections.abc import Sequence
from dataclasses import replace

from kmonitor.hub.judge.slowness.parts import WITHIN_STEPS
from kmonitor.hub.judge.units import Unit


def steps_alone(units: Sequence[Unit]) -> list[Unit]:
    """The same, with what callbacks do between epochs as other work: no step is slower by it."""
    return with_even_steps([_with_callbacks_in_steps(unit) for unit in units])


def _with_callbacks_in_steps(unit: Unit) -> Unit:
    aside_s = sum(
        seconds - unit.callbacks_in_steps.get(each, seconds)
        for each, seconds in unit.callback_times.items()
        if each[0] == "callbacks"
    )
    if aside_s <= 0.0 or "callbacks" not in unit.times:
        return unit
    times = unit.times | {
        "callbacks": max(0.0, unit.times["callbacks"] - aside_s),
        "rest": unit.times.get("rest", 0.0) + aside_s,
    }
    return replace(unit, times=times, callback_times=unit.callbacks_in_steps)


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
    had_s = sum(unit.times.values())
    of_whole = sum(times.values()) / had_s if had_s > 0.0 else by
    callback_times = {
        each: seconds * (by if each[0] in WITHIN_STEPS else 1.0)
        for each, seconds in unit.callback_times.items()
    }
    return replace(
        unit,
        times=times,
        callback_times=callback_times,
        cpu_s=unit.cpu_s * of_whole,
        wall_s=unit.wall_s * of_whole,
    )


def _even(unit: Unit, name: str, by: float) -> float:
    once_s = unit.first_input_s if name == "input" else 0.0
    seconds = unit.times[name]
    return once_s + (seconds - once_s) * by if name in WITHIN_STEPS else seconds
