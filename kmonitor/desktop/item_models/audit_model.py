"""What was done through a hub, as a table model, newest first."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from kmonitor.presenters.audit import AuditLine, columns

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class AuditModel(QAbstractTableModel):
    """A table ordered by the hub's number, falling; a row never changes."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[AuditLine] = []
        self._columns = columns()

    def show_lines(self, lines: Sequence[AuditLine]) -> None:
        """Become these lines; only what came or went is told to the view."""
        wanted = {line.row for line in lines}
        for at in range(len(self._lines) - 1, -1, -1):
            if self._lines[at].row not in wanted:
                self.beginRemoveRows(_NOWHERE, at, at)
                del self._lines[at]
                self.endRemoveRows()
        for at, line in enumerate(lines):
            if at >= len(self._lines) or self._lines[at].row != line.row:
                self.beginInsertRows(_NOWHERE, at, at)
                self._lines.insert(at, line)
                self.endInsertRows()

    @override
    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._lines)

    @override
    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._columns)

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
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._lines):
            return None
        line = self._lines[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return line.cells[index.column()]
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self._columns[index.column()]}: {line.cells[index.column()]}"
            case Qt.ItemDataRole.ToolTipRole:
                return line.tooltip
            case _:
                return None
