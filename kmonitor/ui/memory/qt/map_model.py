"""The memory map's table as a table model: layers down, parts across."""

from collections.abc import Sequence

from typing_extensions import override

from kmonitor.ui.memory.layers import COLUMNS, MapRow
from kmonitor.ui.widgets.table_models import CellTable

_TEXTS = ("layer", "kind", "note")


class MapModel(CellTable[MapRow]):
    """Rows are told by their layers' paths."""

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
            self._tell_changed(0, len(rows) - 1)

    def place_of(self, path: str) -> int | None:
        """The row of a layer."""
        return next((at for at, row in enumerate(self._rows) if row.path == path), None)

    @override
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
    def n_columns(self) -> int:
        return len(COLUMNS)

    @override
    def cells_of(self, row: MapRow) -> Sequence[str]:
        return row.cells

    @override
    def tooltip_of(self, row: MapRow, column: int) -> str:
        return row.tooltip

    @override
    def is_number(self, column: int) -> bool:
        return COLUMNS[column] not in _TEXTS

    @override
    def explained(self, column: int) -> str | None:
        return {
            "total": self.tr("All parts of the layer; they are not all there at one time"),
            "weights": self.tr("Parameters and states; exact"),
            "slots": self.tr("What the optimizer keeps for them; exact"),
            "gradients": self.tr("Of those that are trained; not all are there at one time"),
            "kept": self.tr("Feature maps that stay until the backward pass has used them"),
            "workspace": self.tr("The most that one use of the layer takes beside"),
        }.get(COLUMNS[column])
