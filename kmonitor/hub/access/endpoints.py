"""All sockets of the hub, and the guard that ends connections when its memory jumps.

Every message that comes in is authorized before it is handed on.
"""

import ctypes
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
import psutil
import zmq

from kmonitor.hub.access.authorization import Authorizer, WriteAudit
from kmonitor.hub.access.keys import KeyList
from kmonitor.hub.access.network_endpoint import NetworkAccess
from kmonitor.hub.access.peers import LOCAL_AGENT, LOCAL_USER, Peer, sender_key
from kmonitor.hub.access.sockets import Flooded, RouterSocket
from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.host_identity import keys_folder
from kmonitor_agent.wire.local.hub_address import ingest_socket_path, view_socket_path

Handle = Callable[[list[bytes]], None]
"""Serves one message: the sender's identity and two frames."""

_MAX_AT_ONCE: Final = 256
"""Maximum number of messages of one socket before the other gets its turn."""

_LINGER_S: Final = 0.2
"""Time for the last replies to leave before connections are ended, seconds."""


class HubEndpoints:
    """Every socket of the hub. Owned by its main thread.

    Attributes:
        keys: Keys that may connect over the network.
        authorizer: Decides which sender may send which message.
        direct: Access over the network; None if the hub does not listen there.
    """

    def __init__(
        self,
        folders: Folders,
        context: "zmq.Context[zmq.Socket[bytes]]",
        faults: HubFaults,
        clock: Clock,
        *,
        audit: WriteAudit,
        on_ended: Callable[[set[str]], None],
    ) -> None:
        """Bind this user's own sockets.

        Args:
            audit: Writes refusals into the audit.
            on_ended: Called with the keys whose sessions are over.

        Raises:
            zmq.ZMQError: A socket cannot be bound.
        """
        self._on_ended = on_ended
        self.keys = KeyList(keys_folder(folders), faults)
        self.authorizer = Authorizer(self.keys, faults, clock, audit)
        self._folders = folders
        self._context = context
        self._faults = faults
        self._clock = clock
        self._agents = RouterSocket(context, ingest_socket_path(folders))
        self._desktops = RouterSocket(context, view_socket_path(folders))
        self.direct: NetworkAccess | None = None
        self._memory = MemoryGuard(clock)
        self._wakeup_fd = -1
        self._poller = zmq.Poller()
        self._rebind_at_s = float("inf")

    @property
    def address(self) -> str:
        """Its address on the network, with the hub's key; empty: it does not listen there."""
        return "" if self.direct is None else self.direct.url

    @property
    def unsent(self) -> int:
        """Messages dropped because their receiver was too slow."""
        direct = 0 if self.direct is None else self.direct.unsent
        return self._agents.unsent + self._desktops.unsent + direct

    def listen(self, bind: str) -> None:
        """Also serve the network at `ADDRESS:PORT`, for authorized keys.

        Raises:
            NetworkRefused: It cannot listen there, or not safely.
        """
        self.direct = NetworkAccess(
            self._context,
            bind,
            self._folders,
            self.keys,
            self._faults,
            on_refused=lambda key: self.authorizer.refusals.note_unknown_key(key, "connect"),
        )

    def watch(self, wakeup_fd: int) -> None:
        """Begin to wait for all sockets, and for this file descriptor."""
        self._wakeup_fd = wakeup_fd
        self._poller = poller = zmq.Poller()
        poller.register(self._agents.socket, zmq.POLLIN)
        poller.register(self._desktops.socket, zmq.POLLIN)
        poller.register(wakeup_fd, zmq.POLLIN)
        if self.direct is not None:
            self.direct.register(poller)

    def wait(self, timeout_ms: int) -> None:
        """Wait until something arrives, or for this time."""
        self._poller.poll(timeout_ms)

    def serve(self, ingest: Handle, views: Handle) -> None:
        """Hand on the received messages that their senders may send."""
        try:
            self._serve(self._agents, LOCAL_AGENT, "ingest", ingest)
            self._serve(self._desktops, LOCAL_USER, "view", views)
            if self.direct is not None:
                self._serve_direct(self.direct, ingest, views)
        except Flooded:
            self._faults.record("flood: frames", "all connections were closed")
            self._rebind()

    def to_agent(self, identity: bytes, message: msgspec.Struct) -> bool:
        """Send to an agent; False if it is gone."""
        return self._send(self._agents, identity, message)

    def to_desktop(self, identity: bytes, message: msgspec.Struct) -> bool:
        """Send to a desktop; False if it is gone."""
        return self._send(self._desktops, identity, message)

    def is_in_place(self) -> bool:
        """True if this user's own sockets still lie where they were bound."""
        return self._agents.is_in_place() and self._desktops.is_in_place()

    def check_memory(self, *, is_working: bool) -> None:
        """End every connection when a peer fills the memory; kmonitor's own peers lose nothing.

        Args:
            is_working: True if the hub itself computes something large.
        """
        if self._memory.check(is_working=is_working):
            self._faults.record("flood: memory", "all connections were closed")
            self._rebind()

    def refresh_keys(self) -> None:
        """Take over changes in the list of keys, and end the sessions of removed ones."""
        self.authorizer.refusals.step()
        changed = self.keys.refresh()
        if changed:
            self.end_sessions(changed)
        if self._clock.monotonic_s() >= self._rebind_at_s:
            self._rebind_at_s = float("inf")
            self._rebind_direct()

    def end_sessions(self, keys: set[str]) -> None:
        self._on_ended(keys)
        # libzmq cannot end one connection: all on the network reconnect, these in vain. Nothing
        # of theirs is served until then either: each message is judged by the list.
        self._rebind_at_s = self._clock.monotonic_s() + _LINGER_S

    def close(self) -> None:
        self._agents.close()
        self._desktops.close()
        if self.direct is not None:
            self.direct.close()

    def _send(self, local: RouterSocket, identity: bytes, message: msgspec.Struct) -> bool:
        if not sender_key(identity):
            return local.send(identity, message)
        return self.direct is not None and self.direct.send(identity, message)

    def _serve(self, socket: RouterSocket, peer: Peer, name: str, handle: Handle) -> None:
        for _ in range(_MAX_AT_ONCE):
            frames = socket.receive()
            if frames is None:
                return
            with self._faults.guarded(name):
                if self.authorizer.admit(peer, frames, name, socket.send):
                    handle(frames)

    def _serve_direct(self, direct: NetworkAccess, ingest: Handle, views: Handle) -> None:
        direct.answer_handshakes()
        for _ in range(_MAX_AT_ONCE):
            frames = direct.receive()
            if frames is None:
                return
            with self._faults.guarded("direct"):
                peer = self.authorizer.peer_of_identity(frames[0])
                if self.authorizer.admit(peer, frames, "direct", direct.send):
                    is_agent = peer is not None and peer.role == "agent"
                    (ingest if is_agent else views)(frames)

    def _rebind(self) -> None:
        self._agents.rebind()
        self._desktops.rebind()
        self._rebind_direct()

    def _rebind_direct(self) -> None:
        if self.direct is not None and not self.direct.rebind():
            self._faults.record(
                "direct: address taken", "no device can connect to this hub directly"
            )
            self._rebind_at_s = self._clock.monotonic_s() + 1.0
        self.watch(self._wakeup_fd)


