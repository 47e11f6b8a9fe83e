"""Ticks of a chart's axes and their texts: one unit, few digits."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kmonitor.ui.text.formats import (
    NARROW_SPACE,
    Unit,
    byte_step,
    byte_unit,
    count_text,
    number_text,
    unit_bytes,
)
from kmonitor.ui.text.language import tr

if TYPE_CHECKING:  # that module brings numpy along, which the window's shell starts without
    from kmonitor.ui.plots.chart_state import XKind

MOST_CHARTED: Final = 1e100
"""Largest drawn number; larger ones are treated as infinity, hence not drawn."""

AIR_PX: Final = 26
"""Room above the limit line for its label and the flags, pixels."""

_TOP_AIR_PX: Final = 14
_PX_A_TICK: Final = 38
_PX_AN_X_TICK: Final = 76
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_WHOLE_STEPS: Final = (1.0, 2.0, 5.0, 10.0)
_COUNTED: Final = ("operations", "functions", "count")
_SUFFIXED: Final = (*_COUNTED, "number")
_FIXED: Final[dict[Unit, tuple[float, str]]] = {
    "fraction": (0.01, "%"),
    "celsius": (1.0, "\u00b0C"),
    "watts": (1.0, "W"),
    "hertz": (1e9, "GHz"),
}
_MOST_DECIMALS: Final = 4
_SMALL_COUNT: Final = 5000.0
_STARTS_ABOVE_ZERO_FROM: Final = 0.6
_NOTHING_PART: Final = 1e-6
_FINEST: Final = 1e-12
"""Smallest fraction of a value that can be distinguished on an axis."""

_NO_NUMBER: Final = 1e-100
"""Smallest span of plain numbers: a learning rate or a loss may be very small."""
_DURATION_STEPS_S: Final = (
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0),
    *(3600.0, 7200.0, 10800.0, 21600.0, 43200.0, 86400.0),
)
_LEAST_LOG_PX: Final = 15.0
"""Least distance from 1 to 2 of a decade for labels at both, pixels."""

_LEAST_LOG_TICKS: Final = 2
_MINUTE_S: Final = 60.0
_HOUR_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis, ready to draw.

    Attributes:
        lo: Value at the start.
        hi: Value at the end.
        ticks: Marked values, rising.
        texts: One text per tick.
        unit: Unit of all texts; empty where the texts include it or none is needed.
        quantum: A round step of about a thousandth of the axis; drags round to it.
    """

    lo: float
    hi: float
    ticks: tuple[float, ...]
    texts: tuple[str, ...]
    unit: str = ""
    quantum: float = 0.0


def value_axis(
    lowest: float, highest: float, *, unit: Unit, height_px: float, limit: float | None = None
) -> Axis:
    """Return the vertical axis for values and a limit.

    The axis starts at 0 unless the values move only in the upper part (from 60% on). Then it
    starts below the values, or their movement would be invisible. The end is rounded, so that the
    axis stays the same while the values change slowly.

    Args:
        lowest: Least value shown.
        highest: Largest value shown.
        height_px: Height of the plot, pixels.
        limit: Value of a limit line, which gets `AIR_PX` above it.
    """
    least, top = (lowest, highest) if limit is None else (min(lowest, limit), max(highest, limit))
    nothing = _NO_NUMBER if unit == "number" else _least_span(unit) * _NOTHING_PART
    lo = _start(least, top, nothing=nothing)
    room = max(height_px, 4.0 * AIR_PX)
    hi = lo + (top - lo) * room / (room - _TOP_AIR_PX)
    if limit is not None:
        hi = max(hi, lo + (limit - lo) * room / (room - AIR_PX))
    # A large number needs a large addition, or the addition is rounded away.
    if hi - lo < max(nothing, _FINEST * max(abs(lo), abs(hi))):
        hi = lo + max(_least_span(unit), 1e3 * _FINEST * abs(lo))
    quarter = _value_step(lo, hi, unit=unit, height_px=height_px) / 4.0
    return axis_between(lo, math.ceil(hi / quarter) * quarter, unit=unit, height_px=height_px)


def axis_between(lo: float, hi: float, *, unit: Unit, height_px: float) -> Axis:
    """The vertical axis exactly from `lo` to `hi`."""
    scale, name = _scale(unit, hi)
    step = _value_step(lo, hi, unit=unit, height_px=height_px)
    ticks = _multiples(step, lo, hi)
    suffix = name if unit in _SUFFIXED else ""
    return Axis(
        lo=lo,
        hi=hi,
        ticks=ticks,
        texts=tuple(_value_text(tick / scale, step / scale, suffix) for tick in ticks),
        unit="" if suffix else name,
        quantum=_nice((hi - lo) / scale / 500.0) * scale,
    )


def log_axis(lowest: float, highest: float, *, height_px: float) -> Axis:
    """Return the vertical axis of values whose decadic logarithms are drawn.

    Args:
        lowest: Least logarithm shown.
        highest: Largest logarithm shown.
        height_px: Height of the plot, pixels.
    """
    air = max(highest - lowest, 0.2) * 0.08
    lo = lowest - air
    hi = highest + air
    decades = range(math.floor(lo), math.ceil(hi) + 1)
    decade_px = height_px / (hi - lo)
    steps = (1.0, 2.0, 5.0) if decade_px * math.log10(2.0) >= _LEAST_LOG_PX else (1.0,)
    every = max(1, math.ceil(_PX_A_TICK / decade_px))
    wanted = [
        decade + math.log10(part) for decade in decades if decade % every == 0 for part in steps
    ]
    ticks = tuple(tick for tick in wanted if lo <= tick <= hi)
    if len(ticks) < _LEAST_LOG_TICKS:
        ticks = tuple(math.log10(tick) for tick in _ticks_within(10.0**lo, 10.0**hi, height_px))
    return Axis(lo, hi, ticks, tuple(number_text(10.0**tick) for tick in ticks))


