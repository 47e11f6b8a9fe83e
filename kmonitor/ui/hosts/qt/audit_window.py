"""Audit of the hubs: its controller, window and table model."""

import time
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.hosts.audit import ALL, AuditHub, AuditLine, AuditState, AuditStore, audit_columns
from kmonitor.ui.hosts.hosts import audit_blocked_reason
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.buttons import MenuButton
from kmonitor.ui.widgets.row_table import RowTableView
from kmonitor.ui.widgets.table_models import Index, NumberedRowModel
from kmonitor.ui.workspace.workspace import Workspace

if TYPE_CHECKING:
    from kmonitor.ui.hosts.qt.hosts_controller import HostsController


_REFRESH_MS = 2000


class AuditController(QObject):
    """Opens the audit of all connected hubs, and refreshes it while open; main thread only."""

    def __init__(
        self, window: MainWindow, workspace: Workspace, theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._workspace = workspace
        self._theme = theme
        self._hosts: HostsController | None = None
        self._audit_store = AuditStore(self._run_name)
        self._list: AuditWindow | None = None
        self._has_news = False
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        window.header.audit_requested.connect(self.open)
        window.shortcut("audit").activated.connect(self.open)

    def attach(self, hosts: "HostsController") -> None:
        """Use the loaded controller to send requests to the hubs."""
        self._hosts = hosts
        hosts.takers.append(self._apply_reply)
        hosts.drained.connect(self._on_hosts_drained)

    @Slot()
    def open(self) -> None:
        if self._list is None:
            self._list = AuditWindow(self._theme, self._window)
            self._list.host_chosen.connect(self._on_list_host_chosen)
            self._list.finished.connect(self._on_list_finished)
            self._list.destroyed.connect(self._on_list_destroyed)
        self._list.show()
        self._list.raise_()
        self._list.activateWindow()
        self._timer.start()
        # The window is shown before hundreds of lines are built and measured for it.
        QTimer.singleShot(0, self._on_timer_timeout)

    def _apply_reply(self, reply: msgspec.Struct) -> bool:
        is_ours = self._audit_store.apply_reply(reply)
        self._has_news |= is_ours
        return is_ours

    def _run_name(self, run: str) -> str:
        known = self._workspace.run_store.get(run)
        return known.name if known is not None else ""

    def _show(self) -> None:
        shown = self._list
        self._has_news = False
        if shown is not None and shown.isVisible():
            shown.show_state(self._audit_store.state(time.time(), shown.selected_host))

    def _hubs(self, hosts: "HostsController") -> list[AuditHub]:
        found: list[AuditHub] = []
        for address, bridge in hosts.bridges().items():
            host = self._workspace.hosts.get(address)
            if host is None or not host.same_as:
                link = self._workspace.link_at(address)
                local_name = link.hub.host if link.hub is not None else self.tr("this machine")
                name = host.name if host is not None else local_name
                why_not = audit_blocked_reason(link, name)
                found.append(AuditHub(address, name, bridge.send_request, why_not))
        return found

    @Slot()
    def _on_timer_timeout(self) -> None:
        if self._hosts is not None:
            self._audit_store.show_hubs(self._hubs(self._hosts))
            self._audit_store.refresh()
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


_RESULT_COLUMN = 5
_MEASURED_ROWS = 40
"""Number of rows that decide the column widths, from the first visible one on."""


class AuditWindow(QDialog):
    """One row for each command, edit and change of keys, newest first; not modal.

    Signals (main thread):
        host_chosen: Another host, or all hosts, was selected.
    """

    host_chosen = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("guide_page", "keys-and-roles.md")
        self.resize(940, 480)
        self._host = MenuButton(theme, "", self._all_hosts())
        self._lead = role_label("sub")
        self.model = AuditModel(self)
        self._table_view = RowTableView()
        self._text = role_label("sub")
        self._close = QPushButton()
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Audit log"))
        self._host.rename(self.tr("Host"), self._all_hosts())
        self._lead.setText(
            self.tr("Commands, edits and access changes, with their results. Newest first.")
        )
        self._table_view.setAccessibleName(self.tr("Audit log"))
        self._close.setText(self.tr("Close"))
        self._close.setAccessibleName(self._close.text())
        self._close.setToolTip(self.tr("Close this list (Esc)"))

    @property
    def selected_host(self) -> str:
        """Address of the selected host, or `ALL`."""
        return self._host.key

    def show_state(self, state: AuditState) -> None:
        self._host.offer({**self._all_hosts(), **state.hosts})
        self._host.setVisible(len(state.hosts) > 1 or self._host.key != ALL)
        self.model.show_rows(state.lines)
        self._table_view.setVisible(bool(state.lines))
        self._text.setText(state.text)
        self._text.setVisible(bool(state.text))

    def _all_hosts(self) -> dict[str, str]:
        return {ALL: self.tr("all")}

    def _build(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self._lead, 1)
        top.addWidget(self._host)
        self._host.chosen.connect(self.host_chosen)
        table = self._table_view
        table.setModel(self.model)
        head = table.horizontalHeader()
        # Else all 500 rows are measured again at every change of the style, hidden ones as well.
        head.setResizeContentsPrecision(_MEASURED_ROWS)
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setSectionResizeMode(_RESULT_COLUMN, QHeaderView.ResizeMode.Stretch)
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


class AuditModel(NumberedRowModel[AuditLine]):
    def __init__(self, parent: QObject | None = None) -> None:
        self._columns = audit_columns()
        super().__init__(len(self._columns), parent)

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        is_ours = orientation == Qt.Orientation.Horizontal and section < len(self._columns)
        return self._columns[section] if is_ours and role == Qt.ItemDataRole.DisplayRole else None

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        line = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return line.cells[index.column()]
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self._columns[index.column()]}: {line.cells[index.column()]}"
            case Qt.ItemDataRole.ToolTipRole:
                return line.tooltip
            case _:
                return None
