"""The rows of the run history as a table model, already found and ordered."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from PySide6.QtCore import QAbstractTableModel, QObject, Qt
from typing_extensions import override

from kmonitor.ui.history.history_table import (
    HistoryCell,
    HistoryHead,
    history_cell,
    history_heads,
)
from kmonitor.ui.history.run_history import HistoryRow
from kmonitor.ui.widgets.table_models import (
    NOWHERE,
    Index,
    column_alignment,
    column_header_data,
)

CELL_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `HistoryCell` of an index."""

_ROWS_MOVE: Final = QAbstractTableModel.LayoutChangeHint.VerticalSortHint
_MANY_STRETCHES: Final = 16
"""Above this number, ranges of rows are inserted or removed as one range at the end, and sorted
from or to their positions: a view that is notified of a thousand ranges, and a selection that
splits with each, take seconds."""


class RunHistoryModel(QAbstractTableModel):
    """Texts of cells are made when they are painted: thousands of runs cost nothing before.

    Attributes:
        now_wall_s: Now, UTC; cells of living runs depend on it.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.now_wall_s = 0.0
        self._rows: list[HistoryRow] = []
        self._row_by_run: dict[str, int] = {}
        self._heads: tuple[HistoryHead, ...] = history_heads()

    def show_rows(self, rows: Sequence[HistoryRow]) -> None:
        """Replace the rows; signals which were removed, added and moved."""
        wanted = {row.run for row in rows}
        self._remove([at for at, row in enumerate(self._rows) if row.run not in wanted])
        known = {row.run for row in self._rows}
        self._reorder([row for row in rows if row.run in known])
        self._insert(rows, [at for at, row in enumerate(rows) if row.run not in known])
        self._row_by_run = {row.run: at for at, row in enumerate(self._rows)}

    def rows(self) -> Sequence[HistoryRow]:
        return self._rows

    def row_at(self, index: Index) -> HistoryRow | None:
        is_valid = index.isValid() and index.row() < len(self._rows)
        return self._rows[index.row()] if is_valid else None

    def index_of_run(self, run: str) -> int | None:
        return self._row_by_run.get(run)

    @override
    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._heads)

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        return column_header_data(self._heads, section, orientation, role)

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.row_at(index)
        if row is None:
            return None
        head = self._heads[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return column_alignment(head)
        return _cell_data(history_cell(row, head.key, now_wall_s=self.now_wall_s), head, role)

    def _remove(self, gone: Sequence[int]) -> None:
        stretches = _stretches(gone)
        if len(stretches) > _MANY_STRETCHES:
            left = set(gone)
            remaining = [row for at, row in enumerate(self._rows) if at not in left]
            self._put([*remaining, *(self._rows[at] for at in gone)])
            stretches = [(len(remaining), len(self._rows) - 1)]
        for first, last in reversed(stretches):
            self.beginRemoveRows(NOWHERE, first, last)
            del self._rows[first : last + 1]
            self.endRemoveRows()

    def _insert(self, rows: Sequence[HistoryRow], new: Sequence[int]) -> None:
        """Replace the rows; those at the indices `new` are inserted."""
        stretches = _stretches(new)
        if len(stretches) > _MANY_STRETCHES:
            n = len(self._rows)
            self.beginInsertRows(NOWHERE, n, n + len(new) - 1)
            self._rows.extend(rows[at] for at in new)
            self.endInsertRows()
            self._put(list(rows))
            return
        for first, last in stretches:
            self.beginInsertRows(NOWHERE, first, last)
            self._rows[first:first] = rows[first : last + 1]
            self.endInsertRows()

    def _reorder(self, rows: list[HistoryRow]) -> None:
        """Reorder the rows that stay; repaint those that changed."""
        if [row.run for row in rows] == [row.run for row in self._rows]:
            self._renew(rows)
        else:
            self._put(rows)

    def _put(self, rows: list[HistoryRow]) -> None:
        """Set another order of the same rows."""
        # The hint has a selection remember a place a row, not one a cell.
        _with_hint(self.layoutAboutToBeChanged).emit([], _ROWS_MOVE)
        before = self.persistentIndexList()
        runs = [self._rows[index.row()].run for index in before]
        self._rows = rows
        row_by_run = {row.run: at for at, row in enumerate(rows)}
        after = [
            self.createIndex(row_by_run[run], index.column())
            for run, index in zip(runs, before, strict=True)
        ]
        self.changePersistentIndexList(before, after)
        _with_hint(self.layoutChanged).emit([], _ROWS_MOVE)

    def _renew(self, rows: list[HistoryRow]) -> None:
        changed = [at for at, row in enumerate(rows) if row is not self._rows[at]]
        self._rows = rows
        for first, last in _stretches(changed):
            self.dataChanged.emit(
                self.index(first, 0), self.index(last, self.columnCount() - 1), []
            )


def _with_hint(signal: Any) -> Any:
    """Return the overload of a layout signal that carries a hint; the stubs lack that overload."""
    return signal["QList<QPersistentModelIndex>,QAbstractItemModel::LayoutChangeHint"]


def _cell_data(cell: HistoryCell, head: HistoryHead, role: int) -> Any:
    """A cell's value for a role; None for the others."""
    match role:
        case Qt.ItemDataRole.DisplayRole:
            return cell.text
        case Qt.ItemDataRole.ToolTipRole:
            return cell.tooltip or cell.text or None
        case Qt.ItemDataRole.AccessibleTextRole:
            return f"{head.title}: {cell.text}"
        case _:
            return cell if role == CELL_ROLE else None


def _stretches(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending indices as gapless ranges, from the first to the last index of each."""
    found: list[tuple[int, int]] = []
    for _, each in groupby(enumerate(indices), key=lambda pair: pair[1] - pair[0]):
        stretch = [index for _, index in each]
        found.append((stretch[0], stretch[-1]))
    return found