def _ticks_within(lo: float, hi: float, height_px: float) -> tuple[float, ...]:
    ticks = axis_between(lo, hi, unit="number", height_px=height_px).ticks
    return tuple(tick for tick in ticks if tick > 0.0)


def x_axis(kind: "XKind", lo: float, hi: float, *, width_px: float) -> Axis:
    """The horizontal axis, with the unit only at the first tick after 0."""
    per_tick = (hi - lo) * _PX_AN_X_TICK / max(width_px, 1.0)
    if kind != "seconds":
        step = max(1.0, _nice(per_tick, _WHOLE_STEPS))
        ticks = _multiples(step, lo, hi)
        texts = [count_text(tick) for tick in ticks]
        if not ticks and hi > lo:
            # Zoomed into one epoch: parts of it say where.
            step = _nice(per_tick)
            ticks = _multiples(step, lo, hi)
            texts = [_value_text(tick, step, "") for tick in ticks]
        named_text = tr("epoch {n}") if kind == "epochs" else tr("model {n}")
    else:
        step = next((s for s in _DURATION_STEPS_S if s >= per_tick), 0.0) or (
            _nice(per_tick / _DURATION_STEPS_S[-1]) * _DURATION_STEPS_S[-1]
        )
        ticks = _multiples(step, lo, hi)
        texts, unit = _duration_texts(ticks, step)
        named_text = f"{{n}}{NARROW_SPACE}{unit}"
    named = next((i for i, tick in enumerate(ticks) if tick > 0.0), None)
    if named is not None:
        texts[named] = named_text.format(n=texts[named])
    return Axis(lo=lo, hi=hi, ticks=ticks, texts=tuple(texts))


def _start(least: float, top: float, *, nothing: float) -> float:
    if least < 0.0 or top <= nothing:
        return min(least, 0.0)
    if least < _STARTS_ABOVE_ZERO_FROM * top:
        return 0.0
    span = max(top - least, 0.02 * top)
    below = max(0.0, least - 0.75 * span)
    grain = _nice(span / 4.0)
    return math.floor(below / grain) * grain


def _least_span(unit: Unit) -> float:
    spans = {"bytes": 4.0 * byte_step() ** 2, "seconds": 1e-3, "number": 1.0, "fraction": 1.0}
    return spans.get(unit, 4.0)


def _scale(unit: Unit, hi: float) -> tuple[float, str]:
    """Size of the unit that suits the axis' end, and the unit's name or suffix."""
    if unit == "bytes":
        name = byte_unit(hi)
        return unit_bytes(name), name
    if unit == "seconds":
        scales = ((1.0, "s"), (1e-3, "ms"), (1e-6, "\u00b5s"))
        return next((s for s in scales if hi >= s[0]), scales[-1])
    if unit in _FIXED:
        return _FIXED[unit]
    scales = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
    return next((s for s in scales if hi > _SMALL_COUNT * s[0] / 1e3), (1.0, ""))


def _value_step(lo: float, hi: float, *, unit: Unit, height_px: float) -> float:
    scale, _ = _scale(unit, hi)
    least = (hi - lo) / scale * _PX_A_TICK / max(height_px, 2.0 * _PX_A_TICK)
    if scale == 1.0 and unit in _COUNTED:
        return max(1.0, _nice(least, _WHOLE_STEPS))
    return _nice(least) * scale


def _nice(least: float, steps: tuple[float, ...] = _STEPS) -> float:
    """The smallest round number that is not below `least` (above 0)."""
    power = 10.0 ** math.floor(math.log10(least))
    # The last candidate catches a logarithm that was rounded down.
    return next(s * power for s in (*steps, 20.0) if s * power >= least * (1 - 1e-9))


def _multiples(step: float, lo: float, hi: float) -> tuple[float, ...]:
    grace = step * 1e-6
    first = math.ceil((lo - grace) / step)
    last = math.floor((hi + grace) / step)
    return tuple(i * step for i in range(first, last + 1))


def _value_text(value: float, step: float, suffix: str) -> str:
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if not math.isclose(step, round(step, decimals)):
        decimals += 1
    if value == 0:
        return "0"
    if decimals > _MOST_DECIMALS:
        text = f"{value:.3g}"
    else:
        text = count_text(value) if decimals == 0 else f"{value:.{decimals}f}"
    return f"{text}{suffix}".replace("-", "\u2212")


def _duration_texts(ticks: tuple[float, ...], step: float) -> tuple[list[str], str]:
    """Texts in one unit, and that unit; "1:30" in minutes or hours where steps are smaller."""
    longest = ticks[-1] if ticks else 0.0
    if longest < 2 * _MINUTE_S:
        return [count_text(tick) for tick in ticks], "s"
    unit_s, name = (_MINUTE_S, "min") if longest < 2 * _HOUR_S else (_HOUR_S, "h")
    if step >= unit_s:
        return [count_text(tick / unit_s) for tick in ticks], name
    minutes_and_rest = [divmod(round(tick * 60 / unit_s), 60) for tick in ticks]
    return [
        f"{whole}:{rest:02d}" if whole or rest else "0" for whole, rest in minutes_and_rest
    ], name
