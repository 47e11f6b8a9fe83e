"""The order in which Tab goes: as things stand, not as they were made."""

from collections.abc import Iterable
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def tab_stops(parts: Iterable[QWidget]) -> list[QWidget]:
    """What Tab stops at, of these and all that is in them."""
    inside = (each for part in parts for each in (part, *part.findChildren(QWidget)))
    return [each for each in inside if each.focusPolicy() & Qt.FocusPolicy.TabFocus]


def tab_along(stops: Iterable[QWidget]) -> None:
    """Have Tab go along these; what stood between them follows the last."""
    for one, following in pairwise(stops):
        QWidget.setTabOrder(one, following)


def stop_before(widget: QWidget) -> QWidget | None:
    """What Tab stops at before a widget and all that is in it; None: nothing."""
    found = widget.previousInFocusChain()
    while found is not None and found is not widget:
        if found.focusPolicy() & Qt.FocusPolicy.TabFocus and not widget.isAncestorOf(found):
            return found
        found = found.previousInFocusChain()
    return None
