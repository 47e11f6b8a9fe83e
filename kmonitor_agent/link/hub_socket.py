"""One DEALER connection to a hub: messages out, messages in, bad frames counted."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import zmq

from kmonitor_agent.wire.local.host_identity import KeyPair, key_z85
from kmonitor_agent.wire.local.hub_address import DirectAddress, ipc_endpoint
from kmonitor_agent.wire.messages.codec import (
    ProtocolError,
    UnsupportedType,
    pack,
    unpack_to_agent,
)
from kmonitor_agent.wire.messages.fields import MAX_AGENT_FRAME_BYTES
from kmonitor_agent.wire.messages.unions import ErrorMessage, ToAgent

BAD_FRAMES_LIMIT: Final = 100
"""Number of bad frames in one session after which the hub is left."""

FRAMES: Final = 2
READ_LIMIT: Final = 512


_READABLE: Final = int(zmq.POLLIN)  # a plain number: the operators of enumerations take longer


class HubSocket:
    """A DEALER socket, created once, that connects to one hub as often as needed; agent's thread.

    The socket is kept while there is no hub: a new one takes descriptors, and libzmq aborts the
        process if there are none (`free_resources`).

    Attributes:
        bad_frames: Number of invalid messages since it connected.
        raw: The ZeroMQ socket, for polling.
    """

    def __init__(
        self, context: "zmq.Context[zmq.Socket[bytes]]", address: Path | DirectAddress
    ) -> None:
        """Args: `address`: The hub's socket on this host, or its address on the network."""
        self.bad_frames = 0
        self._address = address
        self._connected = ""
        self.raw = context.socket(zmq.DEALER)
        self.raw.setsockopt(zmq.LINGER, 0)
        self.raw.setsockopt(zmq.HANDSHAKE_IVL, 3000)
        self.raw.setsockopt(zmq.SNDHWM, 64)
        self.raw.setsockopt(zmq.RECONNECT_IVL, 100)
        self.raw.setsockopt(zmq.RECONNECT_IVL_MAX, 2000)
        self.raw.setsockopt(zmq.MAXMSGSIZE, MAX_AGENT_FRAME_BYTES)

    def connect(self, keys: KeyPair | None = None) -> None:
        """Connect, or connect again.

        Args:
            keys: Key pair of this device; needed for an address.

        Raises:
            ValueError: An address, but no keys: nothing would be encrypted, and anyone could
                answer.
        """
        self.close()
        self.bad_frames = 0
        address = self._address
        if isinstance(address, Path):
            endpoint = ipc_endpoint(address)
        elif keys is None:
            raise ValueError(address.endpoint)
        else:
            endpoint = address.endpoint
            self.raw.setsockopt(zmq.IPV6, address.is_ipv6)
            self.raw.setsockopt(zmq.CURVE_SERVERKEY, key_z85(address.key))
            self.raw.setsockopt(zmq.CURVE_PUBLICKEY, keys.public)
            self.raw.setsockopt(zmq.CURVE_SECRETKEY, keys.secret)
            # The kernel would ask again after 1, 3, 7 s: too late once a network is repaired.
            self.raw.setsockopt(zmq.CONNECT_TIMEOUT, 1000)
        self.raw.connect(endpoint)
        self._connected = endpoint

    @property
    def is_bad(self) -> bool:
        """True if the hub sent too many invalid messages."""
        return self.bad_frames > BAD_FRAMES_LIMIT

    def send(self, message: msgspec.Struct) -> bool:
        """Queue a message; False if the queue is full and the message was not taken."""
        try:
            self.raw.send_multipart(pack(message), flags=zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def received(self) -> Iterator[ToAgent]:
        """Messages that have arrived, at most a few hundred; invalid ones are counted."""
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

    def close(self) -> None:
        """Leave the hub; queued messages are dropped. The socket stays."""
        endpoint, self._connected = self._connected, ""
        if endpoint:
            with contextlib.suppress(zmq.ZMQError):  # libzmq may have left it by itself
                self.raw.disconnect(endpoint)

    def has_message(self) -> bool:
        """True if a message has arrived; a poller or zmq.Again would cost more."""
        events = self.raw.getsockopt(zmq.EVENTS)
        return isinstance(events, int) and bool(events & _READABLE)

    def _frames(self) -> list[bytes] | None:
        if not self.has_message():
            return None
        try:
            frames = [self.raw.recv(zmq.NOBLOCK)]
        except zmq.Again:
            return None
        while self.raw.getsockopt(zmq.RCVMORE):
            frame = self.raw.recv()
            # One more than ours is enough to know that it is not; the rest is thrown away.
            if len(frames) <= FRAMES:
                frames.append(frame)
        return frames
