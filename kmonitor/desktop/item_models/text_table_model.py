"""A table of texts as a table model."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from kmonitor.desktop.item_models.column_heads import standing

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class TextTableModel(QAbstractTableModel):
    """Rows of cells under heads; some columns stand at the right."""

    def __init__(self, right: Sequence[int], parent: QObject | None = None) -> None:
        """An empty table.

        Args:
            right: Columns of numbers.
            parent: Its parent.
        """
        super().__init__(parent)
        self._right = frozenset(right)
        self._heads: list[str] = []
        self._rows: list[tuple[str, ...]] = []

    def show(self, heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        """Become this table."""
        if (list(heads), list(rows)) == (self._heads, self._rows):
            return
        self.beginResetModel()
        self._heads, self._rows = list(heads), list(rows)
        self.endResetModel()

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
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._heads[section]
        return self._side(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        text, at = self._rows[index.row()][index.column()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.ToolTipRole:
                return text
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self._rows[index.row()][0]}, {self._heads[at]}: {text}"
            case Qt.ItemDataRole.TextAlignmentRole:
                return self._side(at)
            case _:
                return None

    def _side(self, at: int) -> Qt.AlignmentFlag:
        return standing(is_number=at in self._right)
