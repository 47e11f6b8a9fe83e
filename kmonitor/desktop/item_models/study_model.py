"""A study's ledger as a table model: tries down."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from kmonitor.desktop.item_models.column_heads import standing
from kmonitor.presenters.study_page import COLUMNS, LedgerRow

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `LedgerRow` of an index."""

_TEXTS = ("attempt", "state", "time", "why")
_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class StudyModel(QAbstractTableModel):
    """Rows come and go where tries begin; those that stay are painted anew where they changed."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[LedgerRow] = []

    def show_rows(self, rows: Sequence[LedgerRow]) -> None:
        """Become this table."""
        before, n = self._rows, len(rows)
        if list(rows) == before:
            return
        if n > len(before):
            self.beginInsertRows(_NOWHERE, len(before), n - 1)
            self._rows = list(rows)
            self.endInsertRows()
        elif n < len(before):
            self.beginRemoveRows(_NOWHERE, n, len(before) - 1)
            self._rows = list(rows)
            self.endRemoveRows()
        else:
            self._rows = list(rows)
        changed = [at for at, row in enumerate(rows) if at < len(before) and row != before[at]]
        if changed:
            last = self.index(changed[-1], len(COLUMNS) - 1)
            self.dataChanged.emit(self.index(changed[0], 0), last, [])

    def retranslate(self) -> None:
        """Say every text in the language in force."""
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def rows(self) -> Sequence[LedgerRow]:
        """What is shown."""
        return self._rows

    def titles(self) -> list[str]:
        """Heads of the columns."""
        return [
            self.tr("Fold"),
            self.tr("Try"),
            self.tr("State"),
            self.tr("Time"),
            self.tr("Steps"),
            self.tr("RAM peak"),
            self.tr("Growth"),
            self.tr("VRAM peak"),
            self.tr("Why"),
        ]

    @override
    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

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
                return self._explained().get(COLUMNS[section])
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(section)
            case _:
                return None

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row, at = self._rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.cells[at]
            case Qt.ItemDataRole.ToolTipRole:
                return row.tooltip
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self.titles()[0]} {row.cells[0]}, {self.titles()[at]}: {row.cells[at]}"
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(at)
            case _:
                return row if role == ROW_ROLE else None

    def _explained(self) -> dict[str, str]:
        return {
            "fold": self.tr("From 0, as in the script"),
            "attempt": self.tr("From 1; resumed: it went on where the try before was killed"),
            "time": self.tr(
                "How long it ran; of one that runs, an estimate of its whole time beside it"
            ),
            "ram": self.tr("The most that its processes held together"),
            "growth": self.tr("Of what its processes held, from begin to end"),
            "vram": self.tr("The most that the framework's allocator took of its GPU"),
        }


def _side(at: int) -> Qt.AlignmentFlag:
    return standing(is_number=COLUMNS[at] not in _TEXTS)
