"""How a host and a run look in the tree."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget
from typing_extensions import override

from kmonitor.ui.run_tree.qt.run_tree_model import ROW_ROLE
from kmonitor.ui.run_tree.run_tree import HostRow, RunRow
from kmonitor.ui.theme.qt.icons import icon_pixmap
from kmonitor.ui.theme.qt.theme import Look
from kmonitor.ui.theme.theme import SIZES

_HOST_HEIGHT = 34
_RUN_HEIGHT = 52
_BAR_WIDTH = 44
_INDENT = 16


class RunRowDelegate(QStyledItemDelegate):
    """Paints `HostRow` and `RunRow`."""

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look

    @override
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        is_host = isinstance(index.data(ROW_ROLE), HostRow)
        return QSize(120, _HOST_HEIGHT if is_host else _RUN_HEIGHT)

    @override
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row = index.data(ROW_ROLE)
        area: QRect = option.rect  # type: ignore[attr-defined]
        state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, HostRow):
            self._paint_host(painter, area, row)
        elif isinstance(row, RunRow):
            self._paint_back(painter, area, state)
            self._paint_run(painter, area.adjusted(_INDENT * row.depth, 0, 0, 0), row)
        painter.restore()

    def _paint_host(self, painter: QPainter, area: QRect, row: HostRow) -> None:
        colours = self._look.palette
        is_lost = row.tone == "crit"
        tint = colours.tone(row.tone) if is_lost else colours.mute
        scale = painter.device().devicePixelRatioF()
        icon = icon_pixmap("unplug" if is_lost else "host", tint, 15, scale)
        painter.drawPixmap(area.left() + 2, area.center().y() - 7, icon)
        _set_font(painter, SIZES.meta_px)
        note_width = painter.fontMetrics().horizontalAdvance(row.note)
        note_area = area.adjusted(area.width() - note_width - 4, 0, 0, 0)
        self._text(painter, note_area, row.note, row.tone, elide=Qt.TextElideMode.ElideNone)
        name_area = area.adjusted(25, 0, -note_width - 12, 0)
        _set_font(painter, SIZES.body_px, QFont.Weight.DemiBold)
        self._text(painter, name_area, row.host, "sub" if is_lost else "text")

    def _paint_back(self, painter: QPainter, area: QRect, state: QStyle.StateFlag) -> None:
        colours = self._look.palette
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        is_hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        if not is_selected and not is_hovered:
            return
        colour = _from_rgba(colours.accent, 0.16) if is_selected else QColor(colours.raised)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        box = QRectF(area).adjusted(0, 1, 0, -1)
        painter.drawRoundedRect(box, 8, 8)
        if is_selected:
            painter.setBrush(QColor(colours.accent))
            painter.drawRoundedRect(
                QRectF(box.left(), box.top() + 12, 3, box.height() - 24), 1.5, 1.5
            )

    def _paint_run(self, painter: QPainter, area: QRect, row: RunRow) -> None:
        colours = self._look.palette
        scale = painter.device().devicePixelRatioF()
        if row.hue is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.series[row.hue]))
            painter.drawRoundedRect(QRectF(area.left() + 12, area.top() + 13, 9, 9), 2.5, 2.5)
        else:
            icon = icon_pixmap(row.state.icon, colours.mute, 12, scale)
            painter.drawPixmap(area.left() + 11, area.top() + 12, icon)
        name_area = QRect(area.left() + 30, area.top() + 7, area.width() - 38, 20)
        if row.mark:
            mark = icon_pixmap("warning", colours.tone("crit"), 13, scale)
            painter.drawPixmap(area.right() - 22, area.top() + 10, mark)
            name_area.setWidth(name_area.width() - 18)
        _set_font(painter, SIZES.control_px, QFont.Weight.Medium)
        self._text(painter, name_area, row.name, "sub" if row.is_pale else "text")
        self._paint_line(painter, area, row)

    def _paint_line(self, painter: QPainter, area: QRect, row: RunRow) -> None:
        colours = self._look.palette
        left = area.left() + 30
        if row.state.tone in ("warn", "crit", "accent"):
            scale = painter.device().devicePixelRatioF()
            icon = icon_pixmap(row.state.icon, colours.tone(row.state.tone), 12, scale)
            painter.drawPixmap(left, area.top() + 30, icon)
            left += 17
        tone = row.state.tone if row.state.tone in ("warn", "crit", "accent") else "mute"
        _set_font(painter, SIZES.meta_px)
        room = area.right() - left - 9
        text_width = painter.fontMetrics().horizontalAdvance(row.line)
        # The bar gives way: it draws what the words say.
        has_bar = row.fraction is not None and text_width <= room - _BAR_WIDTH - 9
        line_area = QRect(left, area.top() + 26, room - (_BAR_WIDTH + 9) * has_bar, 18)
        self._text(painter, line_area, row.line, tone, elide=Qt.TextElideMode.ElideRight)
        if row.fraction is None or not has_bar:
            return
        bar = QRectF(area.right() - _BAR_WIDTH - 9, area.top() + 33, _BAR_WIDTH, 4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.border))
        painter.drawRoundedRect(bar, 2, 2)
        hue = colours.series[row.hue] if row.hue is not None else colours.mute
        painter.setBrush(QColor(hue))
        painter.drawRoundedRect(
            QRectF(bar.left(), bar.top(), max(4.0, bar.width() * row.fraction), 4), 2, 2
        )

    def _text(
        self,
        painter: QPainter,
        area: QRect,
        text: str,
        colour: str,
        *,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
    ) -> None:
        painter.setPen(QColor(getattr(self._look.palette, colour)))
        shown = painter.fontMetrics().elidedText(text, elide, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)


def _set_font(painter: QPainter, size_px: int, weight: QFont.Weight = QFont.Weight.Normal) -> None:
    font = QFont(painter.font())
    font.setPixelSize(size_px)
    font.setWeight(weight)
    painter.setFont(font)


def _from_rgba(colour: str, alpha: float) -> QColor:
    result = QColor(colour)
    result.setAlphaF(alpha)
    return result
