"""The rows of the reclaim table as a table model, newest first."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from kmonitor.presenters.reclaim_table import ColumnPicture, ReclaimRow, columns

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `ReclaimRow` of an index."""

SORT_ROLE = Qt.ItemDataRole.UserRole + 2
"""What a cell is sorted by."""

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class ReclaimModel(QAbstractTableModel):
    """A table ordered by the hub's row id, falling."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[ReclaimRow] = []
        self._columns: tuple[ColumnPicture, ...] = columns()

    def show_rows(self, rows: Sequence[ReclaimRow]) -> None:
        """Become these rows; only what came or went is told to the view."""
        wanted = {row.row for row in rows}
        for at in range(len(self._rows) - 1, -1, -1):
            if self._rows[at].row not in wanted:
                self.beginRemoveRows(_NOWHERE, at, at)
                del self._rows[at]
                self.endRemoveRows()
        for at, row in enumerate(rows):
            if at >= len(self._rows) or self._rows[at].row != row.row:
                self.beginInsertRows(_NOWHERE, at, at)
                self._rows.insert(at, row)
                self.endInsertRows()

    def rows(self) -> Sequence[ReclaimRow]:
        """What is shown, newest first."""
        return self._rows

    def place_of(self, row: int) -> int | None:
        """Where the record with this hub row id stands; None if it is not there."""
        return next((at for at, each in enumerate(self._rows) if each.row == row), None)

    @override
    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._columns)

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self._columns):
            return None
        column = self._columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tooltip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _side(column)
        return None

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row, column = self._rows[index.row()], self._columns[index.column()]
        return row if role == ROW_ROLE else _told(row, column, index.column(), role)


def _told(row: ReclaimRow, column: ColumnPicture, at: int, role: int) -> Any:
    """What a cell says for a role; None for the others."""
    cell = row.cells[at]
    match role:
        case Qt.ItemDataRole.DisplayRole:
            return cell.text
        case Qt.ItemDataRole.ToolTipRole:
            return cell.tooltip or row.tooltip
        case Qt.ItemDataRole.AccessibleTextRole:
            return f"{column.title}: {cell.tooltip or cell.text}"
        case Qt.ItemDataRole.TextAlignmentRole:
            return _side(column)
        case _:
            return cell.order if role == SORT_ROLE else None


def _side(column: ColumnPicture) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
