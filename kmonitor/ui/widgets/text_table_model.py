"""A table of texts as a table model."""

from collections.abc import Sequence

from PySide6.QtCore import QObject
from typing_extensions import override

from kmonitor.ui.widgets.table_models import CellTable


class TextTableModel(CellTable[tuple[str, ...]]):
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

    def show(self, heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        """Become this table."""
        if (list(heads), list(rows)) == (self._heads, self._rows):
            return
        self.beginResetModel()
        self._heads, self._rows = list(heads), list(rows)
        self.endResetModel()

    @override
    def titles(self) -> Sequence[str]:
        return self._heads

    @override
    def n_columns(self) -> int:
        return len(self._heads)

    @override
    def cells_of(self, row: tuple[str, ...]) -> Sequence[str]:
        return row

    @override
    def tooltip_of(self, row: tuple[str, ...], column: int) -> str:
        return row[column]

    @override
    def is_number(self, column: int) -> bool:
        return column in self._right
