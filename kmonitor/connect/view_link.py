"""One DEALER socket to a hub's door, near or far; what client and follower share."""

import msgspec
import zmq

from kmonitor.connect.hub_socket import DirectHub, Handshake
from kmonitor_agent.wire.messages.codec import pack, unpack_to_desktop
from kmonitor_agent.wire.messages.errors import ProtocolError
from kmonitor_agent.wire.messages.unions import ToDesktop

_MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""A series of 16 columns x 8000 points is 4 MB; a wrong hub must not fill our memory."""

_HIGH_WATER = 64


class ViewLink:
    """Owned by one thread, with a context of its own.

    Attributes:
        malformed: Answers that were no message of ours.
    """

    def __init__(self, hub: str | DirectHub) -> None:
        """Args: `hub`: ZeroMQ address of a near one, or one on the network with its keys."""
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self._context.socket(zmq.DEALER)
        for option, value in (
            (zmq.LINGER, 0),
            (zmq.MAXMSGSIZE, _MAX_ANSWER_BYTES),
            (zmq.SNDHWM, _HIGH_WATER),
            (zmq.RCVHWM, _HIGH_WATER),
            (zmq.HANDSHAKE_IVL, 3000),
            (zmq.RECONNECT_IVL, 50),
            (zmq.RECONNECT_IVL_MAX, 1000),
        ):
            self.socket.setsockopt(option, value)
        self.malformed = 0
        self._handshake: Handshake | None = None
        if isinstance(hub, DirectHub):
            self._handshake = Handshake(self.socket, hub)
            self.socket.connect(hub.address.endpoint)
        else:
            self.socket.connect(hub)

    @property
    def refusal(self) -> str:
        """Why the hub does not let this device in, as far as was heard; else empty."""
        return "" if self._handshake is None else self._handshake.refusal()

    def send(self, message: msgspec.Struct) -> bool:
        """Send, or return False when the hub does not take any more now."""
        try:
            self.socket.send_multipart(pack(message), zmq.DONTWAIT)
        except zmq.Again:
            return False
        return True

    def receive(self) -> ToDesktop | None:
        """The next message that is there already, None if there is none."""
        while True:
            try:
                frames = self.socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return None
            try:
                return unpack_to_desktop(frames)
            except ProtocolError:
                self.malformed += 1

    def wait(self, timeout_s: float) -> bool:
        """Whether something arrived within `timeout_s` seconds."""
        return bool(self.socket.poll(max(0, int(timeout_s * 1000) + 1), zmq.POLLIN))

    def close(self) -> None:
        """Close at once; by the thread that made it."""
        if self._handshake is not None:
            self._handshake.close()
        self.socket.close(linger=0)
        self._context.destroy(linger=0)
