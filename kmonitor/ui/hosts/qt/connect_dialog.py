"""Asks for the host to connect to."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.theme.qt.theme import role_label

_WIDTH = 460


class ConnectDialog(QDialog):
    """One field that matters, two that may stay empty.

    Signals (main thread):
        host_given: With address, name and command, as typed.
    """

    host_given = Signal(str, str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("guide_page", "remote-hosts.md")
        self.setMinimumWidth(_WIDTH)
        self._address = QLineEdit()
        self._name = QLineEdit()
        self._command = QLineEdit()
        self._why = role_label("body")
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
                "Your own ssh carries it: what works as \u201cssh gpu-01\u201d without a question "
                "works here. kmonitor must be installed there; no port is opened. A hub that "
                "listens on the network is reached with its key: tcp://gpu-01:5577?key=\u2026"
            )
        )
        self._say(self._address, self.tr("Host"), self.tr("gpu-01, user@gpu-01 or tcp://\u2026"))
        self._say(
            self._name, self.tr("Name"), self.tr("as it is to be called here; may stay empty")
        )
        self._say(
            self._command,
            self.tr("Command"),
            self.tr("/path/to/bin/kmonitor there; may stay empty"),
        )
        self._connect.setText(self.tr("Connect"))

    def refuse(self, why: str) -> None:
        """Say why this host cannot be connected to, and stay."""
        self._why.setText(why)
        self._why.show()
        self._address.setFocus()

    def _build(self) -> None:
        for label in (self._intro, self._why):
            label.setWordWrap(True)
        self._why.hide()
        for field in (self._address, self._name, self._command):
            # Qt's own label, which stands in line with its field.
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
        column.addWidget(self._why)
        column.addWidget(buttons)

    def _say(self, field: QLineEdit, title: str, hint: str) -> None:
        label = self._form.labelForField(field)
        if isinstance(label, QLabel):
            label.setText(title)
        field.setPlaceholderText(hint)
        field.setAccessibleName(title)

    @Slot(str)
    def _on_address_text_changed(self, text: str) -> None:
        self._connect.setEnabled(bool(text.strip()))
        self._why.hide()

    @Slot()
    def _on_buttons_accepted(self) -> None:
        self.host_given.emit(self._address.text(), self._name.text(), self._command.text())
