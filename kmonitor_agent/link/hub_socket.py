"""One DEALER connection to a hub: messages out, messages in, bad frames counted."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import zmq

from kmonitor_agent.local.direct_address import DirectAddress
from kmonitor_agent.local.key_pair import KeyPair, key_z85
from kmonitor_agent.local.sockets import ipc
from kmonitor_agent.protocol.codec import pack, unpack_to_agent
from kmonitor_agent.protocol.errors import ProtocolError, UnsupportedType
from kmonitor_agent.protocol.messages import ErrorMessage, ToAgent
from kmonitor_agent.protocol.version import MAX_AGENT_FRAME_BYTES

BAD_FRAMES_LIMIT: Final = 100
"""After more than these in one session the hub is left."""

FRAMES: Final = 2
READ_LIMIT: Final = 512


class HubSocket:
    """A connected DEALER; belongs to the thread that made it.

    Attributes:
        bad_frames: Messages that made no sense so far.
        bytes_out: Bytes handed to ZeroMQ so far.
    """

    def __init__(
        self,
        context: "zmq.Context[zmq.Socket[bytes]]",
        place: Path | DirectAddress,
        keys: KeyPair | None = None,
    ) -> None:
        """Connect.

        Args:
            context: For the socket.
            place: The hub's socket on this host, or its address on the network.
            keys: This device's own; needed for an address.
        """
        # Without both keys nothing is encrypted, and anybody could answer.
        if isinstance(place, DirectAddress) and keys is None:
            raise ValueError(place.endpoint)
        self.bad_frames = 0
        self.bytes_out = 0
        self._socket = context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.HANDSHAKE_IVL, 3000)
        self._socket.setsockopt(zmq.SNDHWM, 64)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 100)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2000)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_AGENT_FRAME_BYTES)
        if isinstance(place, DirectAddress) and keys is not None:
            self._socket.setsockopt(zmq.IPV6, place.is_ipv6)
            self._socket.setsockopt(zmq.CURVE_SERVERKEY, key_z85(place.key))
            self._socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.public)
            self._socket.setsockopt(zmq.CURVE_SECRETKEY, keys.secret)
            # The kernel would ask again after 1, 3, 7 s: too late once a network is mended.
            self._socket.setsockopt(zmq.CONNECT_TIMEOUT, 1000)
            self._socket.connect(place.endpoint)
        elif isinstance(place, Path):
            self._socket.connect(ipc(place))
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._watched = -1

    @property
    def is_bad(self) -> bool:
        """Whether the hub sent too much that makes no sense."""
        return self.bad_frames > BAD_FRAMES_LIMIT

    def send(self, message: msgspec.Struct) -> bool:
        """Queue a message; False when the queue is full, then it was not taken."""
        frames = pack(message)
        try:
            self._socket.send_multipart(frames, flags=zmq.NOBLOCK)
        except zmq.Again:
            return False
        self.bytes_out += sum(map(len, frames))
        return True

    def received(self) -> Iterator[ToAgent]:
        """What has arrived, at most a few hundred messages; what makes no sense is counted."""
        for _ in range(READ_LIMIT):
            frames = self._frames()
            if frames is None or self.is_bad:
                return
            try:
                yield unpack_to_agent(frames)
            except UnsupportedType as exc:
                # A newer hub's hint; not counted, it does not mean that the hub is broken.
                self.send(ErrorMessage(code="unsupported", text=exc.type_name))
            except ProtocolError:
                self.bad_frames += 1

    def wait(self, seconds: float, descriptor: int) -> bool:
        """Sleep so long, or until a message or a file descriptor (-1: none) is there; whether."""
        if descriptor >= 0 and descriptor != self._watched:
            self._poller.register(descriptor, zmq.POLLIN)
            self._watched = descriptor
        return bool(self._poller.poll(math.ceil(seconds * 1000)))

    def close(self, *, linger_s: float = 0.0) -> None:
        """Close at once, or give what is queued so many seconds."""
        self._socket.close(linger=int(linger_s * 1000))

    def _frames(self) -> list[bytes] | None:
        try:
            frames = [self._socket.recv(zmq.NOBLOCK)]
        except zmq.Again:
            return None
        while self._socket.getsockopt(zmq.RCVMORE):
            frame = self._socket.recv()
            # One more than ours is enough to know that it is not; the rest is thrown away.
            if len(frames) <= FRAMES:
                frames.append(frame)
        return frames
