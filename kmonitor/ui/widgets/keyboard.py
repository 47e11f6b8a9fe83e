"""Shortcuts, made by their name in the one table of keys."""

from collections.abc import Callable

from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QWidget

from kmonitor.ui.shortcuts import key_of


def add_key(name: str, widget: QWidget, slot: Callable[[], object] | None = None) -> QShortcut:
    """A shortcut of a widget, silent while it is hidden.

    Args:
        name: In `kmonitor.ui.shortcuts.KEYS`.
        widget: What it belongs to.
        slot: Called when it is pressed: a method of a QObject.

    Raises:
        KeyError: No shortcut has this name.
    """
    shortcut = QShortcut(key_sequence(name), widget)
    shortcut.setObjectName(name)
    if slot is not None:
        shortcut.activated.connect(slot)
    return shortcut


def press_by_key(name: str, button: QAbstractButton) -> None:
    """Let a shortcut press a button. Raises: KeyError."""
    button.setShortcut(key_sequence(name))


def key_sequence(name: str) -> QKeySequence:
    """The keys of a shortcut, for a menu that shows them. Raises: KeyError."""
    return QKeySequence(key_of(name))


def key_text(keys: str) -> str:
    """Keys as this platform writes them."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
