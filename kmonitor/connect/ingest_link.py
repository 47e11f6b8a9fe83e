"""One DEALER socket to a hub's ingest door: for who ships what others left."""

import msgspec
import zmq

from kmonitor.connect.hub_socket import DirectHub, Handshake
from kmonitor_agent.wire.messages.codec import pack, unpack_to_agent
from kmonitor_agent.wire.messages.errors import ProtocolError
from kmonitor_agent.wire.messages.unions import ToAgent
from kmonitor_agent.wire.messages.version import MAX_AGENT_FRAME_BYTES

_HIGH_WATER = 64


class IngestLink:
    """Owned by one thread, with a context of its own."""

    def __init__(self, hub: str | DirectHub) -> None:
        """Connect to a ZeroMQ address, or to a hub on the network with trainings' keys.

        That nobody is there is noticed by who waits.
        """
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        for option, value in (
            (zmq.LINGER, 0),
            (zmq.MAXMSGSIZE, MAX_AGENT_FRAME_BYTES),
            (zmq.SNDHWM, _HIGH_WATER),
            (zmq.HANDSHAKE_IVL, 3000),
            (zmq.RECONNECT_IVL, 50),
            (zmq.RECONNECT_IVL_MAX, 1000),
        ):
            self._socket.setsockopt(option, value)
        self._handshake: Handshake | None = None
        if isinstance(hub, DirectHub):
            self._handshake = Handshake(self._socket, hub)
            self._socket.connect(hub.address.endpoint)
        else:
            self._socket.connect(hub)

    @property
    def refusal(self) -> str:
        """Why the hub does not let this device in, as far as was heard; else empty."""
        return "" if self._handshake is None else self._handshake.refusal()

    def send(self, message: msgspec.Struct) -> bool:
        """Send, or return False when the hub does not take any more now."""
        try:
            self._socket.send_multipart(pack(message), zmq.DONTWAIT)
        except zmq.Again:
            return False
        return True

    def receive(self, timeout_s: float) -> ToAgent | None:
        """The next message within so many seconds, None if none comes; rubbish is passed over."""
        if not self._socket.poll(max(0, int(timeout_s * 1000) + 1), zmq.POLLIN):
            return None
        try:
            return unpack_to_agent(self._socket.recv_multipart(zmq.DONTWAIT))
        except (ProtocolError, zmq.Again):
            return None

    def close(self, *, linger_s: float = 0.0) -> None:
        """Close at once, or give what is queued so many seconds."""
        if self._handshake is not None:
            self._handshake.close()
        self._socket.close(linger=int(linger_s * 1000))
        self._context.term()
