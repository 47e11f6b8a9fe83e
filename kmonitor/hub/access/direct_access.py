"""Listening on the network: the door, who answers for it, and its keys, as one thing."""

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import zmq

from kmonitor.hub.access.keys import KeyList
from kmonitor.hub.access.network_endpoint import DirectDoor, DirectRefused, parse_bind
from kmonitor.hub.access.proof import prove_refusal
from kmonitor.hub.access.zap import ZapDesk
from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.host_identity import keys_folder, own_keys
from kmonitor_agent.wire.local.hub_address import DirectAddress
from kmonitor_agent.wire.local.private_files import NotPrivate

if TYPE_CHECKING:
    from kmonitor_agent.wire.local.host_identity import KeyPair


class DirectAccess:
    """Owned by the hub's main thread.

    Attributes:
        url: What others need in order to connect: address and the hub's key.
    """

    def __init__(
        self,
        context: "zmq.Context[zmq.Socket[bytes]]",
        bind: str,
        folders: Folders,
        keys: KeyList,
        faults: HubFaults,
    ) -> None:
        """Listen, once it is proven that strangers are refused.

        Args:
            context: For the sockets.
            bind: `ADDRESS:PORT`.
            folders: Where the hub's own key is.
            keys: Who is let in.
            faults: Where faults are counted.

        Raises:
            DirectRefused: Not there, or not safely.
        """
        address = parse_bind(bind)
        own = _hub_keys(folders)
        self._zap = ZapDesk(context, keys, faults)
        self._is_open = False
        try:
            self._door = DirectDoor(context, address, own)
        except DirectRefused:
            self._zap.close()
            raise
        self._is_open = True
        try:
            prove_refusal(self._door, self._zap, own)
        except BaseException:
            self.close()
            raise
        bound = self._door.bound
        host = socket.gethostname() if bound.ip.is_unspecified else bound.host
        self.url = DirectAddress(host, bound.port, own.public_text).url

    @property
    def unsent(self) -> int:
        """Messages dropped because their receiver was too slow."""
        return self._door.unsent

    def tell_refused(self, told: Callable[[str], None]) -> None:
        """Have somebody told of each key that may not connect."""
        self._zap.on_refused = told

    def register(self, poller: "zmq.Poller") -> None:
        """Have the loop wake for what comes."""
        poller.register(self._zap.socket, zmq.POLLIN)
        if self._is_open:
            poller.register(self._door.socket, zmq.POLLIN)

    def answer_handshakes(self) -> None:
        """Let in who is on the list."""
        self._zap.serve()

    def receive(self) -> list[bytes] | None:
        """As `DirectDoor.receive`."""
        return self._door.receive() if self._is_open else None

    def send(self, identity: bytes, message: msgspec.Struct) -> bool:
        """As `DirectDoor.send`."""
        return self._is_open and self._door.send(identity, message)

    def rebind(self) -> bool:
        """End every connection and listen anew; False if the address was taken meanwhile."""
        self._is_open = False
        try:
            self._door.rebind()
        except zmq.ZMQError:
            return False
        self._is_open = True
        return True

    def close(self) -> None:
        """Close the door, then its keeper."""
        if self._is_open:
            self._is_open = False
            self._door.close()
        self._zap.close()


def _hub_keys(folders: Folders) -> "KeyPair":
    try:
        return own_keys(folders, "hub")
    except NotPrivate as exc:
        raise DirectRefused(f"The hub's own key cannot be used: {exc.path} {exc.why}.") from exc
    except OSError as exc:
        place = exc.filename or keys_folder(folders)
        what = f"The hub's own key cannot be made in {place}: {exc.strerror}."
        raise DirectRefused(what) from exc
