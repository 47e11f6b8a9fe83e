"""The value that a limit line has while somebody moves it; no Qt."""

from kmonitor.ui.plots.axes import AIR_PX
from kmonitor.ui.plots.plot_frame import PlotFrame


class LimitDrag:
    """One move of the limit line, by mouse or keys, from its start until it is dropped.

    The scale stays as it was at the start, or the line would run from under the pointer.

    Attributes:
        value: Where the line is now, in the chart's unit, rounded to `quantum`.
    """

    def __init__(self, frame: PlotFrame, value: float, *, quantum: float) -> None:
        self.value = value
        self._frame = frame
        self._quantum = quantum
        self._offset_px = 0.0

    def grab(self, y_px: float) -> None:
        """Take hold at this height; the line does not jump to the pointer."""
        line_px = min(max(self._frame.y_px(self.value), self._frame.top), self._frame.bottom)
        self._offset_px = line_px - y_px

    def move_to(self, y_px: float) -> None:
        """Follow the pointer, also beyond the top of the plot."""
        self._set(self._frame.y_at(y_px + self._offset_px))

    def step(self, n: int) -> None:
        """Move by `n` quanta."""
        self._set(self.value + n * self._quantum)

    def y_range(self) -> tuple[float, float]:
        """The range to show: that of the start, longer at the top if the line has left it."""
        frame = self._frame
        room = frame.height / max(frame.height - AIR_PX, 1.0)
        top = frame.y_lo + (self.value - frame.y_lo) * room
        return frame.y_lo, top if self.value > frame.y_hi else frame.y_hi

    def _set(self, value: float) -> None:
        # A limit at or below the axis' start could never be told from none.
        least = max(self._frame.y_lo, 0.0) + self._quantum
        self.value = max(least, round(value / self._quantum) * self._quantum)
