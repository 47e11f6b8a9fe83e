"""Table models: of text cells, and of rows numbered by the hub; and their heads.

`CellTableModel` gets titles and cells from its subclass; `NumberedRowModel` only stores rows.
"""

from abc import abstractmethod
from collections.abc import Collection, Hashable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""Role of the row at an index."""

RowT = TypeVar("RowT")


class CellTableModel(QAbstractTableModel, Generic[RowT]):
    """Base of table models with text cells; subclasses replace the displayed rows, `_rows`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[RowT] = []

    @abstractmethod
    def titles(self) -> Sequence[str]:
        """Heads of the columns."""

    @abstractmethod
    def n_columns(self) -> int:
        """Number of columns; called for every cell by views, so it builds no titles."""

    @abstractmethod
    def cells_of(self, row: RowT) -> Sequence[str]:
        """Texts in the order of the columns."""

    @abstractmethod
    def tooltip_of(self, row: RowT, column: int) -> str: ...

    @abstractmethod
    def is_number(self, column: int) -> bool:
        """True if a column's cells are aligned to the right."""

    def explained(self, column: int) -> str | None:
        """Explanation of a column, for its head; None if the title suffices."""
        del column
        return None

    def name_of(self, row: RowT) -> str:
        """Name of a row for screen readers."""
        return self.cells_of(row)[0]

    def rows(self) -> Sequence[RowT]:
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
                return cell_alignment(is_number=self.is_number(section))
            case _:
                return None

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        at = index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.cells_of(row)[at]
            case Qt.ItemDataRole.ToolTipRole:
                return self.tooltip_of(row, at)
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self.name_of(row)}, {self.titles()[at]}: {self.cells_of(row)[at]}"
            case Qt.ItemDataRole.TextAlignmentRole:
                return cell_alignment(is_number=self.is_number(at))
            case _:
                return row if role == ROW_ROLE else None

    def _emit_rows_changed(self, first: int, last: int) -> None:
        end = self.index(last, self.columnCount() - 1)
        self.dataChanged.emit(self.index(first, 0), end, [])


class TextTableModel(CellTableModel[tuple[str, ...]]):
    """Rows of cells under heads; some columns are aligned to the right."""

    def __init__(self, right: Sequence[int], parent: QObject | None = None) -> None:
        """Args: `right`: Columns that are aligned to the right."""
        super().__init__(parent)
        self._right = frozenset(right)
        self._heads: list[str] = []

    def show(self, heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        if (list(heads), list(rows)) == (self._heads, self._rows):
            return
        self.beginResetModel()
        self._heads = list(heads)
        self._rows = list(rows)
        self.endResetModel()

    @override
    def titles(self) -> Sequence[str]:
        return self._heads

    @override
    def n_columns(self) -> int:
        return len(self._heads)

    @override
    def cells_of(self, row: tuple[str, ...]) -> Sequence[str]:
        return row

    @override
    def tooltip_of(self, row: tuple[str, ...], column: int) -> str:
        return row[column]

    @override
    def is_number(self, column: int) -> bool:
        return column in self._right


class Numbered(Protocol):
    """A row numbered by the hub."""

    @property
    def row(self) -> int:
        """Row id from the hub."""
        ...


NumberedRowT = TypeVar("NumberedRowT", bound=Numbered)


class NumberedRowModel(QAbstractTableModel, Generic[NumberedRowT]):
    """A table in descending order of the hub's row id; only the texts of a row change."""

    def __init__(self, n_columns: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[NumberedRowT] = []
        self._n_columns = n_columns

    def show_rows(self, rows: Sequence[NumberedRowT]) -> bool:
        """Replace the rows, newest first; True if anything changed.

        Changes are reported to the view in blocks, because a table measures its columns for each
        change.
        """
        if list(rows) == self._rows:
            return False
        self._remove_others({self.key_of(row) for row in rows})
        self._insert_new(rows)
        self._renew(rows)
        return True

    def key_of(self, row: NumberedRowT) -> Hashable:
        """Key that distinguishes a row from all others."""
        return row.row

    def rows(self) -> Sequence[NumberedRowT]:
        """Displayed rows, newest first."""
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

    def _insert_new(self, rows: Sequence[NumberedRowT]) -> None:
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

    def _renew(self, rows: Sequence[NumberedRowT]) -> None:
        """Replace rows whose texts changed; a change of the language changes all of them."""
        changed = [at for at, row in enumerate(rows) if row != self._rows[at]]
        for at in changed:
            self._rows[at] = rows[at]
        if changed:
            last = self.index(changed[-1], self._n_columns - 1)
            self.dataChanged.emit(self.index(changed[0], 0), last)


class ColumnHead(Protocol):
    """A head as plain data."""

    @property
    def title(self) -> str:
        """Text above the column."""
        ...

    @property
    def tooltip(self) -> str: ...

    @property
    def is_number(self) -> bool:
        """True if the column's cells are aligned to the right."""
        ...


def column_header_data(
    heads: Sequence[ColumnHead], section: int, orientation: Qt.Orientation, role: int
) -> Any:
    """Return a model's `headerData`; None for other roles and beyond the columns."""
    if orientation != Qt.Orientation.Horizontal or section >= len(heads):
        return None
    head = heads[section]
    match role:
        case Qt.ItemDataRole.DisplayRole:
            return head.title
        case Qt.ItemDataRole.ToolTipRole:
            return head.tooltip
        case Qt.ItemDataRole.TextAlignmentRole:
            return column_alignment(head)
        case _:
            return None


def column_alignment(head: ColumnHead) -> Qt.AlignmentFlag:
    return cell_alignment(is_number=head.is_number)


def cell_alignment(*, is_number: bool) -> Qt.AlignmentFlag:
    """Return the alignment of a cell: numbers to the right, texts to the left."""
    found = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
    return found | Qt.AlignmentFlag.AlignVCenter
