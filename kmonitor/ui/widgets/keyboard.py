"""Shortcuts by name, and the order of Tab: as things are laid out, not as they were made."""

from collections.abc import Callable, Iterable
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QWidget

from kmonitor.ui.shortcuts import shortcut_keys


def add_shortcut(
    name: str, widget: QWidget, slot: Callable[[], object] | None = None
) -> QShortcut:
    """A shortcut of a widget, silent while it is hidden.

    Args:
        name: In `kmonitor.ui.shortcuts.KEYS`.
        slot: Called when it is pressed: a method of a QObject.

    Raises:
        KeyError: No shortcut has this name.
    """
    shortcut = QShortcut(key_sequence(name), widget)
    shortcut.setObjectName(name)
    if slot is not None:
        shortcut.activated.connect(slot)
    return shortcut


def click_on_shortcut(name: str, button: QAbstractButton) -> None:
    """Let a shortcut press a button. Raises: KeyError."""
    button.setShortcut(key_sequence(name))


def key_sequence(name: str) -> QKeySequence:
    """The keys of a shortcut, for a menu that shows them. Raises: KeyError."""
    return QKeySequence(shortcut_keys(name))


def native_shortcut_text(keys: str) -> str:
    """Keys as this platform writes them."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def tab_stops(parts: Iterable[QWidget]) -> list[QWidget]:
    """What Tab stops at, of these and all that is in them."""
    inside = (each for part in parts for each in (part, *part.findChildren(QWidget)))
    return [each for each in inside if each.focusPolicy() & Qt.FocusPolicy.TabFocus]


def set_tab_order(stops: Iterable[QWidget]) -> None:
    """Have Tab go along these; what was between them follows the last."""
    for one, following in pairwise(stops):
        QWidget.setTabOrder(one, following)


def tab_stop_before(widget: QWidget) -> QWidget | None:
    """What Tab stops at before a widget and all that is in it; None: nothing."""
    found = widget.previousInFocusChain()
    while found is not None and found is not widget:
        if found.focusPolicy() & Qt.FocusPolicy.TabFocus and not widget.isAncestorOf(found):
            return found
        found = found.previousInFocusChain()
    return None
