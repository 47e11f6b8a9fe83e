"""Sizes of the panels around the charts, as the user left them or by default; and their edges."""

from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from kmonitor.ui.theme.palettes import SIZES

Side = Literal["left", "right", "below"]
EDGE_PX: Final = 6
_NARROW_BELOW: Final = 1200
_LOW_BELOW: Final = 800
_TABLE_FROM: Final = 640
"""Window height below which a table gets no more space than the log: charts need their axes."""

_LEAST_PX: Final[dict[Side, int]] = {"left": 160, "right": 220, "below": 96}
_MOST_PART: Final[dict[Side, float]] = {"left": 0.32, "right": 0.34, "below": 0.5}
_SIGNS: Final[dict[Side, int]] = {"left": 1, "right": -1, "below": -1}


@dataclass(frozen=True, slots=True)
class PanelExtents:
    """Current sizes of the panels, pixels."""

    left: int
    right: int
    below: int


class PanelSizes(QObject):
    """Holds the user's sizes, and computes each panel's size; main thread only.

    Signals:
        changed: The panels should be laid out again.
        settled: The user has released an edge.

    Attributes:
        edges: Draggable edges, by side.
    """

    changed = Signal()
    settled = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._chosen: dict[Side, int | None] = {"left": None, "right": None, "below": None}
        self._start_extents: dict[Side, int] = {}
        self.edges: dict[Side, PanelEdge] = {
            side: PanelEdge(
                is_upright=side != "below",
                px=SIZES.gutter if side == "below" else EDGE_PX,
                name=self._name(side),
            )
            for side in self._chosen
        }
        for side, edge in self.edges.items():
            edge.dragged.connect(partial(self._drag, side))
            edge.released.connect(self._end_drag, Qt.ConnectionType.DirectConnection)
            edge.reset_requested.connect(partial(self._reset, side))

    @property
    def is_low(self) -> bool:
        """True if the window has little height."""
        return self._window.height() < _LOW_BELOW

    def chosen(self, side: Side) -> int | None:
        """Size that the user chose, pixels; None: the default."""
        return self._chosen[side]

    def choose(self, side: Side, px: int | None) -> None:
        """Set a saved size; None: the default."""
        self._chosen[side] = px

    def extents(self, *, has_table: bool) -> PanelExtents:
        """Return the current sizes of the panels.

        Args:
            has_table: True if a table, which has a head, is shown below the charts.
        """
        is_narrow = self._window.width() < _NARROW_BELOW
        below = SIZES.events_low if self.is_low else SIZES.events
        if has_table and self._window.height() >= _TABLE_FROM:
            # A table has a head, and says less in three lines than a log does.
            below += SIZES.table_more
        return PanelExtents(
            self._due("left", SIZES.left_narrow if is_narrow else SIZES.left),
            self._due("right", SIZES.right_narrow if is_narrow else SIZES.right),
            self._due("below", below),
        )

    def _name(self, side: Side) -> str:
        match side:
            case "left":
                return self.tr(
                    "Drag to change the width of the run list; double-click to reset it"
                )
            case "right":
                return self.tr(
                    "Drag to change the width of the actions panel; double-click to reset it"
                )
            case "below":
                return self.tr(
                    "Drag to change the height of the events panel; double-click to reset it"
                )

    def _due(self, side: Side, usual: int) -> int:
        chosen = self._chosen[side]
        if chosen is None:
            return usual
        # A size that was chosen on a larger screen leaves room for the charts on this one.
        whole = self._window.height() if side == "below" else self._window.width()
        most = max(usual, int(whole * _MOST_PART[side]))
        return max(_LEAST_PX[side], min(chosen, most))

    def _drag(self, side: Side, moved: int) -> None:
        if side not in self._start_extents:
            current_extents = self.extents(has_table=False)
            self._start_extents[side] = self._chosen[side] or getattr(current_extents, side)
        self._chosen[side] = self._start_extents[side] + _SIGNS[side] * moved
        self._chosen[side] = self._due(side, _LEAST_PX[side])
        self.changed.emit()

    def _end_drag(self) -> None:
        self._start_extents.clear()
        self.settled.emit()

    def _reset(self, side: Side) -> None:
        self._chosen[side] = None
        self.changed.emit()
        self.settled.emit()


class PanelEdge(QWidget):
    """The gap beside a panel: can be dragged; a double-click restores the default size.

    Signals (main thread):
        dragged: Pixels to the right or down since the pointer was pressed.
        released: The drag has ended.
        reset_requested: The default size should be restored.
    """

    dragged = Signal(int)
    released = Signal()
    reset_requested = Signal()

    def __init__(self, *, is_upright: bool, px: int, name: str) -> None:
        """Create an edge as wide, or as high, as the gap.

        Args:
            is_upright: True if the edge is dragged to the left and right; else up and down.
            px: Width of the gap, pixels.
            name: Effect of a drag; also the tooltip.
        """
        super().__init__()
        self._is_upright = is_upright
        self._from: QPointF | None = None
        if is_upright:
            self.setFixedWidth(px)
        else:
            self.setFixedHeight(px)
        shapes = Qt.CursorShape
        self.setCursor(shapes.SplitHCursor if is_upright else shapes.SplitVCursor)
        self.setAccessibleName(name)
        self.setToolTip(name)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._from = event.globalPosition()

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._from is not None:
            moved = event.globalPosition() - self._from
            self.dragged.emit(round(moved.x() if self._is_upright else moved.y()))

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        del event
        if self._from is not None:
            self._from = None
            self.released.emit()

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        del event
        self.reset_requested.emit()
