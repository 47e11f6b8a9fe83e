"""A study's ledger as a table model: tries down."""

from collections.abc import Sequence

from typing_extensions import override

from kmonitor.ui.studies.study_page import COLUMNS, LedgerRow
from kmonitor.ui.widgets.table_models import NOWHERE, CellTable

_TEXTS = ("attempt", "state", "time", "why")


class StudyModel(CellTable[LedgerRow]):
    """Rows come and go where tries begin; those that stay are painted anew where they changed."""

    def show_rows(self, rows: Sequence[LedgerRow]) -> None:
        """Become this table."""
        before, n = self._rows, len(rows)
        if list(rows) == before:
            return
        if n > len(before):
            self.beginInsertRows(NOWHERE, len(before), n - 1)
            self._rows = list(rows)
            self.endInsertRows()
        elif n < len(before):
            self.beginRemoveRows(NOWHERE, n, len(before) - 1)
            self._rows = list(rows)
            self.endRemoveRows()
        else:
            self._rows = list(rows)
        changed = [at for at, row in enumerate(rows) if at < len(before) and row != before[at]]
        if changed:
            self._tell_changed(changed[0], changed[-1])

    @override
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
    def n_columns(self) -> int:
        return len(COLUMNS)

    @override
    def cells_of(self, row: LedgerRow) -> Sequence[str]:
        return row.cells

    @override
    def tooltip_of(self, row: LedgerRow, column: int) -> str:
        return row.tooltip

    @override
    def is_number(self, column: int) -> bool:
        return COLUMNS[column] not in _TEXTS

    @override
    def name_of(self, row: LedgerRow) -> str:
        return f"{self.titles()[0]} {row.cells[0]}"

    @override
    def explained(self, column: int) -> str | None:
        return {
            "fold": self.tr("From 0, as in the script"),
            "attempt": self.tr("From 1; resumed: it went on where the try before was killed"),
            "time": self.tr(
                "How long it ran; of one that runs, an estimate of its whole time beside it"
            ),
            "ram": self.tr("The most that its processes held together"),
            "growth": self.tr("Of what its processes held, from begin to end"),
            "vram": self.tr("The most that the framework's allocator took of its GPU"),
        }.get(COLUMNS[column])
