"""Actions on hosts: the dialog that connects, and a host's menu in the tree."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.hosts.hosts import confirm_remove
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import role_label
from kmonitor.ui.widgets.dialogs import ConfirmationBox, NameDialog, NameDialogText
from kmonitor.ui.workspace.workspace import Workspace

if TYPE_CHECKING:
    from kmonitor.ui.hosts.qt.hosts_controller import HostsController


class HostMenus(QObject):
    """Binds tree, banner and dialogs to the hosts; main thread only.

    Signals:
        changed: Hosts were added, renamed or removed: refresh.
    """

    changed = Signal()

    def __init__(
        self, window: MainWindow, workspace: Workspace, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._workspace = workspace
        self._hosts: HostsController | None = None
        self._dialog: ConnectDialog | None = None
        window.run_tree.connect_requested.connect(self.open_dialog)
        window.run_tree.host_menu_requested.connect(self._on_tree_host_menu_requested)
        window.first_start.connect_requested.connect(self.open_dialog)
        window.shortcut("connect").activated.connect(self.open_dialog)

    def attach(self, hosts: "HostsController") -> None:
        """Use the loaded controller to connect to hosts."""
        self._hosts = hosts
        hosts.changed_elsewhere.connect(self.changed)

    @Slot(str)
    def retry(self, address: str) -> None:
        if self._hosts is not None:
            self._hosts.retry(address)

    @Slot()
    def open_dialog(self) -> None:
        if self._dialog is None:
            self._dialog = ConnectDialog(self._window)
            self._dialog.host_entered.connect(self._on_dialog_host_entered)
            self._dialog.destroyed.connect(self._on_dialog_destroyed)
        self._dialog.open()

    def menu(self, address: str) -> QMenu | None:
        """Return the menu of a host; None for an unknown host."""
        host = self._workspace.hosts.get(address)
        if host is None:
            return None
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setAccessibleName(host.name)
        entries: tuple[tuple[str, Callable[[str], None]], ...] = (
            (self.tr("&Retry now"), self.retry),
            (self.tr("Re&name\u2026"), self.open_rename_dialog),
            (self.tr("Re&move\u2026"), self.confirm_removal),
        )
        for title, act in entries:
            menu.addAction(title).triggered.connect(partial(_without_check, act, address))
        return menu

    @Slot(str)
    def open_rename_dialog(self, address: str, *, why_not: str = "", typed: str = "") -> None:
        """Ask for a host's new name; again with `typed` and the reason if it was refused."""
        host = self._workspace.hosts.get(address)
        if host is None:
            return
        text = self._name_text(address, why_not)
        box = NameDialog(text, typed or host.name, self._window)
        box.textValueSelected.connect(partial(self._rename, address))
        box.open()

    def _name_text(self, address: str, why_not: str) -> NameDialogText:
        question = self.tr("Name of {address} in this window:").format(address=address)
        label = f"{why_not}\n{question}" if why_not else question
        return NameDialogText(self.tr("Rename host"), label, self.tr("Name of the host"))

    @Slot(str)
    def confirm_removal(self, address: str) -> None:
        """Ask for confirmation before a host is removed."""
        host = self._workspace.hosts.get(address)
        if host is None:
            return
        box = ConfirmationBox(confirm_remove(host.name), self._window)
        box.accepted.connect(partial(self._remove, address))
        box.open()

    def _rename(self, address: str, name: str) -> None:
        if self._hosts is not None:
            why_not = self._hosts.rename(address, name)
            self.changed.emit()
            if why_not:
                self.open_rename_dialog(address, why_not=why_not, typed=name)

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
    def _on_dialog_host_entered(self, address: str, name: str, command: str) -> None:
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


_DIALOG_PX = 460


class ConnectDialog(QDialog):
    """Dialog that connects to a host: one required field, two optional ones.

    Signals (main thread):
        host_entered: With address, name and command as typed.
    """

    host_entered = Signal(str, str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("guide_page", "remote-hosts.md")
        self.setMinimumWidth(_DIALOG_PX)
        self._address = QLineEdit()
        self._name = QLineEdit()
        self._command = QLineEdit()
        self.why = role_label("body")
        self._connect = QPushButton()
        self._intro = role_label("sub")
        self._form = QFormLayout()
        self._build()
        self._address.textChanged.connect(self._on_address_text_changed)
        self._on_address_text_changed("")
        self._set_texts()

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Connect to a host"))
        self._intro.setText(
            self.tr(
                "Connects with your ssh client and its configuration: any host that ssh can "
                "reach without a prompt works here. kmonitor must be installed there; no "
                "port is opened. For a hub that listens on the network, enter its address "
                "with the key: tcp://gpu-01:5577?key=…"
            )
        )
        self._set_field_texts(
            self._address, self.tr("Host"), self.tr("gpu-01, user@gpu-01 or tcp://\u2026")
        )
        self._set_field_texts(
            self._name, self.tr("Name"), self.tr("name in this window (optional)")
        )
        self._set_field_texts(
            self._command,
            self.tr("Command"),
            self.tr("/path/to/bin/kmonitor on the host (optional)"),
        )
        self._connect.setText(self.tr("Connect"))

    def refuse(self, why: str) -> None:
        """Show why the host cannot be connected to, and keep the dialog open."""
        self.why.setText(why)
        self.why.show()
        self._address.setFocus()

    def _build(self) -> None:
        for label in (self._intro, self.why):
            label.setWordWrap(True)
        self.why.hide()
        for field in (self._address, self._name, self._command):
            # Qt's own label, which is aligned with its field.
            self._form.addRow(" ", field)
        self._connect.setProperty("kind", "primary")
        self._connect.setDefault(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(self._connect, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._on_buttons_accepted)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(12)
        column.addWidget(self._intro)
        column.addLayout(self._form)
        column.addWidget(self.why)
        column.addWidget(buttons)

    def _set_field_texts(self, field: QLineEdit, title: str, hint: str) -> None:
        label = self._form.labelForField(field)
        if isinstance(label, QLabel):
            label.setText(title)
        field.setPlaceholderText(hint)
        field.setAccessibleName(title)

    @Slot(str)
    def _on_address_text_changed(self, text: str) -> None:
        self._connect.setEnabled(bool(text.strip()))
        self.why.hide()

    @Slot()
    def _on_buttons_accepted(self) -> None:
        self.host_entered.emit(self._address.text(), self._name.text(), self._command.text())