MEMORY_CHECK_EVERY_S: Final = 0.05
JUMP_BYTES: Final = 200 * 1024 * 1024
"""Growth within a second that is a flood."""

WORK_JUMP_BYTES: Final = 1024 * 1024 * 1024
"""The same while the hub itself thins a long series, which takes hundreds of megabytes."""

CLIMB_BYTES: Final = 600 * 1024 * 1024
"""A slower flood: growth since the start or the last flood."""

_WINDOW_S: Final = 1.0
_SETTLE_S: Final = 1.0

_TRIM_EVERY_S: Final = 5.0
_TRIM_OVER: Final = 1.1
"""Factor of the least memory so far above which the C library gives free memory back each time:
data that many desktops did not read is freed where the kernel does not see it."""


class MemoryGuard:
    """Detects growth of the hub's memory that no honest peer causes. Owned by its main thread."""

    def __init__(self, clock: Clock, rss_bytes: Callable[[], int] | None = None) -> None:
        """Args: `rss_bytes`: the resident set; None: this process's."""
        self._clock = clock
        self._rss_bytes = rss_bytes or _own_rss_bytes()
        self._seen: deque[tuple[float, int]] = deque()
        self._base_bytes: int | None = None
        self._trim_at_s: float | None = None
        self._worked_s = float("-inf")
        self._least_bytes = float("inf")
        self._trimmed_s = clock.monotonic_s()

    def check(self, *, is_working: bool = False) -> bool:
        """True if memory has jumped since the last check; the measurement then starts again.

        Args:
            is_working: True if the hub computes something large.
        """
        now_s = self._clock.monotonic_s()
        rss = self._rss_bytes()
        if is_working:
            self._worked_s = now_s
        if self._trim_at_s is not None and now_s >= self._trim_at_s:
            self._trim_at_s = None
            _trim_heap()
            rss = self._rss_bytes()
            self._base_bytes = None
        self._least_bytes = min(self._least_bytes, rss)
        if now_s - self._trimmed_s >= _TRIM_EVERY_S and rss > _TRIM_OVER * self._least_bytes:
            self._trimmed_s = now_s
            _trim_heap()
            rss = self._rss_bytes()
        self._seen.append((now_s, rss))
        while now_s - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        base = self._base_bytes = rss if self._base_bytes is None else self._base_bytes
        lowest = min(seen for _, seen in self._seen)
        has_worked = now_s - self._worked_s <= _WINDOW_S
        if has_worked:
            self._base_bytes = base = max(base, rss - JUMP_BYTES)
        jump = WORK_JUMP_BYTES if has_worked else JUMP_BYTES
        if rss - lowest <= jump and rss - base <= CLIMB_BYTES:
            return False
        self._seen.clear()
        self._base_bytes = rss
        # ZeroMQ's own threads free the memory that closed connections held.
        self._trim_at_s = now_s + _SETTLE_S
        return True


def _trim_heap() -> None:
    """Give freed memory back to the system, where the C library can."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _own_rss_bytes() -> Callable[[], int]:
    process = psutil.Process()
    return lambda: int(process.memory_info().rss)
