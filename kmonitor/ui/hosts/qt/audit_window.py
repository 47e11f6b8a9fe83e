"""Opens the list of what was done through the hubs, and keeps it up to date while it is open."""

import time
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, QTimer, Slot

from kmonitor.ui.hosts.audit import AuditBook, AuditHub
from kmonitor.ui.hosts.hosts import why_no_audit
from kmonitor.ui.hosts.qt.audit import AuditWindow
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Look
from kmonitor.ui.workspace.workspace import Desk

if TYPE_CHECKING:
    from kmonitor.ui.hosts.qt.hosts_controller import HostsController

_REFRESH_MS = 2000


class AuditController(QObject):
    """Of all hubs that the window is connected to; main thread only."""

    def __init__(
        self, window: MainWindow, desk: Desk, look: Look, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._desk = desk
        self._look = look
        self._hosts: HostsController | None = None
        self._book = AuditBook(self._run_name)
        self._list: AuditWindow | None = None
        self._has_news = False
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        window.header.audit_requested.connect(self.open)
        window.shortcut("audit").activated.connect(self.open)

    def attach(self, hosts: "HostsController") -> None:
        """The part that asks the hubs is loaded."""
        self._hosts = hosts
        hosts.takers.append(self._take)
        hosts.drained.connect(self._on_hosts_drained)

    @Slot()
    def open(self) -> None:
        """Show the list."""
        if self._list is None:
            self._list = AuditWindow(self._look, self._window)
            self._list.host_chosen.connect(self._on_list_host_chosen)
            self._list.finished.connect(self._on_list_finished)
            self._list.destroyed.connect(self._on_list_destroyed)
        self._list.show()
        self._list.raise_()
        self._list.activateWindow()
        self._timer.start()
        # The window stands before hundreds of lines are worded and measured for it.
        QTimer.singleShot(0, self._on_timer_timeout)

    def _take(self, told: msgspec.Struct) -> bool:
        is_ours = self._book.take(told)
        self._has_news |= is_ours
        return is_ours

    def _run_name(self, run: str) -> str:
        known = self._desk.book.get(run)
        return known.name if known is not None else ""

    def _show(self) -> None:
        shown = self._list
        self._has_news = False
        if shown is not None and shown.isVisible():
            shown.show_picture(self._book.picture(time.time(), shown.wanted))

    def _hubs(self, hosts: "HostsController") -> list[AuditHub]:
        found: list[AuditHub] = []
        for address, bridge in hosts.bridges().items():
            host = self._desk.hosts.get(address)
            if host is None or not host.same_as:
                link = self._desk.link_at(address)
                here = link.hub.host if link.hub is not None else self.tr("this machine")
                name = host.name if host is not None else here
                why_not = why_no_audit(link, name)
                found.append(AuditHub(address, name, bridge.ask, why_not))
        return found

    @Slot()
    def _on_timer_timeout(self) -> None:
        if self._hosts is not None:
            self._book.show_hubs(self._hubs(self._hosts))
            self._book.refresh()
        self._show()

    @Slot()
    def _on_hosts_drained(self) -> None:
        if self._has_news:
            self._show()

    @Slot()
    def _on_list_host_chosen(self) -> None:
        self._show()

    @Slot()
    def _on_list_finished(self) -> None:
        self._timer.stop()

    @Slot()
    def _on_list_destroyed(self) -> None:
        self._timer.stop()
        self._list = None
