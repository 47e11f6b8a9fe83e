"""Hosts and their runs as a tree model; rows are inserted, removed and moved, and never reset."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt
from typing_extensions import override

from kmonitor.ui.run_tree.run_tree import HostRow, RunRow
from kmonitor.ui.widgets.table_models import NOWHERE, ROW_ROLE, Index


class _HostNode:
    """A host in the tree; `serial` identifies it in its children's indexes and is never reused."""

    def __init__(self, serial: int, row: HostRow) -> None:
        self.serial = serial
        self.row = row
        self.runs: list[RunRow] = []


class RunTreeModel(QAbstractItemModel):
    """Two levels: hosts, and runs below them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hosts: list[_HostNode] = []
        self._serial = 0

    def show_rows(self, hosts: Sequence[HostRow]) -> None:
        """Replace the rows with the fewest inserts, removals and moves."""
        wanted = [host.key for host in hosts]
        for at in range(len(self._hosts) - 1, -1, -1):
            if self._hosts[at].row.key not in wanted:
                self.beginRemoveRows(NOWHERE, at, at)
                del self._hosts[at]
                self.endRemoveRows()
        for at, host in enumerate(hosts):
            self._put_host(at, host)
            self._sync_runs(self._hosts[at], host.runs)

    def index_of(self, run: str) -> QModelIndex:
        """Return the index of a run; invalid if it is not shown."""
        for host in self._hosts:
            for at, row in enumerate(host.runs):
                if row.run == run:
                    return self.createIndex(at, 0, host.serial)
        return QModelIndex()

    def first_run(self) -> QModelIndex:
        """Return the index of the topmost run; invalid if there is none."""
        host = next((host for host in self._hosts if host.runs), None)
        return self.createIndex(0, 0, host.serial) if host is not None else QModelIndex()

    def host_at(self, index: Index) -> HostRow | None:
        """Return the host of an index; None for a run."""
        row = index.data(ROW_ROLE)
        return row if isinstance(row, HostRow) else None

    def run_at(self, index: Index) -> str | None:
        """Return the run id of an index; None for a host."""
        row = index.data(ROW_ROLE)
        return row.run if isinstance(row, RunRow) else None

    @override
    def index(self, row: int, column: int, parent: Index = NOWHERE) -> QModelIndex:
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        serial = self._hosts[parent.row()].serial if parent.isValid() else 0
        return self.createIndex(row, column, serial)

    @override
    def parent(self, child: Index = NOWHERE) -> QModelIndex:  # type: ignore[override]
        serial = child.internalId() if child.isValid() else 0
        for at, host in enumerate(self._hosts):
            if serial and host.serial == serial:
                return self.createIndex(at, 0, 0)
        return QModelIndex()

    @override
    def rowCount(self, parent: Index = NOWHERE) -> int:
        if not parent.isValid():
            return len(self._hosts)
        return 0 if parent.internalId() else len(self._hosts[parent.row()].runs)

    @override
    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 1

    @override
    def flags(self, index: Index) -> Qt.ItemFlag:
        if index.isValid() and not index.internalId():
            return Qt.ItemFlag.ItemIsEnabled
        return super().flags(index)

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self._row(index)
        if row is None:
            return None
        if role == ROW_ROLE:
            return row
        if isinstance(row, HostRow):
            if role == Qt.ItemDataRole.ToolTipRole:
                return row.tooltip or None
            names = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return f"{row.host}, {row.note}" if role in names else None
        return _run_data(row, role)

    def _row(self, index: Index) -> HostRow | RunRow | None:
        if not index.isValid():
            return None
        serial = index.internalId()
        if not serial:
            return self._hosts[index.row()].row if index.row() < len(self._hosts) else None
        host = next((h for h in self._hosts if h.serial == serial), None)
        return host.runs[index.row()] if host and index.row() < len(host.runs) else None

    def _put_host(self, at: int, host: HostRow) -> None:
        keys = [node.row.key for node in self._hosts]
        if host.key not in keys:
            self._serial += 1
            self.beginInsertRows(NOWHERE, at, at)
            self._hosts.insert(at, _HostNode(self._serial, host))
            self.endInsertRows()
        elif keys.index(host.key) != at:
            old = keys.index(host.key)
            self.beginMoveRows(NOWHERE, old, old, NOWHERE, at)
            self._hosts.insert(at, self._hosts.pop(old))
            self.endMoveRows()
        node = self._hosts[at]
        if node.row != host:
            node.row = host
            index = self.createIndex(at, 0, 0)
            self.dataChanged.emit(index, index)

    def _sync_runs(self, host: _HostNode, rows: Sequence[RunRow]) -> None:
        parent = self.createIndex(self._hosts.index(host), 0, 0)
        wanted = {row.run for row in rows}
        for at in range(len(host.runs) - 1, -1, -1):
            if host.runs[at].run not in wanted:
                self.beginRemoveRows(parent, at, at)
                del host.runs[at]
                self.endRemoveRows()
        for at, row in enumerate(rows):
            self._put_run(host, parent, at, row)

    def _put_run(self, host: _HostNode, parent: QModelIndex, at: int, row: RunRow) -> None:
        runs = [run.run for run in host.runs]
        if row.run not in runs:
            self.beginInsertRows(parent, at, at)
            host.runs.insert(at, row)
            self.endInsertRows()
            return
        old = runs.index(row.run)
        if old != at:
            self.beginMoveRows(parent, old, old, parent, at)
            host.runs.insert(at, host.runs.pop(old))
            self.endMoveRows()
        if host.runs[at] != row:
            host.runs[at] = row
            index = self.createIndex(at, 0, host.serial)
            self.dataChanged.emit(index, index)


def _run_data(row: RunRow, role: int) -> Any:
    if role == Qt.ItemDataRole.DisplayRole:
        return row.name
    if role == Qt.ItemDataRole.AccessibleTextRole:
        return ", ".join(x for x in (row.name, row.state.label, row.line, row.mark) if x)
    return row.tooltip if role == Qt.ItemDataRole.ToolTipRole else None
