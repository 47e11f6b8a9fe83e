"""What was done through a hub, as a table model, newest first."""

from typing import Any

from PySide6.QtCore import QObject, Qt
from typing_extensions import override

from kmonitor.ui.hosts.audit import AuditLine, columns
from kmonitor.ui.widgets.rows_by_number import Index, RowsByNumber


class AuditModel(RowsByNumber[AuditLine]):
    """Lines of the audit."""

    def __init__(self, parent: QObject | None = None) -> None:
        self._columns = columns()
        super().__init__(len(self._columns), parent)

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        is_ours = orientation == Qt.Orientation.Horizontal and section < len(self._columns)
        return self._columns[section] if is_ours and role == Qt.ItemDataRole.DisplayRole else None

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        line = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return line.cells[index.column()]
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self._columns[index.column()]}: {line.cells[index.column()]}"
            case Qt.ItemDataRole.ToolTipRole:
                return line.tooltip
            case _:
                return None
