"""ROUTER sockets in this user's private folder, and sending and reading of messages."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import zmq

from kmonitor.hub.access.peers import Send, sender_key
from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.local.hub_address import ipc_endpoint
from kmonitor_agent.wire.messages.codec import ProtocolError, UnsupportedType, pack, run_id_in
from kmonitor_agent.wire.messages.fields import MAX_HUB_FRAME_BYTES
from kmonitor_agent.wire.messages.unions import ErrorMessage

_HIGH_WATER = 256
_HANDSHAKE_MS = 3000
_BACKLOG = 128
N_FRAMES = 3
"""Routing id, magic and body."""

_MAX_FRAMES = 1000


class Flooded(Exception):
    """A peer sends a message of endless frames: no bound of ZeroMQ applies to them."""


class RouterSocket:
    """One bound ROUTER socket. Owned by the hub's main thread."""

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", path: Path) -> None:
        """Bind to `path`.

        Raises:
            zmq.ZMQError: It cannot be bound.
        """
        self.path = path
        self._context = context
        self._bind()
        self.unsent = 0
        """Messages dropped because their receiver was too slow."""

    def receive(self) -> list[bytes] | None:
        """The frames of one message with the routing id first; None when there is none.

        Raises:
            Flooded: A message of endless frames.
        """
        got = read_frames(self.socket, is_keyed=False)
        return None if got is None else got[0]

    def send(self, identity: bytes, message: msgspec.Struct) -> bool:
        """Send one message, or drop it: all that matters is requested again.

        Returns:
            False when the receiver is gone.
        """
        sent = send_message(self.socket, identity, message)
        if sent is None:
            self.unsent += 1
        return sent is not False

    def rebind(self) -> None:
        """End every connection and listen again; kmonitor's own peers reconnect by themselves.

        Raises:
            zmq.ZMQError: It cannot be bound any more.
        """
        self.socket.close(linger=0)
        self._bind()

    def is_in_place(self) -> bool:
        """True if the socket's file is still the one that was bound."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        """Close at once; what was not yet sent is requested again."""
        self.socket.close(linger=0)
        if self.is_in_place():
            # libzmq leaves it, and who finds the file would wait for an answer.
            self.path.unlink(missing_ok=True)

    def _bind(self) -> None:
        self.socket = self._context.socket(zmq.ROUTER)
        set_socket_options(self.socket)
        if hasattr(os, "getuid"):
            self.socket.setsockopt(zmq.IPC_FILTER_UID, os.getuid())
        self.socket.bind(ipc_endpoint(self.path))
        self._inode = self.path.stat().st_ino


def read_frames(socket: "zmq.Socket[bytes]", *, is_keyed: bool) -> tuple[list[bytes], str] | None:
    """One message that has arrived: its first frames, and the key that its sender proved.

    Frames beyond those of ours and one more are discarded as they are read.

    Args:
        socket: A ROUTER socket of the hub.
        is_keyed: True if its senders prove a key.

    Returns:
        None when there is none; the key is empty where none is proven.

    Raises:
        Flooded: It has no end.
    """
    try:
        frame = socket.recv(zmq.DONTWAIT, copy=False)
    except zmq.Again:
        return None
    frames = [frame.bytes]
    n_frames = 1
    while frame.more:
        frame = socket.recv(zmq.DONTWAIT, copy=False)
        n_frames += 1
        if len(frames) <= N_FRAMES:
            frames.append(frame.bytes)
        elif n_frames > _MAX_FRAMES:
            raise Flooded
    if not is_keyed:
        return frames, ""
    try:
        return frames, str(frame.get("User-Id"))
    except zmq.ZMQError:
        return frames, ""  # ZAP named nobody


def send_message(
    socket: "zmq.Socket[bytes]", routing_id: bytes, message: msgspec.Struct
) -> bool | None:
    """Send one message or drop it: None when it was dropped, False when its receiver is gone."""
    frames: Sequence[bytes] = (routing_id, *pack(message))
    try:
        socket.send_multipart(frames, zmq.DONTWAIT)
    except zmq.Again:
        return None
    except zmq.ZMQError as exc:
        if exc.errno == zmq.EHOSTUNREACH:
            return False
        raise
    return True


def set_socket_options(socket: "zmq.Socket[bytes]") -> None:
    """Set the options that all sockets of the hub have in common."""
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_HUB_FRAME_BYTES)
    socket.setsockopt(zmq.SNDHWM, _HIGH_WATER)
    socket.setsockopt(zmq.RCVHWM, _HIGH_WATER)
    socket.setsockopt(zmq.BACKLOG, _BACKLOG)
    socket.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)
    # Without it a full or vanished peer makes ROUTER drop in silence; so it is counted.
    socket.setsockopt(zmq.ROUTER_MANDATORY, 1)


_T = TypeVar("_T")


class MessageReader:
    """Decodes messages of one socket; invalid ones are counted, and answered where possible."""

    def __init__(self, name: str, faults: HubFaults, send: Send) -> None:
        self._name = name
        self._faults = faults
        self._send = send

    def read(self, unpack: Callable[[Sequence[bytes]], _T], frames: list[bytes]) -> _T | None:
        """The message in `frames` (routing id first), None if it is none."""
        try:
            return unpack(frames[1:])
        except UnsupportedType as exc:
            self._faults.record(f"{self._name}: unknown type", exc.type_name)
            text = f"this hub does not recognize {exc.type_name!r}"
            self._send(frames[0], ErrorMessage(code="unsupported", text=text))
        except ProtocolError as exc:
            self._faults.record(f"{self._name}: malformed", exc, of=_sender(frames))
        return None


def _sender(frames: Sequence[bytes]) -> str:
    """Sender of invalid data, as far as known: its key and the run that it names."""
    return " ".join(filter(None, (sender_key(frames[0]), run_id_in(frames[-1]))))
