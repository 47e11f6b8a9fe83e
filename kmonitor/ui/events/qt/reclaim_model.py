"""The rows of the reclaim table as a table model, newest first."""

from typing import Any

from PySide6.QtCore import QObject, Qt
from typing_extensions import override

from kmonitor.ui.events.reclaims import ColumnPicture, ReclaimRow, columns
from kmonitor.ui.widgets.column_heads import head_says, side
from kmonitor.ui.widgets.rows_by_number import Index, RowsByNumber

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `ReclaimRow` of an index."""

SORT_ROLE = Qt.ItemDataRole.UserRole + 2
"""What a cell is sorted by."""


class ReclaimModel(RowsByNumber[ReclaimRow]):
    """Rows of the reclaim table."""

    def __init__(self, parent: QObject | None = None) -> None:
        self._columns: tuple[ColumnPicture, ...] = columns()
        super().__init__(len(self._columns), parent)

    def place_of(self, row: int) -> int | None:
        """Where the record with this hub row id stands; None if it is not there."""
        return next((at for at, each in enumerate(self._rows) if each.row == row), None)

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        return head_says(self._columns, section, orientation, role)

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
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
            return side(column)
        case _:
            return cell.order if role == SORT_ROLE else None
