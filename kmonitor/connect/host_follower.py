"""A hub on another host: its follower, and its route over ssh, which is kept open.

Two threads: `HostRoute` finds the hub, forwards its socket and reconnects (`kmonitor-host`);
`HubFollower` reads through the socket (`kmonitor-follower`) and reports a missing reply.
"""

import logging
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.connect.follower import HubFollower, News, RouteChanged
from kmonitor.connect.host_errors import HostError, no_forwarding
from kmonitor.connect.remembered_hosts import RememberedHost
from kmonitor.connect.remote_hub import ConnectCancelled, RemoteHub, ensure_remote
from kmonitor.connect.ssh import SshTunnel
from kmonitor_agent.wire.local.hub_address import ipc_endpoint
from kmonitor_agent.wire.local.private_files import NotPrivate

if TYPE_CHECKING:
    from collections import deque


LOG = logging.getLogger("kmonitor.connect")


class HostFollower:
    """A `HubFollower` for a hub on another host: the same methods, over a `HostRoute`.

    While the route is closed, the follower is suspended, and the news concerns the route.
    """

    def __init__(
        self, host: RememberedHost, local: Path, *, wake_reader: Callable[[], None]
    ) -> None:
        """Create the connection; threads run from `start` on.

        Args:
            local: Local path for the forwarded socket of the host's hub.
            wake_reader: See `HubFollower`.
        """
        self._follower = HubFollower(
            ipc_endpoint(local),
            wake_reader=wake_reader,
            on_link=self._on_link,
            hub_location=f"on {host.address}",
        )
        self._follower.suspend("not connected yet")
        self._host_route = HostRoute(host, local, self._on_route_changed)

    @property
    def inbox(self) -> "deque[News]":
        """News, oldest first; the reader takes from the left."""
        return self._follower.inbox

    def start(self) -> None:
        self._follower.start()
        self._host_route.start()

    def stop(self) -> None:
        """End threads and ssh; the hub and trainings on the host continue."""
        self._host_route.stop()
        self._follower.stop()

    def send_request(self, message: msgspec.Struct) -> int:
        return self._follower.send_request(message)

    def retry_now(self) -> None:
        """Start the next attempt at once; from any thread."""
        self._host_route.retry_now()
        self._follower.retry_now()

    def drained(self) -> None:
        self._follower.drained()

    def _on_route_changed(self, changed: RouteChanged) -> None:
        if changed.stage == "closed":
            self._follower.suspend(changed.what or "the connection ended")
        self._follower.post_news(changed)
        if changed.stage == "open":
            self._follower.resume()

    def _on_link(self, is_reached: bool) -> None:  # noqa: FBT001 - as the follower calls it
        if is_reached:
            self._host_route.reached()
        else:
            self._host_route.missed()


_BACK_OFF_FIRST_S: Final = 0.1
_BACK_OFF_LAST_S: Final = 30.0
_POLL_S: Final = 0.1
_JOIN_S: Final = 10.0


class HostRoute:
    """Owns the thread `kmonitor-host` and its ssh processes; handles no messages of the hub.

    After an error that only the user can repair (a refused key, no kmonitor on the host) the next
    attempt waits for `retry_now`: servers lock out clients that keep trying.
    """

    def __init__(
        self, host: RememberedHost, local: Path, on_change: Callable[[RouteChanged], None]
    ) -> None:
        """Create the connection; threads run from `start` on.

        Args:
            local: Local path for the forwarded socket of the host's hub.
            on_change: Called from the route's thread when the route opened, closed or changed.
        """
        self._host = host
        self._local = local
        self._on_change = on_change
        self._hub = RemoteHub(host.socket) if host.socket else None
        self._back_off_s = _BACK_OFF_FIRST_S
        self._is_missed = False
        self._stop = threading.Event()
        self._wakeup = threading.Event()
        self._thread = threading.Thread(target=self._main, name="kmonitor-host", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread and ssh; the hub on the host continues."""
        self._stop.set()
        self._wakeup.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def retry_now(self) -> None:
        """Start the next attempt at once; from any thread."""
        self._back_off_s = _BACK_OFF_FIRST_S
        self._wakeup.set()

    def missed(self) -> None:
        """Check the route, since it is open and no hub replies at its end; from any thread."""
        self._is_missed = True
        self._wakeup.set()

    def reached(self) -> None:
        """Note that the hub replies, and reset the back-off of attempts; from any thread."""
        self._is_missed = False
        self._back_off_s = _BACK_OFF_FIRST_S

    def _main(self) -> None:
        while not self._stop.is_set():
            try:
                self._keep_open()
            except HostError as exc:
                self._rest(exc, is_transient=exc.is_transient)
            except ConnectCancelled:
                return
            except (UserError, NotPrivate, OSError) as exc:
                self._rest(exc, is_transient=False)
            except Exception as exc:
                LOG.exception("the connection to %s", self._host.address)
                self._rest(exc, is_transient=False)

    def _keep_open(self) -> None:
        # A socket that is remembered saves asking for it; where nobody listens on it any more,
        # the follower misses the hub, and then it is queried.
        hub = self._hub or self._ensure()
        self._on_change(RouteChanged("opening", hub=hub))
        tunnel = SshTunnel(self._host.address, hub.socket, self._local)
        try:
            tunnel.start()
            if not tunnel.wait_until_open(self._stop):
                return
            if not tunnel.reaches(self._stop):
                self._raise_tunnel_error(tunnel, hub)
                return
            self._is_missed = False
            self._on_change(RouteChanged("open", hub=hub))
            self._watch(tunnel)
        finally:
            tunnel.stop()

    def _raise_tunnel_error(self, tunnel: SshTunnel, hub: RemoteHub) -> None:
        trouble = tunnel.error()
        if trouble is not None:
            raise trouble
        if self._ensure().pid == hub.pid:
            # It answers there before and after: only the forwarding fails.
            raise no_forwarding(self._host.address)

    def _watch(self, tunnel: SshTunnel) -> None:
        """Watch the tunnel until ssh ends, or the hub is found at another path."""
        while not self._stop.is_set():
            self._wakeup.wait(_POLL_S)
            self._wakeup.clear()
            trouble = tunnel.error()
            if trouble is not None:
                raise trouble
            if self._is_missed or tunnel.is_target_missing:
                # Also where the hub there is well: then the connection is frozen or half dead,
                # and is made again instead of waiting until ssh notices.
                self._hub = None
                self._ensure()
                self._stop.wait(self._back_off_s)
                self._back_off_s = min(2 * self._back_off_s, _BACK_OFF_LAST_S)
                return

    def _ensure(self) -> RemoteHub:
        self._on_change(RouteChanged("asking"))
        hub = ensure_remote(self._host.address, command=self._host.command, stop=self._stop)
        self._hub = hub
        return hub

    def _rest(self, exc: Exception, *, is_transient: bool) -> None:
        pause_s = self._back_off_s * random.uniform(0.7, 1.3)  # noqa: S311 - jitter
        what = exc.what if isinstance(exc, UserError) else str(exc)
        remedy = exc.remedy if isinstance(exc, UserError) else ""
        if self._stop.is_set():
            return
        self._on_change(RouteChanged("closed", what, remedy, pause_s if is_transient else None))
        LOG.info("%s: %s", self._host.address, what)
        self._wakeup.wait(pause_s if is_transient else None)
        self._wakeup.clear()
        self._back_off_s = min(2 * self._back_off_s, _BACK_OFF_LAST_S)
