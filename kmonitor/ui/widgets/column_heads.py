"""What the heads of a table's columns say, and on which side their cells stand."""

from collections.abc import Sequence
from typing import Any, Protocol

from PySide6.QtCore import Qt


class ColumnHead(Protocol):
    """A head as the presenters tell it."""

    @property
    def title(self) -> str:
        """Above the column."""
        ...

    @property
    def tooltip(self) -> str:
        """What it says."""
        ...

    @property
    def is_number(self) -> bool:
        """Whether its cells stand on the right."""
        ...


def head_says(
    heads: Sequence[ColumnHead], section: int, orientation: Qt.Orientation, role: int
) -> Any:
    """A model's `headerData`; None for other roles and beyond the columns."""
    if orientation != Qt.Orientation.Horizontal or section >= len(heads):
        return None
    head = heads[section]
    match role:
        case Qt.ItemDataRole.DisplayRole:
            return head.title
        case Qt.ItemDataRole.ToolTipRole:
            return head.tooltip
        case Qt.ItemDataRole.TextAlignmentRole:
            return side(head)
        case _:
            return None


def side(head: ColumnHead) -> Qt.AlignmentFlag:
    """Where the cells below a head stand."""
    return standing(is_number=head.is_number)


def standing(*, is_number: bool) -> Qt.AlignmentFlag:
    """Numbers stand on the right, texts on the left."""
    found = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
    return found | Qt.AlignmentFlag.AlignVCenter
