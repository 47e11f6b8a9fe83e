"""Sockets to a hub, on this machine or on the network: keys, handshake, requests, ingest.

Nothing is trusted on first use: the hub's key is part of the address that the user enters, and a
hub with another key cannot even finish the handshake.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import msgspec
import zmq
from zmq.utils.monitor import recv_monitor_message

from kmonitor.base.errors import UserError
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.host_identity import KeyPair, key_z85, keys_folder, own_keys
from kmonitor_agent.wire.local.hub_address import DirectAddress, parse_direct_address
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.messages.access_messages import Role
from kmonitor_agent.wire.messages.codec import (
    ProtocolError,
    pack,
    unpack_to_agent,
    unpack_to_desktop,
)
from kmonitor_agent.wire.messages.fields import MAX_AGENT_FRAME_BYTES
from kmonitor_agent.wire.messages.unions import ToAgent, ToDesktop


@dataclass(frozen=True, slots=True)
class NetworkHub:
    """A hub on the network.

    Attributes:
        address: Address of the hub, with the key it must have.
        keys: Keys of this device.
    """

    address: DirectAddress
    keys: KeyPair
    role: Role = "viewer"


def network_hub(url: str, folders: Folders) -> NetworkHub:
    """The hub at `tcp://HOST:PORT?key=KEY`, with this device's keys, created on first use.

    Raises:
        UserError: The address is invalid, or this device's keys cannot be used; with a remedy.
    """
    try:
        address = parse_direct_address(url)
    except ValueError as exc:
        raise UserError(f"{exc}.") from exc
    return NetworkHub(address, device_keys(folders))


def network_ingest(url: str, folders: Folders) -> NetworkHub:
    """The hub for trainings on this device, with their keys. Raises: see `network_hub`."""
    hub = network_hub(url, folders)
    return NetworkHub(hub.address, _load_or_make_keys(folders, "agent"), role="agent")


def device_keys(folders: Folders) -> KeyPair:
    """Keys of this user's window and command line on this device, created on first use.

    Raises:
        UserError: The keys cannot be created, or others could know them.
    """
    return _load_or_make_keys(folders, "desktop")


def _load_or_make_keys(folders: Folders, owner: Literal["desktop", "agent"]) -> KeyPair:
    try:
        return own_keys(folders, owner)
    except NotPrivate as exc:
        raise UserError(f"{exc.path} {exc.why}.") from exc
    except OSError as exc:
        folder = exc.filename or keys_folder(folders)
        what = f"This machine's keys cannot be kept in {folder}: {exc.strerror}."
        remedy = "Free some space, or set KMONITOR_HOME to a folder that you can write to."
        raise UserError(what, remedy) from exc


_HIGH_WATER = 64


class _HubSocket:
    """One DEALER socket with its own context; owned by one thread.

    Connecting does not fail without a hub: the caller notices the missing reply.

    Args:
        hub: ZeroMQ address, or a hub on the network with the keys to use.
        options: Socket options besides the common ones.

    Attributes:
        socket: Socket for the caller's poller.
    """

    def __init__(self, hub: str | NetworkHub, *options: tuple[int, int]) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self._context.socket(zmq.DEALER)
        for option, value in (
            (zmq.LINGER, 0),
            (zmq.SNDHWM, _HIGH_WATER),
            (zmq.HANDSHAKE_IVL, 3000),
            (zmq.RECONNECT_IVL, 50),
            (zmq.RECONNECT_IVL_MAX, 1000),
            *options,
        ):
            self.socket.setsockopt(option, value)
        self._handshake: Handshake | None = None
        if isinstance(hub, NetworkHub):
            self._handshake = Handshake(self.socket, hub)
            self.socket.connect(hub.address.endpoint)
        else:
            self.socket.connect(hub)

    @property
    def refusal(self) -> str:
        """Known reason why the hub does not let this device in; empty if there is none."""
        return "" if self._handshake is None else self._handshake.refusal()

    def send(self, message: msgspec.Struct) -> bool:
        """Send a message; return False when the hub takes no more now."""
        try:
            self.socket.send_multipart(pack(message), zmq.DONTWAIT)
        except zmq.Again:
            return False
        return True

    def wait(self, timeout_s: float) -> bool:
        """True if something arrived within `timeout_s` seconds."""
        return bool(self.socket.poll(max(0, int(timeout_s * 1000) + 1), zmq.POLLIN))

    def close(self, *, linger_s: float = 0.0) -> None:
        """Close after at most `linger_s` seconds for queued messages; by the owner thread."""
        if self._handshake is not None:
            self._handshake.close()
        self.socket.close(linger=int(linger_s * 1000))
        self._context.term()


_MAX_REPLY_BYTES = 16 * 1024 * 1024
"""A series of 16 columns x 8000 points is 4 MB; a wrong hub must not fill our memory."""


class ViewSocket(_HubSocket):
    """The connection of a window or a command to a hub."""

    def __init__(self, hub: str | NetworkHub) -> None:
        super().__init__(hub, (zmq.MAXMSGSIZE, _MAX_REPLY_BYTES), (zmq.RCVHWM, _HIGH_WATER))

    def receive(self) -> ToDesktop | None:
        """Next decodable message that has already arrived; None if there is none."""
        while True:
            try:
                frames = self.socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return None
            with suppress(ProtocolError):
                return unpack_to_desktop(frames)


class IngestSocket(_HubSocket):
    """The connection of a shipper to a hub's socket for trainings, with their keys."""

    def __init__(self, hub: str | NetworkHub) -> None:
        super().__init__(hub, (zmq.MAXMSGSIZE, MAX_AGENT_FRAME_BYTES))

    def receive(self, timeout_s: float) -> ToAgent | None:
        """Next message within `timeout_s` seconds; None if none arrived, or it was malformed."""
        if not self.wait(timeout_s):
            return None
        try:
            return unpack_to_agent(self.socket.recv_multipart(zmq.DONTWAIT))
        except (ProtocolError, zmq.Again):
            return None


