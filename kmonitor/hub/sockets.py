"""The hub's two ROUTER sockets on this user's private folder."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import zmq

from kmonitor_agent.local.sockets import ipc
from kmonitor_agent.protocol.codec import pack
from kmonitor_agent.protocol.version import MAX_HUB_FRAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

_HIGH_WATER = 256
_HANDSHAKE_MS = 3000
_BACKLOG = 128


class Door:
    """One bound ROUTER socket. Owned by the hub's main thread."""

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", path: Path) -> None:
        """Bind to `path`.

        Raises:
            zmq.ZMQError: It cannot be bound.
        """
        self.path = path
        self.socket = context.socket(zmq.ROUTER)
        _set_options(self.socket)
        self.socket.bind(ipc(path))
        self._inode = path.stat().st_ino
        self.unsent = 0
        """Messages dropped because their receiver was too slow."""

    def receive(self) -> list[bytes] | None:
        """The frames of one message with the routing id first; None when there is none."""
        try:
            return self.socket.recv_multipart(zmq.DONTWAIT)
        except zmq.Again:
            return None

    def send(self, identity: bytes, message: msgspec.Struct) -> bool:
        """Send one message, or drop it: all that matters is asked for again.

        Returns:
            False when the receiver is gone.
        """
        frames: Sequence[bytes] = (identity, *pack(message))
        try:
            self.socket.send_multipart(frames, zmq.DONTWAIT)
        except zmq.Again:
            self.unsent += 1
        except zmq.ZMQError as exc:
            if exc.errno == zmq.EHOSTUNREACH:
                return False
            raise
        return True

    def is_in_place(self) -> bool:
        """Whether the socket's file is still the one that was bound."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        """Close at once; what was not yet sent is asked for again."""
        self.socket.close(linger=0)
        if self.is_in_place():
            # libzmq leaves it, and who finds the file would wait for an answer.
            self.path.unlink(missing_ok=True)


def _set_options(socket: "zmq.Socket[bytes]") -> None:
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_HUB_FRAME_BYTES)
    socket.setsockopt(zmq.SNDHWM, _HIGH_WATER)
    socket.setsockopt(zmq.RCVHWM, _HIGH_WATER)
    socket.setsockopt(zmq.BACKLOG, _BACKLOG)
    socket.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)
    # Without it a full or vanished peer makes ROUTER drop in silence; so it is counted.
    socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
    if hasattr(os, "getuid"):
        socket.setsockopt(zmq.IPC_FILTER_UID, os.getuid())
