"""Positions of labels so that none covers another: plain geometry in pixels."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from kmonitor.ui.plots.chart_state import CurveState, FlagState
from kmonitor.ui.plots.layout import PlotFrame

Span = tuple[float, float]
"""Start and end along one direction, pixels."""

_LABEL_GAP_PX: Final = 4.0
_FLAG_PADDING_PX: Final = 10.0
DOT_PX: Final = 5.0
"""Least distance from the middle of a run's newest dot to a label."""


@dataclass(frozen=True, slots=True)
class FlagPosition:
    """Position of a flag and its label, pixels.

    Attributes:
        x: Position of the flag's pole.
        left: Left edge of the label.
        width: Width of the label; 0: no room, only the pole is drawn.
    """

    x: float
    left: float
    width: float

    @property
    def span(self) -> Span:
        """Left and right edge of the label."""
        return self.left, self.left + self.width


def place_flags(
    flags: Iterable[FlagState], frame: PlotFrame, text_width: Callable[[str], float]
) -> list[tuple[FlagState, FlagPosition]]:
    """Return the visible flags with their positions; quiet flags get only a pole.

    Args:
        flags: Flags, rising in x.
        text_width: Returns the width of a label's text, pixels.
    """
    seen = [flag for flag in flags if frame.x_lo <= flag.x <= frame.x_hi]
    loud = [flag for flag in seen if not flag.is_quiet]
    labelled = iter(
        flag_positions(
            [frame.x_px(flag.x) for flag in loud],
            [text_width(flag.text) + _FLAG_PADDING_PX for flag in loud],
            (frame.left, frame.right),
        )
    )
    poles = ((flag, frame.x_px(flag.x)) for flag in seen)
    return [
        (flag, FlagPosition(x, x, 0.0) if flag.is_quiet else next(labelled)) for flag, x in poles
    ]


def flag_positions(
    xs: Sequence[float], widths: Sequence[float], within: Span
) -> list[FlagPosition]:
    """One position per flag, in the same order; where two collide, the later flag keeps its label.

    A label is right of its pole, or left of the pole where it would otherwise leave the plot or
    cover the label of a later flag.
    """
    positions: list[FlagPosition] = []
    occupied: list[Span] = []
    for x, width in zip(reversed(xs), reversed(widths), strict=True):
        sides = [(x, x + width), (x - width, x)]
        free = [s for s in sides if _is_within(s, within) and not _meets(s, occupied)]
        if free:
            occupied.append(free[0])
        positions.append(FlagPosition(x, free[0][0], width) if free else FlagPosition(x, x, 0.0))
    return positions[::-1]


def spread_labels(ys: Sequence[float], *, apart: float, within: Span) -> list[float | None]:
    """Return heights near the wanted ones, at least `apart` from each other.

    Args:
        ys: Wanted heights.
        apart: Least distance.
        within: Least and largest height.

    Returns:
        One height per wanted height, in the same order; None for the last ones if there is no
        room.
    """
    room = max(0, int((within[1] - within[0]) / apart) + 1)
    indices = sorted(range(min(len(ys), room)), key=lambda i: ys[i])
    placed: list[float | None] = [None] * len(ys)
    least = within[0]
    for i in indices:
        least = max(ys[i], least)
        placed[i] = least
        least += apart
    most = within[1]
    for i in reversed(indices):
        height = placed[i]
        placed[i] = most = min(height if height is not None else most, most)
        most -= apart
    return placed


def clear_of_dots(
    y: float,
    across: Span,
    dots: Sequence[tuple[float, float]],
    *,
    within: Span,
    occupied: Sequence[float] = (),
    apart: float = 13.0,
) -> float:
    """Height nearest to the wanted one where a name covers no dot; else the wanted height.

    Args:
        y: Wanted height of the name's middle.
        across: Left and right edge of the name.
        dots: x and y of each dot.
        within: Least and largest height.
        occupied: Heights of other names, and of lines.
        apart: Height of a name.
    """
    reach = apart / 2 + DOT_PX
    ahead = [at for x, at in dots if across[0] - DOT_PX <= x <= across[1] + DOT_PX]
    near = (height for at in ahead for height in (at - reach, at + reach))
    for height in (y, *sorted(near, key=lambda each: abs(each - y))):
        is_free = all(abs(height - at) >= reach for at in ahead)
        is_free = is_free and all(abs(height - other) >= apart for other in occupied)
        if is_free and within[0] <= height <= within[1]:
            return height
    return y


def ahead_of_flags(
    x: float, width: float, within: Span, flags: Sequence[FlagPosition]
) -> Span | None:
    """Left and right edge of a label that ends or begins at `x` and covers no flag.

    Without flags in its line, a label that is too wide for both sides is shortened on its left.
    None if flags leave no room.

    Args:
        x: Where the label ends, or else begins; beyond `within`, its right edge.
        width: Width of the label.
        within: Least left and largest right edge.
        flags: Flags in the label's line.
    """
    x = min(x, within[1])
    occupied = [flag.span for flag in flags if flag.width]
    sides = ((x - width, x), (x, x + width))
    free = [side for side in sides if _is_within(side, within) and not _meets(side, occupied)]
    if free:
        return free[0]
    return None if occupied else (max(x - width, within[0]), x)


def free_left(width: float, within: Span, occupied: Sequence[Span]) -> float | None:
    """Left edge of the leftmost free space for a label, or None if there is none."""
    left = within[0]
    for span in sorted(occupied):
        if left + width + _LABEL_GAP_PX <= span[0]:
            break
        left = max(left, span[1] + _LABEL_GAP_PX)
    return left if left + width <= within[1] else None


def spans_in_band(curve: CurveState, frame: PlotFrame, band: Span) -> list[Span]:
    """Return the horizontal start and end of each part of a curve in a band, pixels.

    Args:
        band: Upper and lower edge, pixels.
    """
    if len(curve.x) < 2:  # noqa: PLR2004 - a line has two ends
        return []
    x = frame.left + (curve.x - frame.x_lo) / (frame.x_hi - frame.x_lo) * frame.width
    y = frame.bottom - (curve.y - frame.y_lo) / (frame.y_hi - frame.y_lo) * frame.height
    upper = np.minimum(y[:-1], y[1:])
    lower = np.maximum(y[:-1], y[1:])
    # Where a value is missing neither holds.
    meets = (upper <= band[1]) & (lower >= band[0])
    edges = np.flatnonzero(np.diff(np.concatenate(([False], meets, [False]))))
    return [(float(x[a]), float(x[b])) for a, b in list(pairwise(edges))[::2]]


def _is_within(span: Span, within: Span) -> bool:
    return within[0] <= span[0] and span[1] <= within[1]


def _meets(span: Span, occupied: Sequence[Span]) -> bool:
    return any(span[0] < other[1] + 2.0 and other[0] < span[1] + 2.0 for other in occupied)
