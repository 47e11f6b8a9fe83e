"""Labels: an elided line of text, and a legend."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from kmonitor.ui.theme.palettes import SIZES
from kmonitor.ui.theme.qt.theme import Theme

_FEWEST_LETTERS = 4
_BETWEEN = " \u00b7 "


class ElidedLabel(QLabel):
    """Shows as much as fits; the full text is its name and, if it is cut, starts its tooltip.

    Args:
        role: Role in the style sheet.
        at_end: Cut at the end instead of in the middle.
        takes_room: Take all available space, instead of only the width of the text.
        elides_parts: Leave out whole parts, separated by dots, from the end first.
    """

    def __init__(
        self,
        role: str,
        text: str = "",
        parent: QWidget | None = None,
        *,
        at_end: bool = False,
        takes_room: bool = True,
        elides_parts: bool = False,
    ) -> None:
        super().__init__(parent)
        self.setProperty("role", role)
        self.setTextFormat(Qt.TextFormat.PlainText)
        wide = QSizePolicy.Policy.Ignored if takes_room else QSizePolicy.Policy.Maximum
        self.setSizePolicy(wide, QSizePolicy.Policy.Fixed)
        self._mode = Qt.TextElideMode.ElideRight if at_end else Qt.TextElideMode.ElideMiddle
        self._elides_parts = elides_parts
        self._brief = ""
        self.setText(text)

    @override
    def setText(self, text: str) -> None:
        if text != self.text():
            super().setText(text)
            self.setAccessibleName(text)

    def set_brief(self, text: str) -> None:
        """Set the text to show if the full text does not fit; empty: cut the full text."""
        if text != self._brief:
            self._brief = text
            self.update()

    def shown_text(self) -> str:
        """Visible part of the text; empty if it would consist mostly of an ellipsis."""
        width = self.contentsRect().width()
        text = self.text()
        metrics = self.fontMetrics()
        shown = metrics.elidedText(text, self._mode, width)
        if self._brief and shown != text and metrics.horizontalAdvance(self._brief) <= width:
            return self._brief
        if self._elides_parts and shown != text:
            parts = text.split(_BETWEEN)
            led = (_BETWEEN.join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
            return next((each for each in led if metrics.horizontalAdvance(each) <= width), shown)
        return shown if shown == self.text() or len(shown) >= _FEWEST_LETTERS else ""

    def full_tooltip(self) -> str:
        """Tooltip, preceded by the full text if that is cut."""
        whole = self.text() if self.shown_text() != self.text() else ""
        return "\n".join(part for part in (whole, self.toolTip()) if part)

    @override
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.full_tooltip(), self)
            return True
        return super().event(event)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(24, self.fontMetrics().height() + 2)

    @override
    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(self.text()) + 4
        return QSize(width, self.fontMetrics().height() + 2)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self.font())
        painter.setPen(self.palette().windowText().color())
        flags = self.alignment() | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.contentsRect(), flags, self.shown_text())


_SPOT_PX = 10
_GAP_PX = 14
_LINE_PX = 17


class LegendRow(QWidget):
    """Coloured dots with texts; wraps into lines if there is too little room."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._entries: tuple[tuple[str, int], ...] = ()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    def show_entries(self, entries: Sequence[tuple[str, int]]) -> None:
        """Show these texts with these hues; below 0: unused memory."""
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self.setAccessibleName(", ".join(title for title, _ in entries))
            self.updateGeometry()
            self.update()

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        boxes = self._entry_boxes(width)
        return boxes[-1].bottom() + 1 if boxes else 0

    @override
    def sizeHint(self) -> QSize:
        return QSize(120, self.heightForWidth(max(self.width(), 120)))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font())
        colours = self._theme.palette
        for (title, hue), box in zip(self._entries, self._entry_boxes(self.width()), strict=True):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.raised if hue < 0 else colours.series[hue]))
            painter.drawRoundedRect(box.left(), box.top() + 4, _SPOT_PX, _SPOT_PX, 3, 3)
            painter.setPen(QColor(colours.sub))
            text_box = box.adjusted(_SPOT_PX + 5, 0, 4, 0)
            painter.drawText(text_box, Qt.AlignmentFlag.AlignVCenter, title)
        painter.end()

    def _font(self) -> QFont:
        font = self.font()
        font.setPixelSize(SIZES.meta_px)
        return font

    def _entry_boxes(self, width: int) -> list[QRect]:
        metrics = QFontMetrics(self._font())
        boxes: list[QRect] = []
        x = y = 0
        for title, _ in self._entries:
            wide = _SPOT_PX + 5 + metrics.horizontalAdvance(title)
            if x and x + wide > width:
                x = 0
                y = y + _LINE_PX
            boxes.append(QRect(x, y, wide, _LINE_PX))
            x += wide + _GAP_PX
        return boxes

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.update()
