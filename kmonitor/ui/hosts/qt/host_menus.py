"""What the user does with hosts: the dialog that connects, and a host's menu in the tree."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, Signal, Slot
from PySide6.QtWidgets import QMenu

from kmonitor.ui.hosts.hosts import confirm_remove
from kmonitor.ui.hosts.qt.connect_dialog import ConnectDialog
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.widgets.dialogs import NameDialog, NameWords
from kmonitor.ui.widgets.questions import QuestionBox
from kmonitor.ui.workspace.workspace import Desk

if TYPE_CHECKING:
    from kmonitor.ui.hosts.qt.hosts_controller import HostsController


class HostMenus(QObject):
    """Binds tree, banner and dialogs to the hosts; main thread only.

    Signals:
        changed: Hosts were added, renamed or removed: refresh.
    """

    changed = Signal()

    def __init__(self, window: MainWindow, desk: Desk, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._desk = desk
        self._hosts: HostsController | None = None
        self._dialog: ConnectDialog | None = None
        window.run_tree.connect_requested.connect(self.open_dialog)
        window.run_tree.host_menu_requested.connect(self._on_tree_host_menu_requested)
        window.first_start.connect_requested.connect(self.open_dialog)
        window.shortcut("connect").activated.connect(self.open_dialog)

    def attach(self, hosts: "HostsController") -> None:
        """The part that connects is loaded."""
        self._hosts = hosts
        hosts.changed_elsewhere.connect(self.changed)

    @Slot(str)
    def retry(self, address: str) -> None:
        """Try a host at once."""
        if self._hosts is not None:
            self._hosts.retry(address)

    @Slot()
    def open_dialog(self) -> None:
        """Ask for a host."""
        if self._dialog is None:
            self._dialog = ConnectDialog(self._window)
            self._dialog.host_given.connect(self._on_dialog_host_given)
            self._dialog.destroyed.connect(self._on_dialog_destroyed)
        self._dialog.open()

    def menu(self, address: str) -> QMenu | None:
        """The menu of a host; None for one that is not known."""
        host = self._desk.hosts.get(address)
        if host is None:
            return None
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setAccessibleName(host.name)
        entries: tuple[tuple[str, Callable[[str], None]], ...] = (
            (self.tr("&Retry now"), self.retry),
            (self.tr("Re&name\u2026"), self.ask_name),
            (self.tr("Re&move\u2026"), self.ask_removal),
        )
        for title, act in entries:
            menu.addAction(title).triggered.connect(partial(_without_check, act, address))
        return menu

    @Slot(str)
    def ask_name(self, address: str, *, why_not: str = "", typed: str = "") -> None:
        """Ask what a host is to be called; again if what was `typed` cannot be, and why not."""
        host = self._desk.hosts.get(address)
        if host is None:
            return
        words = self._name_words(address, why_not)
        box = NameDialog(words, typed or host.name, self._window)
        box.textValueSelected.connect(partial(self._rename, address))
        box.open()

    def _name_words(self, address: str, why_not: str) -> NameWords:
        asked = self.tr("What {address} is called here:").format(address=address)
        label = f"{why_not}\n{asked}" if why_not else asked
        return NameWords(self.tr("Rename host"), label, self.tr("Name of the host"))

    @Slot(str)
    def ask_removal(self, address: str) -> None:
        """Ask whether a host is to be forgotten."""
        host = self._desk.hosts.get(address)
        if host is None:
            return
        box = QuestionBox(confirm_remove(host.name), self._window)
        box.accepted.connect(partial(self._remove, address))
        box.open()

    def _rename(self, address: str, name: str) -> None:
        if self._hosts is not None:
            why_not = self._hosts.rename(address, name)
            self.changed.emit()
            if why_not:
                self.ask_name(address, why_not=why_not, typed=name)

    def _remove(self, address: str) -> None:
        if self._hosts is not None:
            self._hosts.remove(address)
            self.changed.emit()

    @Slot(str, QPoint)
    def _on_tree_host_menu_requested(self, address: str, at: QPoint) -> None:
        menu = self.menu(address)
        if menu is not None:
            menu.popup(at)

    @Slot(str, str, str)
    def _on_dialog_host_given(self, address: str, name: str, command: str) -> None:
        if self._hosts is None or self._dialog is None:
            return
        why = self._hosts.connect_to(address, name, command)
        if why:
            self._dialog.refuse(why)
        else:
            self._dialog.accept()
        self.changed.emit()

    @Slot()
    def _on_dialog_destroyed(self) -> None:
        self._dialog = None


def _without_check(act: Callable[[str], None], address: str, checked: object = None) -> None:
    del checked
    act(address)
