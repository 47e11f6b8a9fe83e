"""The table of reclaims, a page beside the event log: view and model."""

from collections.abc import Sequence
from typing import Any, Final

from PySide6.QtCore import (
    QModelIndex,
    QObject,
    QSortFilterProxyModel,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QGuiApplication,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.events.reclaims import (
    ReclaimColumn,
    ReclaimColumnKey,
    ReclaimRow,
    reclaim_columns,
    reclaims_as_text,
)
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.row_table import (
    CELL_ICON,
    CELL_PAD,
    SORT_ARROW,
    CellDelegate,
    CellStyle,
    Index,
    RowTableView,
)
from kmonitor.ui.widgets.table_models import (
    ROW_ROLE,
    NumberedRowModel,
    column_alignment,
    column_header_data,
)

SORT_ROLE = Qt.ItemDataRole.UserRole + 2
"""The value to sort a cell by."""

_WIDEST: Final[dict[ReclaimColumnKey, int]] = {
    "level": 190,
    "held": 300,
    "result": 320,
    "asked": 170,
}
"""Widest text columns, pixels; longer text is elided, and complete in the tooltip."""


class ReclaimTablePanel(QWidget):
    """One row per record, newest first until a head is clicked.

    Signals (main thread):
        record_opened: The hub's row id of a record to show in full.
    """

    record_opened = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._model = ReclaimModel(self)
        self._sorted = QSortFilterProxyModel(self)
        self._table_view = RowTableView()
        self.empty_label = role_label("sub")
        self._build()
        self._table_view.activated.connect(self._on_table_activated)
        self._table_view.copy_requested.connect(self._on_table_copy_requested)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._set_texts()

    def _set_texts(self) -> None:
        self._table_view.setAccessibleName(self.tr("Reclaims"))
        self._table_view.setAccessibleDescription(
            self.tr("Enter shows the full record, and Ctrl+C copies the selected records")
        )

    def show_rows(self, rows: Sequence[ReclaimRow], empty_text: str) -> None:
        if self._model.show_rows(rows):
            self._fit_columns(rows)
        self.empty_label.setText(empty_text)
        self.empty_label.setVisible(not rows)
        self._table_view.setVisible(bool(rows))

    def choose(self, row: int) -> bool:
        """Select and show the record with this hub row id; False if it has no row."""
        at = self._model.index_of_row(row)
        if at is None:
            return False
        index = self._sorted.mapFromSource(self._model.index(at, 0))
        self._table_view.selectRow(index.row())
        self._table_view.scrollTo(index, QAbstractItemView.ScrollHint.EnsureVisible)
        self._table_view.setFocus(Qt.FocusReason.OtherFocusReason)
        return True

    def chosen(self) -> list[ReclaimRow]:
        """The selected rows, from top to bottom."""
        found = sorted(self._table_view.selectionModel().selectedRows(), key=_row_index)
        return [row for each in found if isinstance(row := each.data(ROW_ROLE), ReclaimRow)]

    def copy(self) -> str:
        """Copy the selected rows, or else all, to the clipboard; return the copied text."""
        text = reclaims_as_text(self.chosen() or self._shown())
        QGuiApplication.clipboard().setText(text)
        return text

    def _shown(self) -> list[ReclaimRow]:
        indexes = [self._sorted.index(at, 0) for at in range(self._sorted.rowCount())]
        return [row for each in indexes if isinstance(row := each.data(ROW_ROLE), ReclaimRow)]

    @property
    def table(self) -> RowTableView:
        """The table, whose column layout is saved."""
        return self._table_view

    def _build(self) -> None:
        self._sorted.setSourceModel(self._model)
        self._sorted.setSortRole(SORT_ROLE)
        table = self._table_view
        table.setModel(self._sorted)
        table.setItemDelegate(CellDelegate(self._theme, _cell_of, table))
        table.setSortingEnabled(True)
        table.sortByColumn(0, Qt.SortOrder.DescendingOrder)
        table.name_columns([column.key for column in reclaim_columns()])
        self.empty_label.setWordWrap(True)
        self.empty_label.setContentsMargins(0, 6, 8, 0)
        column_box = QVBoxLayout(self)
        column_box.setContentsMargins(0, 0, 0, 0)
        column_box.setSpacing(0)
        column_box.addWidget(self.empty_label)
        column_box.addWidget(table, 1)
        column_box.addStretch(0)

    def _fit_columns(self, rows: Sequence[ReclaimRow]) -> None:
        """Fit each column to its widest text, unless the user has set widths."""
        head = self._table_view.horizontalHeader()
        metrics = QFontMetrics(self._font())
        head_metrics = head.fontMetrics()
        for at, column in enumerate(reclaim_columns()):
            widest = max(
                (metrics.horizontalAdvance(row.cells[at].text) for row in rows), default=0
            )
            widest += 2 * CELL_PAD + (CELL_ICON if column.key == "level" else 0) + 2
            least = head_metrics.horizontalAdvance(column.title) + 2 * CELL_PAD + SORT_ARROW
            width = max(least, min(widest, _WIDEST.get(column.key, widest)))
            if not self._table_view.is_sized(at):
                self._table_view.size_column(at, width)

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
    def _on_theme_palette_changed(self) -> None:
        self._table_view.viewport().update()


def _cell_of(index: Index, colours: Palette) -> CellStyle | None:
    row = index.data(ROW_ROLE)
    if not isinstance(row, ReclaimRow):
        return None
    cell = row.cells[index.column()]
    icon = ("", "")
    if reclaim_columns()[index.column()].key == "level":
        icon = (row.icon, colours.accent if row.ok else colours.warn)
    tones = {"plain": colours.text, "mute": colours.mute, "warn": colours.warn}
    return CellStyle(cell.text, tones[cell.tone], *icon)


def _row_index(index: QModelIndex) -> int:
    return index.row()


class ReclaimModel(NumberedRowModel[ReclaimRow]):
    def __init__(self, parent: QObject | None = None) -> None:
        self._columns: tuple[ReclaimColumn, ...] = reclaim_columns()
        super().__init__(len(self._columns), parent)

    def index_of_row(self, row: int) -> int | None:
        """Index of the record with this hub row id; None if there is none."""
        return next((at for at, each in enumerate(self._rows) if each.row == row), None)

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        return column_header_data(self._columns, section, orientation, role)

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        column = self._columns[index.column()]
        return row if role == ROW_ROLE else _cell_data(row, column, index.column(), role)


def _cell_data(row: ReclaimRow, column: ReclaimColumn, at: int, role: int) -> Any:
    """Value of a cell for a role; None for roles without a value."""
    cell = row.cells[at]
    match role:
        case Qt.ItemDataRole.DisplayRole:
            return cell.text
        case Qt.ItemDataRole.ToolTipRole:
            return cell.tooltip or row.tooltip
        case Qt.ItemDataRole.AccessibleTextRole:
            return f"{column.title}: {cell.tooltip or cell.text}"
        case Qt.ItemDataRole.TextAlignmentRole:
            return column_alignment(column)
        case _:
            return cell.sort_value if role == SORT_ROLE else None
