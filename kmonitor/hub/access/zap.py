"""Answers libzmq's question at each handshake on the network: is this key on the list?

The ZeroMQ authentication protocol (ZAP, RFC 27) on a socket that the hub's own loop polls: no
thread, and if nothing answers, every handshake fails.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import zmq

from kmonitor.hub.access.keys import KeyList
from kmonitor.hub.faults import HubFaults

if TYPE_CHECKING:
    from collections.abc import Callable

DOMAIN: Final = b"kmonitor"

_ADDRESS: Final = "inproc://zeromq.zap.01"
_VERSION: Final = b"1.0"
_ENVELOPE: Final = 9
"""Routing id, empty, version, request id, domain, address, identity, mechanism, one credential."""

_KEY_BYTES: Final = 32
_MAX_AT_ONCE: Final = 256


class ZapDesk:
    """Owned by the hub's main thread.

    Attributes:
        socket: What the loop polls.
        on_refused: Told of a key that may not connect.
        tried: Keys that the hub itself tries its door with; refused like all others, not counted.
    """

    def __init__(
        self, context: "zmq.Context[zmq.Socket[bytes]]", keys: KeyList, faults: HubFaults
    ) -> None:
        """Be the one who answers in this context; before any door is bound to the network."""
        self.on_refused: Callable[[str], None] = _nobody
        self.tried: set[str] = set()
        self._keys = keys
        self._faults = faults
        self.socket = context.socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(_ADDRESS)

    def serve(self) -> None:
        """Answer what was asked."""
        for _ in range(_MAX_AT_ONCE):
            try:
                frames = self.socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return
            # What raises gives no answer, and who asked is not let in.
            with self._faults.guarded("access"):
                self._answer(frames)

    def close(self) -> None:
        """From here on nobody is let in."""
        self.socket.close(linger=0)

    def _answer(self, frames: Sequence[bytes]) -> None:
        routing_id, _, _, request, *_ = frames
        user = self._user(frames)
        status, text = (b"200", b"OK") if user else (b"400", b"this key may not connect")
        reply = (routing_id, b"", _VERSION, request, status, text, user, b"")
        self.socket.send_multipart(reply, zmq.DONTWAIT)

    def _user(self, frames: Sequence[bytes]) -> bytes:
        if len(frames) != _ENVELOPE or frames[2] != _VERSION or frames[4] != DOMAIN:
            self._faults.record("access: odd question")
            return b""
        address, mechanism, credential = frames[5], frames[7], frames[8]
        if mechanism != b"CURVE" or len(credential) != _KEY_BYTES:
            self._faults.record("access: no key")
            return b""
        key = credential.hex()
        if self._keys.find(key) is None:
            if key not in self.tried:
                where = address.decode("ascii", "replace")
                self._faults.record("access: key refused", f"{key} from {where}")
                self.on_refused(key)
            return b""
        return key.encode()


def _nobody(_key: str) -> None: ...
