"""The rows of the event log as a list model, newest first."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from kmonitor.presenters.event_log import LogRow

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `LogRow` of an index."""

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class EventLogModel(QAbstractListModel):
    """A list ordered by time, falling."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[LogRow] = []

    def show_rows(self, rows: Sequence[LogRow]) -> None:
        """Become these rows; only what came or went is told to the view."""
        wanted = {row.key for row in rows}
        end = len(self._rows)
        while end > 0:
            start = end - 1
            if self._rows[start].key in wanted:
                end = start
                continue
            while start > 0 and self._rows[start - 1].key not in wanted:
                start -= 1
            self.beginRemoveRows(_NOWHERE, start, end - 1)
            del self._rows[start:end]
            self.endRemoveRows()
            end = start
        self._insert_new(rows)
        self._renew(rows)

    @override
    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{row.time} {row.run_name}: {row.line.text}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{row.time} \u00b7 {row.run_name}\n{row.line.text}"
        return None

    def _renew(self, rows: Sequence[LogRow]) -> None:
        """Take rows that say something else; with another language all of them do."""
        changed = [at for at, row in enumerate(rows) if row is not self._rows[at]]
        for at in changed:
            self._rows[at] = rows[at]
        if changed:
            self.dataChanged.emit(self.index(changed[0], 0), self.index(changed[-1], 0))

    def _insert_new(self, rows: Sequence[LogRow]) -> None:
        at = 0
        while at < len(rows):
            if at < len(self._rows) and self._rows[at].key == rows[at].key:
                at += 1
                continue
            end = at
            known = self._rows[at].key if at < len(self._rows) else None
            while end < len(rows) and rows[end].key != known:
                end += 1
            self.beginInsertRows(_NOWHERE, at, end - 1)
            self._rows[at:at] = rows[at:end]
            self.endInsertRows()
            at = end
