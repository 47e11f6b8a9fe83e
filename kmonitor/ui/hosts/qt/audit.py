"""A window of its own with what was done through the hubs."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.hosts.audit import ALL, AuditPicture
from kmonitor.ui.hosts.qt.audit_model import AuditModel
from kmonitor.ui.theme.qt.theme import Look, role_label
from kmonitor.ui.widgets.buttons import MenuButton
from kmonitor.ui.widgets.row_table import RowTable

_RESULT = 5
_MEASURED = 40
"""Rows that decide the widths of the columns, from the first in sight on."""


class AuditWindow(QDialog):
    """One row for each command, edit and change of keys, newest first; not modal.

    Signals (main thread):
        host_chosen: Another host is wanted, or all.
    """

    host_chosen = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("guide_page", "keys-and-roles.md")
        self.resize(940, 480)
        self._host = MenuButton(look, "", self._all_hosts())
        self._lead = role_label("sub")
        self._model = AuditModel(self)
        self._table = RowTable()
        self._text = role_label("sub")
        self._close = QPushButton()
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Audit"))
        self._host.rename(self.tr("Host"), self._all_hosts())
        self._lead.setText(
            self.tr("Who commanded, edited or let in whom, and what came of it. Newest first.")
        )
        self._table.setAccessibleName(self.tr("Audit"))
        self._close.setText(self.tr("Close"))
        self._close.setAccessibleName(self._close.text())
        self._close.setToolTip(self.tr("Close this list (Esc)"))

    @property
    def wanted(self) -> str:
        """Address of the host that is wanted, or `ALL`."""
        return self._host.key

    def show_picture(self, picture: AuditPicture) -> None:
        """Show this list."""
        self._host.offer({**self._all_hosts(), **picture.hosts})
        self._host.setVisible(len(picture.hosts) > 1 or self._host.key != ALL)
        self._model.show_rows(picture.lines)
        self._table.setVisible(bool(picture.lines))
        self._text.setText(picture.text)
        self._text.setVisible(bool(picture.text))

    def _all_hosts(self) -> dict[str, str]:
        return {ALL: self.tr("all")}

    def _build(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self._lead, 1)
        top.addWidget(self._host)
        self._host.chosen.connect(self.host_chosen)
        table = self._table
        table.setModel(self._model)
        head = table.horizontalHeader()
        # Else all 500 rows are measured again at every change of the style, hidden ones as well.
        head.setResizeContentsPrecision(_MEASURED)
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setSectionResizeMode(_RESULT, QHeaderView.ResizeMode.Stretch)
        self._text.setWordWrap(True)
        self._close.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.addWidget(self._text, 1)
        row.addStretch(0)
        row.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(10)
        column.addLayout(top)
        column.addWidget(table, 1)
        column.addStretch(0)
        column.addLayout(row)
