"""The rows of the run history as a table model, already found and ordered."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from kmonitor.presenters.history_cells import (
    HistoryCell,
    HistoryHead,
    history_cell,
    history_heads,
)
from kmonitor.presenters.run_history import HistoryRow

CELL_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `HistoryCell` of an index."""

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class RunHistoryModel(QAbstractTableModel):
    """Cells are worded when they are painted: thousands of runs cost nothing until then.

    Attributes:
        now_wall_s: Now, UTC; what cells of living runs say depends on it.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.now_wall_s = 0.0
        self._rows: list[HistoryRow] = []
        self._places: dict[str, int] = {}
        self._heads: tuple[HistoryHead, ...] = history_heads()

    def show_rows(self, rows: Sequence[HistoryRow]) -> None:
        """Become these rows: what went and came is told to the view, and what moved."""
        wanted = {row.run for row in rows}
        gone = [at for at, row in enumerate(self._rows) if row.run not in wanted]
        for first, last in reversed(_stretches(gone)):
            self.beginRemoveRows(_NOWHERE, first, last)
            del self._rows[first : last + 1]
            self.endRemoveRows()
        known = {row.run for row in self._rows}
        self._reorder([row for row in rows if row.run in known])
        new = [at for at, row in enumerate(rows) if row.run not in known]
        for first, last in _stretches(new):
            self.beginInsertRows(_NOWHERE, first, last)
            self._rows[first:first] = rows[first : last + 1]
            self.endInsertRows()
        self._places = {row.run: at for at, row in enumerate(self._rows)}

    def rows(self) -> Sequence[HistoryRow]:
        """What is shown, from top to bottom."""
        return self._rows

    def row_at(self, index: _Index) -> HistoryRow | None:
        """The run of an index; None where there is none."""
        is_there = index.isValid() and index.row() < len(self._rows)
        return self._rows[index.row()] if is_there else None

    def place_of(self, run: str) -> int | None:
        """In which row a run stands; None: in none."""
        return self._places.get(run)

    @override
    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._heads)

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self._heads):
            return None
        head = self._heads[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return head.title
            case Qt.ItemDataRole.ToolTipRole:
                return head.tooltip
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(head)
            case _:
                return None

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.row_at(index)
        if row is None:
            return None
        head = self._heads[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _side(head)
        return _told(history_cell(row, head.key, now_wall_s=self.now_wall_s), head, role)

    def _reorder(self, rows: list[HistoryRow]) -> None:
        """Put the rows that stay in their new order; those that changed are drawn anew."""
        if [row.run for row in rows] == [row.run for row in self._rows]:
            self._renew(rows)
            return
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        runs = [self._rows[index.row()].run for index in before]
        self._rows = rows
        places = {row.run: at for at, row in enumerate(rows)}
        after = [
            self.index(places[run], index.column())
            for run, index in zip(runs, before, strict=True)
        ]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _renew(self, rows: list[HistoryRow]) -> None:
        changed = [at for at, row in enumerate(rows) if row is not self._rows[at]]
        self._rows = rows
        for first, last in _stretches(changed):
            self.dataChanged.emit(
                self.index(first, 0), self.index(last, self.columnCount() - 1), []
            )


def _told(cell: HistoryCell, head: HistoryHead, role: int) -> Any:
    """What a cell says for a role; None for the others."""
    match role:
        case Qt.ItemDataRole.DisplayRole:
            return cell.text
        case Qt.ItemDataRole.ToolTipRole:
            return cell.tooltip or cell.text or None
        case Qt.ItemDataRole.AccessibleTextRole:
            return f"{head.title}: {cell.text}"
        case _:
            return cell if role == CELL_ROLE else None


def _side(head: HistoryHead) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if head.is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _stretches(places: Sequence[int]) -> list[tuple[int, int]]:
    """Rising places as stretches without a gap, from the first to the last of each."""
    found: list[tuple[int, int]] = []
    for _, each in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        stretch = [place for _, place in each]
        found.append((stretch[0], stretch[-1]))
    return found
