"""Bridge between the settings and this machine's hub; the test gives the replies."""

from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, Signal

from kmonitor.ui.settings.qt.settings_controller import SettingsController

if TYPE_CHECKING:
    from collections.abc import Callable


class SettingsBridge(QObject):
    """Attach it before the settings open, which sends requests 1 (the hub) and 2 (its keys).

    Attributes:
        asked: Every request; the first one has number 1.
        takers: Receivers of replies.
    """

    drained = Signal()
    link_changed = Signal(bool)

    def __init__(self, controller: SettingsController) -> None:
        super().__init__(controller)
        self.asked: list[msgspec.Struct] = []
        self.takers: list[Callable[[msgspec.Struct], bool]] = []
        controller.attach(self)  # type: ignore[arg-type]

    def send_request(self, message: msgspec.Struct) -> int:
        self.asked.append(message)
        return len(self.asked)

    def reply(self, message: msgspec.Struct) -> None:
        """Hand over a message of the hub."""
        assert any(takes(message) for takes in self.takers)
        self.drained.emit()
