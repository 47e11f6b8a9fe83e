"""The table of what was reclaimed, beside the event log."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.desktop.controls.look import Look, role_label
from kmonitor.desktop.icons import icon_pixmap
from kmonitor.desktop.item_models.reclaim_model import ROW_ROLE, SORT_ROLE, ReclaimModel
from kmonitor.desktop.theme import SIZES
from kmonitor.presenters.reclaim_table import ColumnKey, ReclaimRow, columns, table_text

_ROW_HEIGHT: Final = 27
_PAD: Final = 8
_ICON: Final = 22
_ARROW: Final = 14
"""Room for the arrow of the sorted column's head."""

_WIDEST: Final[dict[ColumnKey, int]] = {"level": 190, "held": 300, "result": 320, "asked": 170}
"""Most pixels for the columns of words; what is longer is elided, and whole under the pointer."""


class ReclaimTablePanel(QWidget):
    """One row a record, newest first until a head is clicked.

    Signals (main thread):
        record_opened: With the hub's row id of a record to be read in full.
    """

    record_opened = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._model = ReclaimModel(self)
        self._sorted = QSortFilterProxyModel(self)
        self._table = _Table()
        self._empty = role_label("sub")
        self._build()
        self._table.activated.connect(self._on_table_activated)
        self._table.copy_requested.connect(self._on_table_copy_requested)
        look.palette_changed.connect(self._on_look_palette_changed)

    def show_rows(self, rows: Sequence[ReclaimRow], empty_text: str) -> None:
        """Show these rows, or the text when there are none."""
        shown = [row.row for row in self._model.rows()]
        self._model.show_rows(rows)
        if shown != [row.row for row in rows]:
            self._fit_columns(rows)
        self._empty.setText(empty_text)
        self._empty.setVisible(not rows)
        self._table.setVisible(bool(rows))

    def choose(self, row: int) -> bool:
        """Select and show the record with this hub row id; False if it has no row."""
        at = self._model.place_of(row)
        if at is None:
            return False
        index = self._sorted.mapFromSource(self._model.index(at, 0))
        self._table.selectRow(index.row())
        self._table.scrollTo(index, QAbstractItemView.ScrollHint.EnsureVisible)
        self._table.setFocus(Qt.FocusReason.OtherFocusReason)
        return True

    def chosen(self) -> list[ReclaimRow]:
        """The selected rows, from top to bottom."""
        found = sorted(self._table.selectionModel().selectedRows(), key=_place)
        return [row for each in found if isinstance(row := each.data(ROW_ROLE), ReclaimRow)]

    def copy(self) -> str:
        """Put the selected rows, or else all, on the clipboard as text; returns it."""
        text = table_text(self.chosen() or self._shown())
        QGuiApplication.clipboard().setText(text)
        return text

    def _shown(self) -> list[ReclaimRow]:
        indexes = [self._sorted.index(at, 0) for at in range(self._sorted.rowCount())]
        return [row for each in indexes if isinstance(row := each.data(ROW_ROLE), ReclaimRow)]

    def _build(self) -> None:
        self._sorted.setSourceModel(self._model)
        self._sorted.setSortRole(SORT_ROLE)
        table = self._table
        table.setModel(self._sorted)
        table.setItemDelegate(_CellDelegate(self._look, table))
        table.setSortingEnabled(True)
        table.sortByColumn(0, Qt.SortOrder.DescendingOrder)
        table.setAccessibleName(self.tr("Reclaims"))
        table.setAccessibleDescription(
            self.tr("Enter shows a record in full, Ctrl+C copies the selected ones")
        )
        self._empty.setWordWrap(True)
        self._empty.setContentsMargins(0, 6, 8, 0)
        column_box = QVBoxLayout(self)
        column_box.setContentsMargins(0, 0, 0, 0)
        column_box.setSpacing(0)
        column_box.addWidget(self._empty)
        column_box.addWidget(table, 1)
        column_box.addStretch(0)

    def _fit_columns(self, rows: Sequence[ReclaimRow]) -> None:
        """Give each column the room of its widest text, unless the user has set widths."""
        head = self._table.horizontalHeader()
        metrics, head_metrics = QFontMetrics(self._font()), head.fontMetrics()
        for at, column in enumerate(columns()):
            widest = max(
                (metrics.horizontalAdvance(row.cells[at].text) for row in rows), default=0
            )
            widest += 2 * _PAD + (_ICON if column.key == "level" else 0) + 2
            least = head_metrics.horizontalAdvance(column.title) + 2 * _PAD + _ARROW
            width = max(least, min(widest, _WIDEST.get(column.key, widest)))
            if not self._table.is_sized(at):
                self._table.size_column(at, width)

    def _font(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(SIZES.body_px)
        return font

    @Slot(QModelIndex)
    def _on_table_activated(self, index: QModelIndex) -> None:
        row = index.data(ROW_ROLE)
        if isinstance(row, ReclaimRow):
            self.record_opened.emit(row.row)

    @Slot()
    def _on_table_copy_requested(self) -> None:
        self.copy()

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self._table.viewport().update()


class _Table(QTableView):
    """A table of whole rows whose Tab key leads on to the next control.

    Signals (main thread):
        copy_requested: Ctrl+C was pressed.
    """

    copy_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(_ROW_HEIGHT)
        self.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT)
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setMinimumSectionSize(40)
        head.setSectionsMovable(True)
        head.setStretchLastSection(True)
        self._sized: set[int] = set()
        self._is_sizing = False
        head.sectionResized.connect(self._on_head_section_resized)

    def size_column(self, at: int, width: int) -> None:
        """Give a column a width that the user may change."""
        self._is_sizing = True
        self.horizontalHeader().resizeSection(at, width)
        self._is_sizing = False

    def is_sized(self, at: int) -> bool:
        """Whether the user has given a column its width."""
        return at in self._sized

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
            event.accept()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            # Qt activates only the current cell, and on no platform the same key.
            if self.currentIndex().isValid():
                self.activated.emit(self.currentIndex())
            event.accept()
        else:
            super().keyPressEvent(event)

    @Slot(int, int, int)
    def _on_head_section_resized(self, at: int, before: int, after: int) -> None:
        del before, after
        # The last one is stretched by the view itself.
        if not self._is_sizing and at < self.model().columnCount() - 1:
            self._sized.add(at)


