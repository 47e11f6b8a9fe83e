"""A table whose rows have the hub's numbers: only what came or went is told to the view."""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


class Numbered(Protocol):
    """A row that the hub has numbered."""

    @property
    def row(self) -> int:
        """The hub's row id."""
        ...


RowT = TypeVar("RowT", bound=Numbered)


class RowsByNumber(QAbstractTableModel, Generic[RowT]):
    """A table ordered by the hub's row id, falling; only the words of a row change."""

    def __init__(self, n_columns: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[RowT] = []
        self._n_columns = n_columns

    def show_rows(self, rows: Sequence[RowT]) -> bool:
        """Become these rows, newest first; returns whether anything is told otherwise now."""
        if list(rows) == self._rows:
            return False
        wanted = {row.row for row in rows}
        for at in range(len(self._rows) - 1, -1, -1):
            if self._rows[at].row not in wanted:
                self.beginRemoveRows(NOWHERE, at, at)
                del self._rows[at]
                self.endRemoveRows()
        for at, row in enumerate(rows):
            if at >= len(self._rows) or self._rows[at].row != row.row:
                self.beginInsertRows(NOWHERE, at, at)
                self._rows.insert(at, row)
                self.endInsertRows()
            elif self._rows[at] != row:
                self._rows[at] = row
                self.dataChanged.emit(self.index(at, 0), self.index(at, self._n_columns - 1))
        return True

    def retranslate(self) -> None:
        """Say the heads in the language in force; rows come with `show_rows`."""
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self._n_columns - 1)

    def rows(self) -> Sequence[RowT]:
        """What is shown, newest first."""
        return self._rows

    @override
    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else self._n_columns