_REFUSED = zmq.EVENT_HANDSHAKE_FAILED_AUTH
_OTHER_KEY = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
_NO_HUB = zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
_ANSWERED = zmq.EVENT_HANDSHAKE_SUCCEEDED
_SURE_AFTER = 3
"""Failed handshakes that prove another key.

A hub that is closing its socket looks like one with another key once or twice.
"""


class Handshake:
    """Encrypts a socket, and watches its handshakes. Owned by the socket's thread."""

    def __init__(self, socket: "zmq.Socket[bytes]", hub: NetworkHub) -> None:
        """Set up the socket; call before it is connected."""
        self._socket = socket
        self._hub = hub
        self._refusal = ""
        self._n_other_key = 0
        socket.setsockopt(zmq.IPV6, hub.address.is_ipv6)
        socket.setsockopt(zmq.CURVE_SERVERKEY, key_z85(hub.address.key))
        socket.setsockopt(zmq.CURVE_PUBLICKEY, hub.keys.public)
        socket.setsockopt(zmq.CURVE_SECRETKEY, hub.keys.secret)
        self._monitor = socket.get_monitor_socket(_REFUSED | _OTHER_KEY | _NO_HUB | _ANSWERED)

    def refusal(self) -> str:
        """Reason why this device is not let in, as text; empty as long as none is known."""
        while self._monitor.poll(0):
            self._apply_event(recv_monitor_message(self._monitor)["event"])
        return self._refusal

    def close(self) -> None:
        """Stop watching; call before the socket is closed."""
        self._socket.disable_monitor()
        self._monitor.close(linger=0)

    def _apply_event(self, event: int) -> None:
        where = self._hub.address.endpoint
        if event == _ANSWERED:
            self._refusal = ""
            self._n_other_key = 0
        elif event == _REFUSED:
            mine = self._hub.keys.public_text
            self._refusal = (
                f"the hub at {where} does not recognize this machine's key; on its host, run: "
                f"kmonitor authorize {mine} --role {self._hub.role} --name NAME"
            )
        elif event == _NO_HUB:
            self._refusal = f"the program at {where} is not a hub that accepts keys"
        else:
            self._n_other_key += 1
            if self._n_other_key >= _SURE_AFTER:
                self._refusal = (
                    f"the hub at {where} has a different key from the one in this address; get"
                    " the right address with `kmonitor keys list` on its host"
                )
