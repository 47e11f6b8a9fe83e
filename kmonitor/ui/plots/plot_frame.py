"""Where a chart's plot lies in its picture, and how values become pixels and back."""

from dataclasses import dataclass

TOP_PX = 8.0
"""Above the plot: half a tick label."""

BOTTOM_PX = 22.0
"""Below the plot: one row of labels."""

RIGHT_PX = 4.0
"""Beside the plot."""


@dataclass(frozen=True, slots=True)
class PlotFrame:
    """One plot area and the ranges that it shows.

    Attributes:
        left, top, width, height: Of the plot in its picture, pixels.
        x_lo, x_hi: Horizontal range, room for names at the right included.
        y_lo, y_hi: Vertical range.
        data_width: Part of `width` that the picture's own range takes, pixels.
    """

    left: float
    top: float
    width: float
    height: float
    x_lo: float
    x_hi: float
    y_lo: float
    y_hi: float
    data_width: float

    @property
    def right(self) -> float:
        """Right edge, pixels."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Lower edge, pixels."""
        return self.top + self.height

    def x_px(self, x: float) -> float:
        """Where a value of the horizontal axis lies, pixels."""
        return self.left + (x - self.x_lo) / (self.x_hi - self.x_lo) * self.width

    def y_px(self, y: float) -> float:
        """Where a value of the vertical axis lies, pixels."""
        return self.bottom - (y - self.y_lo) / (self.y_hi - self.y_lo) * self.height

    def x_at(self, px: float) -> float:
        """The value of the horizontal axis at a pixel."""
        return self.x_lo + (px - self.left) / self.width * (self.x_hi - self.x_lo)

    def y_at(self, px: float) -> float:
        """The value of the vertical axis at a pixel, also beyond the plot."""
        return self.y_lo + (self.bottom - px) / self.height * (self.y_hi - self.y_lo)


def zoomed(span: tuple[float, float], *, around: float, factor: float) -> tuple[float, float]:
    """A range made `factor` times as wide, with `around` staying where it is."""
    lo, hi = span
    return around - (around - lo) * factor, around + (hi - around) * factor
