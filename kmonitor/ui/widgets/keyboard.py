"""Shortcuts by name, and tab order by layout, not by creation."""

from collections.abc import Callable, Iterable
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QWidget

from kmonitor.ui.shortcuts import shortcut_keys


def add_shortcut(
    name: str, widget: QWidget, slot: Callable[[], object] | None = None
) -> QShortcut:
    """Return a shortcut of a widget, inactive while the widget is hidden.

    Args:
        name: Name in `kmonitor.ui.shortcuts.KEYS`.
        slot: Called when the keys are pressed: a method of a QObject.

    Raises:
        KeyError: No shortcut has this name.
    """
    shortcut = QShortcut(key_sequence(name), widget)
    shortcut.setObjectName(name)
    if slot is not None:
        shortcut.activated.connect(slot)
    return shortcut


def click_on_shortcut(name: str, button: QAbstractButton) -> None:
    """Make a shortcut click a button. Raises: KeyError."""
    button.setShortcut(key_sequence(name))


def key_sequence(name: str) -> QKeySequence:
    """Return the keys of a shortcut, for a menu that shows them. Raises: KeyError."""
    return QKeySequence(shortcut_keys(name))


def native_shortcut_text(keys: str) -> str:
    """Return keys in this platform's notation."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def tab_stops(parts: Iterable[QWidget]) -> list[QWidget]:
    """Return the tab stops among these widgets and their children."""
    inside = (each for part in parts for each in (part, *part.findChildren(QWidget)))
    return [each for each in inside if each.focusPolicy() & Qt.FocusPolicy.TabFocus]


def set_tab_order(stops: Iterable[QWidget]) -> None:
    """Set the order of these tab stops; stops that were between them follow the last."""
    for one, following in pairwise(stops):
        QWidget.setTabOrder(one, following)


def tab_stop_before(widget: QWidget) -> QWidget | None:
    """Return the tab stop before a widget and its children; None: there is none."""
    found = widget.previousInFocusChain()
    while found is not None and found is not widget:
        if found.focusPolicy() & Qt.FocusPolicy.TabFocus and not widget.isAncestorOf(found):
            return found
        found = found.previousInFocusChain()
    return None
