"""Who sees a focus ring."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent

_KEYBOARD_REASONS = {
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
    Qt.FocusReason.OtherFocusReason,
}


def came_by_keyboard(event: QFocusEvent) -> bool:
    """Whether a ring must show where the focus is; who clicked there knows already."""
    return event.reason() in _KEYBOARD_REASONS
