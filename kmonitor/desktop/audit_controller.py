"""Opens the list of what was done through the hub, and keeps it up to date while it is open."""

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

from kmonitor.desktop.panels.audit import AuditWindow
from kmonitor.desktop.window import MainWindow
from kmonitor.presenters.audit import AuditDesk
from kmonitor.presenters.desk import Desk

if TYPE_CHECKING:
    from kmonitor.desktop.hub_bridge import HubBridge

_REFRESH_MS = 2000


class AuditController(QObject):
    """Of this machine's hub; main thread only."""

    def __init__(self, window: MainWindow, desk: Desk, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._desk = desk
        self._audit: AuditDesk | None = None
        self._list: AuditWindow | None = None
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        window.header.audit_requested.connect(self.open)
        window.shortcut("audit").activated.connect(self.open)

    def attach(self, bridge: "HubBridge") -> None:
        """The part that asks the hub is loaded."""
        self._audit = AuditDesk(bridge.ask, self._run_name)
        bridge.takers.append(self._audit.take)
        bridge.drained.connect(self._on_bridge_drained)

    @Slot()
    def open(self) -> None:
        """Show the list."""
        hub = self._desk.link.hub
        if self._list is None:
            name = hub.host if hub is not None else self.tr("this machine")
            self._list = AuditWindow(name, self._window)
            self._list.finished.connect(self._on_list_finished)
            self._list.destroyed.connect(self._on_list_destroyed)
        self._list.show()
        self._list.raise_()
        self._list.activateWindow()
        self._timer.start()
        self._on_timer_timeout()

    def _run_name(self, run: str) -> str:
        known = self._desk.book.get(run)
        return known.name if known is not None else ""

    def _show(self) -> None:
        if self._list is not None and self._list.isVisible() and self._audit is not None:
            self._list.show_picture(self._audit.picture(time.time()))

    @Slot()
    def _on_timer_timeout(self) -> None:
        if self._audit is not None:
            self._audit.refresh()
        self._show()

    @Slot()
    def _on_bridge_drained(self) -> None:
        self._show()

    @Slot()
    def _on_list_finished(self) -> None:
        self._timer.stop()

    @Slot()
    def _on_list_destroyed(self) -> None:
        self._timer.stop()
        self._list = None
