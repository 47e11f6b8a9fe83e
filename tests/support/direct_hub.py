"""A real hub that listens on the network of this machine, and devices with their own keys."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import pytest
import zmq
from zmq.utils.monitor import parse_monitor_message

from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.hub_socket import NetworkHub
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.host_identity import KeyPair, key_z85
from kmonitor_agent.wire.local.hub_address import DirectAddress, parse_direct_address
from kmonitor_agent.wire.messages.access_messages import KeyGrant, Role
from kmonitor_agent.wire.messages.codec import pack
from kmonitor_agent.wire.messages.fields import MAGIC
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S

BIND = "127.0.0.1:0"


def new_keys() -> KeyPair:
    """Keys of a device that no one knows yet."""
    return KeyPair(*zmq.curve_keypair())


@dataclass
class ListeningHub:
    """A hub process with a door on the network.

    Attributes:
        live: The process.
        client: This user's own client.
        address: Address that it listens on.
    """

    live: LiveHub
    client: HubClient
    address: DirectAddress
    _names: "Iterator[int]" = field(default_factory=lambda: iter(range(1, 10**6)))

    def device(self, role: Role | None, keys: KeyPair | None = None) -> NetworkHub:
        """The hub as a device sees it that has this role; None: it was not let in."""
        keys = keys or new_keys()
        if role is not None:
            name = f"{role} {next(self._names)}"
            self.client.keys(authorize=KeyGrant(key=keys.public_text, name=name, role=role))
        return NetworkHub(self.address, keys)

    def revoke(self, device: NetworkHub) -> None:
        """Let a device connect no more."""
        self.client.keys(revoke=device.keys.public_text)


def listening(folders: Folders) -> Iterator[ListeningHub]:
    """Start such a hub; it is ended afterwards."""
    live = LiveHub(folders)
    try:
        live.start("--bind", BIND)
        with live.client() as client:
            yield ListeningHub(live, client, parse_direct_address(client.keys().address))
    finally:
        live.close()


@pytest.fixture(scope="module")
def listening_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ListeningHub]:
    """One for all tests of a module."""
    home = tmp_path_factory.mktemp("hub") / "home"
    yield from listening(find_folders({"KMONITOR_HOME": str(home)}))


_CONNECTED = zmq.Event.HANDSHAKE_SUCCEEDED
_REFUSED = (
    zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
    | zmq.Event.HANDSHAKE_FAILED_AUTH
    | zmq.Event.CONNECT_RETRIED
    | zmq.Event.DISCONNECTED
)


class RawPeer:
    """A socket that says whatever a test likes. Use as a context manager."""

    def __init__(
        self,
        endpoint: str,
        hub_key: str = "",
        keys: KeyPair | None = None,
        routing_id: bytes = b"",
    ) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self._context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.setsockopt(zmq.HANDSHAKE_IVL, 30_000)
        if keys is not None:
            self.socket.setsockopt(zmq.CURVE_SERVERKEY, key_z85(hub_key))
            self.socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.public)
            self.socket.setsockopt(zmq.CURVE_SECRETKEY, keys.secret)
        if routing_id:
            self.socket.setsockopt(zmq.ROUTING_ID, routing_id)
        self._monitor = self.socket.get_monitor_socket(_CONNECTED | _REFUSED)
        self._seen = 0
        self.socket.connect(endpoint)

    @classmethod
    def of(cls, device: NetworkHub, routing_id: bytes = b"") -> Self:
        """A device of ours."""
        return cls(device.address.endpoint, device.address.key, device.keys, routing_id)

    def say(self, message: msgspec.Struct) -> None:
        """Send a message."""
        self.socket.send_multipart(pack(message))

    def say_body(self, body: bytes) -> None:
        """Send bytes as a message's body."""
        self.socket.send_multipart([MAGIC, body])

    def hear(self, within_s: float = DEADLINE_S) -> bytes | None:
        """The body of what comes next; None when nothing does."""
        if not self.socket.poll(int(within_s * 1000)):
            return None
        return self.socket.recv_multipart()[1]

    def is_connected(self) -> bool:
        """True once the other end has agreed to talk."""
        return bool(self._events() & _CONNECTED)

    def is_refused(self) -> bool:
        """True once the other end was not there, or has refused to talk."""
        return bool(self._events() & _REFUSED)

    def _events(self) -> int:
        while self._monitor.poll(0):
            self._seen |= parse_monitor_message(self._monitor.recv_multipart())["event"]
        return self._seen

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.disable_monitor()
        self.socket.close(0)
        self._context.destroy(0)


def rss_bytes(pid: int) -> int:
    """Resident set of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
