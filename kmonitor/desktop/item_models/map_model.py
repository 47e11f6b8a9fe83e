"""The memory map's table as a table model: layers down, parts across."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from kmonitor.desktop.item_models.column_heads import standing
from kmonitor.presenters.map_layers import COLUMNS, MapRow

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `MapRow` of an index."""

_TEXTS = ("layer", "kind", "note")
_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class MapModel(QAbstractTableModel):
    """Rows are told by their layers' paths."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[MapRow] = []

    def show_rows(self, rows: Sequence[MapRow]) -> None:
        """Become this table."""
        is_same = [row.path for row in rows] == [row.path for row in self._rows]
        if not is_same:
            # Another model, or another order: both only by the user.
            self.beginResetModel()
        self._rows = list(rows)
        if not is_same:
            self.endResetModel()
        elif rows:
            last = self.index(len(rows) - 1, len(COLUMNS) - 1)
            self.dataChanged.emit(self.index(0, 0), last, [])

    def retranslate(self) -> None:
        """Say every text in the language in force."""
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def rows(self) -> Sequence[MapRow]:
        """What is shown."""
        return self._rows

    def place_of(self, path: str) -> int | None:
        """The row of a layer."""
        return next((at for at, row in enumerate(self._rows) if row.path == path), None)

    def titles(self) -> list[str]:
        """Heads of the columns."""
        return [
            self.tr("Layer"),
            self.tr("Kind"),
            self.tr("Together"),
            self.tr("Weights"),
            self.tr("Optimizer"),
            self.tr("Gradients"),
            self.tr("Kept"),
            self.tr("Workspace"),
            self.tr("Note"),
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
                return f"{row.cells[0]}, {self.titles()[at]}: {row.cells[at]}"
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(at)
            case _:
                return row if role == ROW_ROLE else None

    def _explained(self) -> dict[str, str]:
        return {
            "total": self.tr("All parts of the layer; they are not all there at one time"),
            "weights": self.tr("Parameters and states; exact"),
            "slots": self.tr("What the optimizer keeps for them; exact"),
            "gradients": self.tr("Of those that are trained; not all are there at one time"),
            "kept": self.tr("Feature maps that stay until the backward pass has used them"),
            "workspace": self.tr("The most that one use of the layer takes beside"),
        }


def _side(at: int) -> Qt.AlignmentFlag:
    return standing(is_number=COLUMNS[at] not in _TEXTS)
