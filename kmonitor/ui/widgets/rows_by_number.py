"""A table whose rows have the hub's numbers: only what came or went is told to the view."""

from collections.abc import Collection, Hashable, Sequence
from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex
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
        """Become these rows, newest first; returns whether anything is told otherwise now.

        What came, went or changed is told to the view in blocks: a table measures its columns anew
        each time.
        """
        if list(rows) == self._rows:
            return False
        self._remove_others({self.key_of(row) for row in rows})
        self._insert_new(rows)
        self._renew(rows)
        return True

    def key_of(self, row: RowT) -> Hashable:
        """What tells a row from all others."""
        return row.row

    def rows(self) -> Sequence[RowT]:
        """What is shown, newest first."""
        return self._rows

    @override
    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else self._n_columns

    def _remove_others(self, wanted: Collection[Hashable]) -> None:
        end = len(self._rows)
        while end > 0:
            start = end - 1
            if self.key_of(self._rows[start]) in wanted:
                end = start
                continue
            while start > 0 and self.key_of(self._rows[start - 1]) not in wanted:
                start -= 1
            self.beginRemoveRows(NOWHERE, start, end - 1)
            del self._rows[start:end]
            self.endRemoveRows()
            end = start

    def _insert_new(self, rows: Sequence[RowT]) -> None:
        at = 0
        while at < len(rows):
            known = self.key_of(self._rows[at]) if at < len(self._rows) else None
            if known == self.key_of(rows[at]):
                at += 1
                continue
            end = at
            while end < len(rows) and self.key_of(rows[end]) != known:
                end += 1
            self.beginInsertRows(NOWHERE, at, end - 1)
            self._rows[at:at] = rows[at:end]
            self.endInsertRows()
            at = end

    def _renew(self, rows: Sequence[RowT]) -> None:
        """Take rows that say something else; with another language all of them do."""
        changed = [at for at, row in enumerate(rows) if row != self._rows[at]]
        for at in changed:
            self._rows[at] = rows[at]
        if changed:
            last = self.index(changed[-1], self._n_columns - 1)
            self.dataChanged.emit(self.index(changed[0], 0), last)
