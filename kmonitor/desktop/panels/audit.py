"""A window of its own with what was done through a hub."""

from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from kmonitor.desktop.controls.look import role_label
from kmonitor.desktop.item_models.audit_model import AuditModel
from kmonitor.presenters.audit import AuditPicture

_RESULT = 4


class AuditWindow(QDialog):
    """One row for each command, edit and change of keys, newest first; not modal."""

    def __init__(self, host: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Audit of {host}").format(host=host))
        self.setProperty("guide_page", "keys-and-roles.md")
        self.resize(860, 480)
        self._model = AuditModel(self)
        self._table = QTableView()
        self._text = role_label("sub")
        self._close = QPushButton(self.tr("Close"))
        self._build()

    def show_picture(self, picture: AuditPicture) -> None:
        """Show this list."""
        self._model.show_rows(picture.lines)
        self._table.setVisible(bool(picture.lines))
        self._text.setText(picture.text)
        self._text.setVisible(bool(picture.text))

    def _build(self) -> None:
        lead = role_label("sub")
        lead.setText(
            self.tr("Who commanded, edited or let in whom, and what came of it. Newest first.")
        )
        table = self._table
        table.setModel(self._model)
        table.setAccessibleName(self.tr("Audit"))
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setShowGrid(False)
        table.verticalHeader().hide()
        head = table.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setSectionResizeMode(_RESULT, QHeaderView.ResizeMode.Stretch)
        self._text.setWordWrap(True)
        self._close.setAccessibleName(self._close.text())
        self._close.setToolTip(self.tr("Close this list (Esc)"))
        self._close.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.addWidget(self._text, 1)
        row.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(10)
        column.addWidget(lead)
        column.addWidget(table, 1)
        column.addStretch(0)
        column.addLayout(row)
