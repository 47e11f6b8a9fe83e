"""The gap beside a panel, by which the panel is made wider or higher."""

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override


class PanelEdge(QWidget):
    """Takes a drag, and a double-click for the usual size.

    Signals (main thread):
        dragged: Pixels to the right or down since the pointer was pressed.
        let_go: The drag has ended.
        reset_requested: The usual size is wanted.
    """

    dragged = Signal(int)
    let_go = Signal()
    reset_requested = Signal()

    def __init__(self, *, is_upright: bool, px: int, name: str) -> None:
        """As wide, or as high, as the gap.

        Args:
            is_upright: Whether it is dragged to the right and left; else up and down.
            px: The gap, pixels.
            name: What a drag does; also the tooltip.
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
            self.let_go.emit()

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        del event
        self.reset_requested.emit()
