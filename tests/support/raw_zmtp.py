"""ZMTP 3.1 by hand, for what no library would send."""

import socket
from pathlib import Path

from tests.support.waiting import DEADLINE_S, wait_until

GREETING = (
    b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" + bytes(31)
)
READY = b"\x05READY" + b"\x0bSocket-Type" + (6).to_bytes(4) + b"DEALER"
EMPTY_MORE = b"\x01\x00"
"""A frame of no bytes that says that another follows."""


def connect_raw(place: Path | tuple[str, int]) -> socket.socket:
    """A plain connection to a hub's socket, before anything was said."""
    family = socket.AF_UNIX if isinstance(place, Path) else socket.AF_INET
    peer = socket.socket(family, socket.SOCK_STREAM)
    peer.settimeout(DEADLINE_S)
    address = str(place) if isinstance(place, Path) else place
    wait_until(lambda: _is_taken(peer, address), what="room in the hub's backlog")
    return peer


def _is_taken(peer: socket.socket, address: str | tuple[str, int]) -> bool:
    try:
        peer.connect(address)
    except BlockingIOError:
        return False  # a Unix socket does not take this many at once
    return True


def shake_hands(peer: socket.socket) -> None:
    """Say who one is, as an honest peer without keys does."""
    peer.sendall(GREETING)
    _take(peer, 64)
    peer.sendall(b"\x04" + bytes([len(READY)]) + READY)
    flags, size = _take(peer, 2)
    assert flags & 4, "a command"
    _take(peer, size)


def _take(peer: socket.socket, n: int) -> bytes:
    taken = b""
    while len(taken) < n:
        piece = peer.recv(n - len(taken))
        assert piece, "closed"
        taken += piece
    return taken
