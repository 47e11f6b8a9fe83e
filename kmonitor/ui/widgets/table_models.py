"""A table of texts: rows of cells below heads, read out as row, head and cell."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from kmonitor.ui.widgets.column_heads import standing

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""The row of an index, as it was shown."""

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
RowT = TypeVar("RowT")


class CellTable(QAbstractTableModel, Generic[RowT]):
    """What the tables share but for how they become other rows; `_rows` is what is shown."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[RowT] = []

    @abstractmethod
    def titles(self) -> Sequence[str]:
        """Heads of the columns."""

    @abstractmethod
    def n_columns(self) -> int:
        """How many there are; a view asks for it at every cell, so it says no titles."""

    @abstractmethod
    def cells_of(self, row: RowT) -> Sequence[str]:
        """Texts in the order of the columns."""

    @abstractmethod
    def tooltip_of(self, row: RowT, column: int) -> str:
        """What a cell says beside."""

    @abstractmethod
    def is_number(self, column: int) -> bool:
        """Whether a column's cells stand on the right."""

    def explained(self, column: int) -> str | None:
        """What a column is, for its head; None if the title says it."""
        del column
        return None

    def name_of(self, row: RowT) -> str:
        """How a row is called when it is read out."""
        return self.cells_of(row)[0]

    def rows(self) -> Sequence[RowT]:
        """What is shown."""
        return self._rows

    @override
    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else self.n_columns()

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.titles()[section]
            case Qt.ItemDataRole.ToolTipRole:
                return self.explained(section)
            case Qt.ItemDataRole.TextAlignmentRole:
                return standing(is_number=self.is_number(section))
            case _:
                return None

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row, at = self._rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.cells_of(row)[at]
            case Qt.ItemDataRole.ToolTipRole:
                return self.tooltip_of(row, at)
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self.name_of(row)}, {self.titles()[at]}: {self.cells_of(row)[at]}"
            case Qt.ItemDataRole.TextAlignmentRole:
                return standing(is_number=self.is_number(at))
            case _:
                return row if role == ROW_ROLE else None

    def _tell_changed(self, first: int, last: int) -> None:
        """Have the cells of these rows painted anew."""
        end = self.index(last, self.columnCount() - 1)
        self.dataChanged.emit(self.index(first, 0), end, [])