class _CellDelegate(QStyledItemDelegate):
    """Paints one cell in the theme's colours; the level's with its icon."""

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look

    @override
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row = index.data(ROW_ROLE)
        if not isinstance(row, ReclaimRow):
            return
        area = option.rect  # type: ignore[attr-defined]
        state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
        colours, cell = self._look.palette, row.cells[index.column()]
        painter.save()
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, QColor(colours.hover))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(area, QColor(colours.raised))
        box = area.adjusted(_PAD, 0, -_PAD, 0)
        if columns()[index.column()].key == "level":
            colour = colours.accent if row.ok else colours.warn
            icon = icon_pixmap(row.icon, colour, 14, painter.device().devicePixelRatioF())
            painter.drawPixmap(box.left(), box.center().y() - 6, icon)
            box.setLeft(box.left() + _ICON)
        font = QFont(painter.font())
        font.setPixelSize(SIZES.body_px)
        painter.setFont(font)
        tones = {"plain": colours.text, "mute": colours.mute, "warn": colours.warn}
        painter.setPen(QColor(tones[cell.tone]))
        shown = painter.fontMetrics().elidedText(
            cell.text, Qt.TextElideMode.ElideRight, box.width()
        )
        side = index.data(Qt.ItemDataRole.TextAlignmentRole)
        painter.drawText(box, int(side), shown)
        painter.restore()


def _place(index: QModelIndex) -> int:
    return index.row()
