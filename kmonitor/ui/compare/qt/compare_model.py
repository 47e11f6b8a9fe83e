"""The difference table as a table model: quantities down, runs across."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QIcon
from typing_extensions import override

from kmonitor.ui.compare.compare_state import CompareCell, CompareRow

CELL_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `CompareCell` of an index; of the first column, the row's title as one."""

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class CompareModel(QAbstractTableModel):
    """Rows are told by their titles, columns by their runs; at most six of them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[CompareRow] = []
        self._heads: list[tuple[str, QIcon]] = []

    def show_rows(self, rows: Sequence[CompareRow], heads: Sequence[tuple[str, QIcon]]) -> None:
        """Become this table.

        Args:
            rows: Quantities.
            heads: Name and swatch of each run.
        """
        titles = [row.title for row in rows]
        same_form = titles == [row.title for row in self._rows] and len(heads) == len(self._heads)
        if not same_form:
            # Another table: which runs or which rows is only changed by the user.
            self.beginResetModel()
        self._rows, self._heads = list(rows), list(heads)
        if not same_form:
            self.endResetModel()
        elif rows:
            last = self.index(len(rows) - 1, len(heads))
            self.dataChanged.emit(self.index(0, 0), last, [])
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(heads))

    def rows(self) -> Sequence[CompareRow]:
        """What is shown."""
        return self._rows

    def names(self) -> list[str]:
        """Names of the runs, from left to right."""
        return [name for name, _ in self._heads]

    @override
    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._heads) + 1

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        is_run = orientation == Qt.Orientation.Horizontal and 0 < section <= len(self._heads)
        if not is_run:
            return None
        name, icon = self._heads[section - 1]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.ToolTipRole:
                return name
            case Qt.ItemDataRole.DecorationRole:
                return icon
            case Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            case _:
                return None

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row, at = self._rows[index.row()], index.column()
        tone = "plain" if row.differs else "mute"
        cell = CompareCell(row.title, tone=tone) if at == 0 else row.cells[at - 1]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell.text
            case Qt.ItemDataRole.ToolTipRole:
                return "\n".join(part for part in (cell.text, cell.tooltip) if part)
            case Qt.ItemDataRole.AccessibleTextRole:
                return (
                    cell.text if at == 0 else f"{row.title}, {self.names()[at - 1]}: {cell.text}"
                )
            case Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            case _:
                return _shown(cell, row) if role == CELL_ROLE else None


def _shown(cell: CompareCell, row: CompareRow) -> CompareCell:
    """What is the same for all stands back."""
    if row.differs or cell.tone in {"warn", "crit"}:
        return cell
    return CompareCell(cell.text, cell.tooltip, "mute")
