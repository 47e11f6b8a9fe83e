"""The rows of the event log as a model of one column, newest first."""

from collections.abc import Hashable
from typing import Any

from PySide6.QtCore import QObject, Qt
from typing_extensions import override

from kmonitor.ui.events.event_log import LogRow
from kmonitor.ui.widgets.rows_by_number import Index, RowsByNumber

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `LogRow` of an index."""


class EventLogModel(RowsByNumber[LogRow]):
    """Lines of the log."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(1, parent)

    @override
    def key_of(self, row: LogRow) -> Hashable:
        return row.key

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
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
