"""A menu of which one entry is chosen."""

from collections.abc import Sequence

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from kmonitor.ui.limits.limit_actions import ActionChoice


def add_choices(menu: QMenu, choices: Sequence[ActionChoice]) -> QActionGroup:
    """Add one entry a choice; the group's `triggered` tells which, its `data` is the action."""
    group = QActionGroup(menu)
    for choice in choices:
        entry = QAction(choice.title, menu, checkable=True, checked=choice.is_chosen)
        entry.setData(choice.action)
        group.addAction(entry)
        menu.addAction(entry)
    return group
