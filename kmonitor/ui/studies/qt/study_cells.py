"""How a try is painted in a study's ledger: its state with an icon, its time as a bar."""

from typing import Final

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionViewItem
from typing_extensions import override

from kmonitor.ui.studies.study_page import COLUMNS, LedgerRow, TimeBar
from kmonitor.ui.theme.palettes import Palette
from kmonitor.ui.widgets.row_table import CELL_PAD, CellDelegate, CellLook, Index
from kmonitor.ui.widgets.table_models import ROW_ROLE

_BAR_PX: Final = 3
_TIME: Final = COLUMNS.index("time")


class StudyDelegate(CellDelegate):
    """Paints cells as every table does, and below a time how much of the longest it is."""

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        row = index.data(ROW_ROLE)
        if isinstance(row, LedgerRow) and index.column() == _TIME and row.bar is not None:
            area = QRectF(option.rect)  # type: ignore[attr-defined]
            room = area.adjusted(CELL_PAD, 0, -CELL_PAD, 0)
            _paint_bar(painter, room, row, row.bar, self._look.palette)


def cell_of(index: Index, colours: Palette) -> CellLook | None:
    """What is painted at an index of the ledger."""
    row = index.data(ROW_ROLE)
    if not isinstance(row, LedgerRow):
        return None
    key, text = COLUMNS[index.column()], row.cells[index.column()]
    if key == "state":
        return CellLook(text, colours.tone(row.tone), row.icon)
    if key == "why":
        return CellLook(text, colours.sub)
    return CellLook(text, colours.text)


def _paint_bar(
    painter: QPainter, room: QRectF, row: LedgerRow, bar: TimeBar, colours: Palette
) -> None:
    painter.save()
    painter.setPen(Qt.PenStyle.NoPen)
    top = room.bottom() - _BAR_PX - 2
    if bar.forecast is not None:
        # An estimate is lighter than what was measured.
        ahead = QColor(colours.tone(row.tone))
        ahead.setAlphaF(0.35)
        painter.setBrush(ahead)
        painter.drawRect(QRectF(room.left(), top, room.width() * bar.forecast, _BAR_PX))
    painter.setBrush(QColor(colours.tone(row.tone)))
    painter.drawRect(QRectF(room.left(), top, max(1.0, room.width() * bar.done), _BAR_PX))
    if bar.limit is not None:
        painter.setPen(QPen(QColor(colours.crit), 1.5))
        x = room.left() + room.width() * bar.limit
        painter.drawLine(
            QRectF(x, top - 3, 0, _BAR_PX + 4).topLeft(),
            QRectF(x, top + _BAR_PX + 1, 0, 0).topLeft(),
        )
    painter.restore()
