"""The hub's door on the network: encrypted, for listed keys only, or closed."""

import ipaddress
import re
import socket
import time
from dataclasses import dataclass
from typing import Final

import msgspec
import psutil
import zmq

from kmonitor.base.errors import Expected
from kmonitor.hub.access.peers import far_identity, routing_id_of
from kmonitor.hub.access.sockets import read_frames, send_message, set_door_options
from kmonitor.hub.access.zap import DOMAIN
from kmonitor_agent.wire.local.host_identity import KeyPair

_BIND: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]*/]+):(?P<port>\d{1,5})\Z")
_MAX_PORT: Final = 65535
_REBIND_S: Final = 2.0
_AGAIN_S: Final = 0.002


class DirectRefused(Expected):
    """The hub does not listen on the network; says why and what to do."""


@dataclass(frozen=True, slots=True)
class BindAddress:
    """Where to listen.

    Attributes:
        ip: Numeric address.
        port: TCP port; 0: any that is free.
    """

    ip: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int

    @property
    def endpoint(self) -> str:
        """As ZeroMQ takes it."""
        return f"tcp://{self.host}:{self.port or '*'}"

    @property
    def host(self) -> str:
        """The address, in brackets where it has colons."""
        return f"[{self.ip}]" if self.ip.version == 6 else str(self.ip)  # noqa: PLR2004 - IPv6


def parse_bind(text: str) -> BindAddress:
    """The address in `--bind ADDRESS:PORT`; a name is looked up.

    Raises:
        DirectRefused: It is none, or the name is not known.
    """
    found = _BIND.match(text.strip())
    if found is None or int(found["port"]) > _MAX_PORT:
        raise DirectRefused(
            f'"{text}" is no address to listen on.',
            "Write ADDRESS:PORT, such as 192.168.1.5:5577, or 0.0.0.0:5577 for every network.",
        )
    host, port = found["host"].strip("[]"), int(found["port"])
    try:
        return BindAddress(ipaddress.ip_address(host), port)
    except ValueError:
        pass
    try:
        address = socket.gethostbyname(host)
    except OSError as exc:
        what = f'The name "{host}" is not known here.'
        raise DirectRefused(what, "Write the address in numbers.") from exc
    return BindAddress(ipaddress.ip_address(address), port)


class DirectDoor:
    """One ROUTER socket on the network. Owned by the hub's main thread.

    Attributes:
        bound: Where it listens.
        unsent: Messages dropped because their receiver was too slow.
        socket: What the loop polls; another one after `rebind`.
    """

    def __init__(
        self, context: "zmq.Context[zmq.Socket[bytes]]", bind: BindAddress, keys: KeyPair
    ) -> None:
        """Listen.

        Raises:
            DirectRefused: Not there, or not safely.
        """
        if not zmq.has("curve"):
            raise DirectRefused(
                "This ZeroMQ cannot encrypt, so the hub does not listen on the network.",
                "Install pyzmq from its wheels: pip install --force-reinstall pyzmq",
            )
        self._context = context
        self._keys = keys
        self.unsent = 0
        try:
            self.socket = self._open(bind.endpoint)
        except zmq.ZMQError as exc:
            raise DirectRefused(
                f"The hub cannot listen on {bind.host}:{bind.port}: {exc.strerror}.",
                "Choose an address of this host and a port that is free.",
            ) from exc
        port = _port_of(self.socket)
        self.bound = BindAddress(bind.ip, port)
        try:
            self._check()
        except DirectRefused:
            self.close()
            raise

    def receive(self) -> list[bytes] | None:
        """The frames of one message with the sender's identity first; None when there is none.

        Raises:
            Flooded: A message of endless frames.
        """
        got = read_frames(self.socket, is_keyed=True)
        if got is None:
            return None
        frames, user = got
        # ZAP lets nobody in without a key; were it otherwise, nobody has this one.
        key = user if len(user) == _KEY_DIGITS else _NOBODY
        return [far_identity(key, frames[0]), *frames[1:]]

    def send(self, identity: bytes, message: msgspec.Struct) -> bool:
        """As `Door.send`."""
        sent = send_message(self.socket, routing_id_of(identity), message)
        if sent is None:
            self.unsent += 1
        return sent is not False

    def rebind(self) -> None:
        """End every connection and listen anew; who may still connect does so by itself.

        Raises:
            zmq.ZMQError: The address was taken meanwhile.
        """
        self.socket.close(linger=0)
        end_s = time.monotonic() + _REBIND_S
        while True:
            try:
                self.socket = self._open(self.bound.endpoint)
            except zmq.ZMQError:
                # ZeroMQ closes the old one on its own thread, a few milliseconds later.
                if time.monotonic() > end_s:
                    raise
                time.sleep(_AGAIN_S)
            else:
                return

    def close(self) -> None:
        """Close at once."""
        self.socket.close(linger=0)

    def _open(self, endpoint: str) -> "zmq.Socket[bytes]":
        door = self._context.socket(zmq.ROUTER)
        try:
            set_door_options(door)
            door.setsockopt(zmq.IPV6, int("[" in endpoint))
            door.setsockopt(zmq.CURVE_SERVER, 1)
            door.setsockopt(zmq.CURVE_SECRETKEY, self._keys.secret)
            # ZAP lets everybody in while nobody answers it, unless both are set (measured).
            door.setsockopt(zmq.ZAP_DOMAIN, DOMAIN)
            door.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
            door.bind(endpoint)
        except zmq.ZMQError:
            door.close(linger=0)
            raise
        return door

    def _check(self) -> None:
        door = self.socket
        is_guarded = (
            door.getsockopt(zmq.MECHANISM) == zmq.CURVE
            and door.getsockopt(zmq.CURVE_SERVER) == 1
            and door.getsockopt(zmq.ZAP_DOMAIN) == DOMAIN
            and door.getsockopt(zmq.ZAP_ENFORCE_DOMAIN) == 1
        )
        if not is_guarded:
            raise DirectRefused("The hub's door would be open to everybody; it was closed again.")
        wanted = (str(self.bound.ip), self.bound.port)
        listening = _listening()
        if listening != {wanted}:
            where = ", ".join(f"{ip} port {port}" for ip, port in sorted(listening)) or "nowhere"
            raise DirectRefused(
                f"The hub was to listen on {wanted[0]} port {wanted[1]} and listens on {where}; "
                "it was closed again."
            )


_KEY_DIGITS: Final = 64
_NOBODY: Final = "0" * _KEY_DIGITS


def _port_of(door: "zmq.Socket[bytes]") -> int:
    endpoint = door.getsockopt(zmq.LAST_ENDPOINT)
    text = endpoint.decode() if isinstance(endpoint, bytes) else str(endpoint)
    return int(text.rstrip("\0").rpartition(":")[2])


def _listening() -> set[tuple[str, int]]:
    found = psutil.Process().net_connections(kind="tcp")
    return {(each.laddr[0], each.laddr[1]) for each in found if each.status == psutil.CONN_LISTEN}
