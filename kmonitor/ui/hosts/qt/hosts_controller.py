"""Connects the window to hosts over ssh: adds, retries, renames and removes them."""

import logging
from collections.abc import Callable

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from kmonitor.base.errors import UserError
from kmonitor.connect.follower import HubFollower, RouteChanged
from kmonitor.connect.host_follower import HostFollower
from kmonitor.connect.hub_socket import NetworkHub, network_hub
from kmonitor.connect.remembered_hosts import HostNameTaken, HostStore, RememberedHost
from kmonitor.connect.ssh import make_socket_path
from kmonitor.ui.hosts.hosts import HERE
from kmonitor.ui.hosts.qt.hub_bridge import FollowedHub, HubBridge
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import SCHEME, ipc_endpoint, view_socket_path
from kmonitor_agent.wire.local.private_files import NotPrivate

_log = logging.getLogger(__name__)
_POLL_MS = 1000
"""Interval of checks for changes by other processes to the remembered hosts."""


class HostsController(QObject):
    """Owns a bridge for this machine's hub and one for each host; main thread only.

    Signals:
        changed_elsewhere: Another process added, renamed or removed a host; main thread.
        drained: Messages of a hub were processed; main thread.

    Attributes:
        takers: Receivers of replies, as of a bridge, for every hub.
        poll_timer: Starts each check for changes by other processes.
    """

    changed_elsewhere = Signal()
    drained = Signal()

    def __init__(
        self, folders: Folders, workspace: Workspace, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._folders = folders
        self._workspace = workspace
        self._host_store = HostStore(folders)
        self._known: dict[str, RememberedHost] = {}
        self._guest: RememberedHost | None = None
        self._stamp = (0, 0, 0)
        self.poll_timer = QTimer(self, interval=_POLL_MS)
        self.poll_timer.timeout.connect(self._on_poll_timer_timeout)
        self._bridges: dict[str, HubBridge] = {}
        self.takers: list[Callable[[msgspec.Struct], bool]] = []
        endpoint = ipc_endpoint(view_socket_path(folders))
        self._hubs: dict[str, str | NetworkHub] = {HERE: endpoint}
        self.local_bridge = HubBridge(
            lambda wake_reader: HubFollower(endpoint, wake_reader=wake_reader), self
        )
        self._listen_to(self.local_bridge)

    def start(self, *, with_hosts: bool = True, also: RememberedHost | None = None) -> None:
        """Follow this machine's hub and all remembered hosts.

        Args:
            with_hosts: False: a window on a folder shows only that folder.
            also: A further host, which need not be remembered.
        """
        self.local_bridge.start(self._workspace)
        if not with_hosts:
            return
        self._stamp = self._host_store.stamp()
        hosts = self._read()
        if also is not None and also.address not in {host.address for host in hosts}:
            self._guest = also
            hosts = [*hosts, also]
        for host in hosts:
            self._follow(host)
        self.poll_timer.start()

    def stop(self) -> None:
        """Stop all threads and ssh processes."""
        self.poll_timer.stop()
        self.local_bridge.stop()
        for bridge in self._bridges.values():
            bridge.stop()

    def hub_of(self, run: str) -> str | NetworkHub:
        """Return the address of a run's hub, for requests from other threads."""
        return self._hubs.get(self._workspace.run_store.at(run), self._hubs[HERE])

    def connect_to(self, address: str, name: str, command: str) -> str:
        """Remember a host and connect to it.

        Returns:
            Reason why not; empty if the connection has begun.
        """
        try:
            remote_command = command or None
            host = self._host_store.add(address.strip(), name=name.strip(), command=remote_command)
        except UserError as exc:
            return str(exc)
        self._disconnect_host(host.address)
        return self._follow(host)

    def retry(self, address: str) -> None:
        bridge = self.local_bridge if address == HERE else self._bridges.get(address)
        if bridge is not None:
            bridge.retry_now()

    def rename(self, address: str, name: str) -> str:
        """Rename a host; empty: use its address as its name.

        Returns:
            Reason why not; empty if the host was renamed.
        """
        try:
            self._host_store.rename(address, name)
        except HostNameTaken as exc:
            return str(exc)
        except UserError as exc:
            # It is called so while this window is open.
            _log.warning("hosts: %s", exc)
        self._workspace.add_host(address, name.strip())
        return ""

    def remove(self, address: str) -> None:
        """Disconnect from a host and forget it; the host itself is not changed."""
        if self._guest is not None and self._guest.address == address:
            self._guest = None
        self._forget(address)
        self._write(lambda: self._host_store.remove(address))

    def bridges(self) -> dict[str, HubBridge]:
        """Bridges to all hubs by their hosts' addresses, this machine's first."""
        return {HERE: self.local_bridge, **self._bridges}

    def _read(self) -> list[RememberedHost]:
        hosts = self._host_store.hosts()
        if self._host_store.trouble:
            _log.warning("%s", self._host_store.trouble)
            self._workspace.link.fail(
                self._host_store.trouble, str(self._folders.logs / "app.log")
            )
            self._workspace.changed.add("link")
        return hosts

    @Slot()
    def _on_poll_timer_timeout(self) -> None:
        stamp = self._host_store.stamp()
        if stamp == self._stamp:
            return
        hosts = self._read()
        if self._host_store.trouble:
            # A damaged file is no reason to leave hosts that are connected to.
            self._write(lambda: self._host_store.restore(list(self._known.values())))
            hosts = self._host_store.hosts()
        self._stamp = self._host_store.stamp()
        self._apply_hosts({host.address: host for host in hosts})

    def _apply_hosts(self, current: dict[str, RememberedHost]) -> None:
        if self._guest is not None:
            current.setdefault(self._guest.address, self._guest)
        before = self._known
        for address in [address for address in before if address not in current]:
            self._forget(address)
        for address, host in current.items():
            known = before.get(address)
            if known is None or known.command != host.command:
                self._disconnect_host(address)
                self._follow(host)
            elif known.name != host.name:
                self._workspace.add_host(address, host.called)
        self._known = current
        self.changed_elsewhere.emit()

    def _forget(self, address: str) -> None:
        self._disconnect_host(address)
        self._workspace.remove_host(address)

    def _follow(self, host: RememberedHost) -> str:
        try:
            make_follower = self._follower_maker(host)
        except (NotPrivate, OSError, UserError) as exc:
            return str(exc)
        self._workspace.add_host(host.address, host.called)
        self._known[host.address] = host
        bridge = HubBridge(make_follower, self, at=host.address)
        bridge.route_changed.connect(self._on_bridge_route_changed)
        self._listen_to(bridge)
        self._bridges[host.address] = bridge
        bridge.start(self._workspace)
        return ""

    def _listen_to(self, bridge: HubBridge) -> None:
        bridge.takers.append(self._is_handled)
        bridge.drained.connect(self.drained)

    def _is_handled(self, message: msgspec.Struct) -> bool:
        return any(takes(message) for takes in self.takers)

    def _follower_maker(self, host: RememberedHost) -> Callable[[Callable[[], None]], FollowedHub]:
        if host.address.startswith(SCHEME):
            hub = self._hubs[host.address] = network_hub(host.address, self._folders)
            return lambda wake_reader: HubFollower(hub, wake_reader=wake_reader)
        local = make_socket_path(self._folders)
        self._hubs[host.address] = ipc_endpoint(local)
        return lambda wake_reader: HostFollower(host, local, wake_reader=wake_reader)

    def _disconnect_host(self, address: str) -> None:
        self._known.pop(address, None)
        bridge = self._bridges.pop(address, None)
        self._hubs.pop(address, None)
        if bridge is not None:
            bridge.stop()
            bridge.deleteLater()

    @Slot(str, object)
    def _on_bridge_route_changed(self, address: str, change: object) -> None:
        if not isinstance(change, RouteChanged):
            return
        if change.stage == "open" and change.hub is not None:
            socket = change.hub.socket
            self._write(lambda: self._host_store.note(address, socket=socket))
        elif change.stage == "closed":
            self._write(lambda: self._host_store.note(address, error=change.what))

    def _write(self, change: Callable[[], object]) -> None:
        try:
            change()
        except UserError as exc:
            _log.warning("hosts: %s", exc)
