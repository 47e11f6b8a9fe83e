"""The hub's network endpoint: encrypted, for listed keys only, and closed if strangers get in.

Before the hub serves the network it connects to itself with an unknown key and with none; if
either is accepted, it does not listen.
"""

import ipaddress
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
import psutil
import zmq
from zmq.utils.monitor import recv_monitor_message

from kmonitor.base.errors import UserError
from kmonitor.hub.access.keys import DOMAIN, KeyList, ZapHandler
from kmonitor.hub.access.peers import CURVE_KEY_BYTES, far_identity, routing_id_of
from kmonitor.hub.access.sockets import read_frames, send_message, set_socket_options
from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.host_identity import KeyPair, keys_folder, own_keys
from kmonitor_agent.wire.local.hub_address import DirectAddress
from kmonitor_agent.wire.local.private_files import NotPrivate

_BIND: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]*/]+):(?P<port>\d{1,5})\Z")
_MAX_PORT: Final = 65535


class NetworkRefused(UserError):
    """The hub does not listen on the network; says why and what to do."""


@dataclass(frozen=True, slots=True)
class BindAddress:
    """Address to listen at.

    Attributes:
        ip: Numeric address.
        port: TCP port; 0: any free port.
    """

    ip: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int

    @property
    def endpoint(self) -> str:
        return f"tcp://{self.host}:{self.port or '*'}"

    @property
    def host(self) -> str:
        """The address, in brackets where it has colons."""
        return f"[{self.ip}]" if self.ip.version == 6 else str(self.ip)  # noqa: PLR2004 - IPv6


def parse_bind(text: str) -> BindAddress:
    """The address in `--bind ADDRESS:PORT`; a name is looked up.

    Raises:
        NetworkRefused: It is no address, or the name is unknown.
    """
    found = _BIND.match(text.strip())
    if found is None or int(found["port"]) > _MAX_PORT:
        raise NetworkRefused(
            f'"{text}" is not an address to listen on.',
            "Use the form ADDRESS:PORT, such as 192.168.1.5:5577, or 0.0.0.0:5577 for all network"
            " interfaces.",
        )
    host = found["host"].strip("[]")
    port = int(found["port"])
    try:
        return BindAddress(ipaddress.ip_address(host), port)
    except ValueError:
        pass
    try:
        address = socket.gethostbyname(host)
    except OSError as exc:
        what = f'The host name "{host}" is unknown.'
        raise NetworkRefused(what, "Use a numeric address.") from exc
    return BindAddress(ipaddress.ip_address(address), port)


class NetworkAccess:
    """The endpoint and the handler of its handshakes. Owned by the hub's main thread.

    Attributes:
        url: Address for other devices: host, port and the hub's key.
        network_endpoint: Socket that listens.
        zap: Decides which key may connect.
    """

    def __init__(
        self,
        context: "zmq.Context[zmq.Socket[bytes]]",
        bind: str,
        folders: Folders,
        keys: KeyList,
        faults: HubFaults,
        *,
        on_refused: Callable[[str], None],
    ) -> None:
        """Listen, once it is proven that strangers are refused.

        Args:
            bind: `ADDRESS:PORT`.
            folders: Folders with the hub's own key.
            on_refused: Called with each key that may not connect.

        Raises:
            NetworkRefused: It cannot listen there, or not safely.
        """
        address = parse_bind(bind)
        own = _hub_keys(folders)
        self.zap = ZapHandler(context, keys, faults, on_refused)
        self._is_open = False
        try:
            self.network_endpoint = NetworkEndpoint(context, address, own)
        except NetworkRefused:
            self.zap.close()
            raise
        self._is_open = True
        try:
            verify_refusal(self.network_endpoint, self.zap, own)
        except BaseException:
            self.close()
            raise
        bound = self.network_endpoint.bound
        host = socket.gethostname() if bound.ip.is_unspecified else bound.host
        self.url = DirectAddress(host, bound.port, own.public_text).url

    @property
    def unsent(self) -> int:
        """Messages dropped because their receiver was too slow."""
        return self.network_endpoint.unsent

    def register(self, poller: "zmq.Poller") -> None:
        """Have the loop wake for incoming data."""
        poller.register(self.zap.socket, zmq.POLLIN)
        if self._is_open:
            poller.register(self.network_endpoint.socket, zmq.POLLIN)

    def answer_handshakes(self) -> None:
        """Accept the keys on the list."""
        self.zap.serve()

    def receive(self) -> list[bytes] | None:
        return self.network_endpoint.receive() if self._is_open else None

    def send(self, identity: bytes, message: msgspec.Struct) -> bool:
        return self._is_open and self.network_endpoint.send(identity, message)

    def rebind(self) -> bool:
        """End every connection and listen again; False if the address was taken meanwhile."""
        self._is_open = False
        try:
            self.network_endpoint.rebind()
        except zmq.ZMQError:
            return False
        self._is_open = True
        return True

    def close(self) -> None:
        """Close the endpoint, then the handler of its handshakes."""
        if self._is_open:
            self._is_open = False
            self.network_endpoint.close()
        self.zap.close()


def _hub_keys(folders: Folders) -> KeyPair:
    try:
        return own_keys(folders, "hub")
    except NotPrivate as exc:
        raise NetworkRefused(f"The hub's key cannot be used: {exc.path} {exc.why}.") from exc
    except OSError as exc:
        folder = exc.filename or keys_folder(folders)
        what = f"The hub's key cannot be created in {folder}: {exc.strerror}."
        raise NetworkRefused(what) from exc


_REBIND_S: Final = 2.0
_REBIND_PAUSE_S: Final = 0.002
_KEY_DIGITS: Final = 2 * CURVE_KEY_BYTES
_NOBODY: Final = "0" * _KEY_DIGITS


class NetworkEndpoint:
    """One ROUTER socket on the network. Owned by the hub's main thread.

    Attributes:
        bound: Address at which it listens.
        unsent: Messages dropped because their receiver was too slow.
        socket: Socket that the loop polls; another one after `rebind`.
    """

    def __init__(
        self, context: "zmq.Context[zmq.Socket[bytes]]", bind: BindAddress, keys: KeyPair
    ) -> None:
        """Listen.

        Raises:
            NetworkRefused: It cannot listen there, or not safely.
        """
        if not zmq.has("curve"):
            raise NetworkRefused(
                "This build of ZeroMQ does not support encryption, so the hub does not listen"
                " on the network.",
                "Install a prebuilt wheel of pyzmq: pip install --force-reinstall --only-binary"
                " pyzmq pyzmq",
            )
        self._context = context
        self._keys = keys
        self.unsent = 0
        try:
            self.socket = self.open_socket(bind.endpoint)
        except zmq.ZMQError as exc:
            raise NetworkRefused(
                f"The hub cannot listen on {bind.host}:{bind.port}: {exc.strerror}.",
                "Choose one of this host's addresses and a free port.",
            ) from exc
        port = _port_of(self.socket)
        self.bound = BindAddress(bind.ip, port)
        try:
            self._check()
        except NetworkRefused:
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
        sent = send_message(self.socket, routing_id_of(identity), message)
        if sent is None:
            self.unsent += 1
        return sent is not False

    def rebind(self) -> None:
        """End every connection and listen again; authorized peers reconnect by themselves.

        Raises:
            zmq.ZMQError: The address was taken meanwhile.
        """
        self.socket.close(linger=0)
        end_s = time.monotonic() + _REBIND_S
        while True:
            try:
                self.socket = self.open_socket(self.bound.endpoint)
            except zmq.ZMQError:
                # ZeroMQ closes the old one on its own thread, a few milliseconds later.
                if time.monotonic() > end_s:
                    raise
                time.sleep(_REBIND_PAUSE_S)
            else:
                return

    def close(self) -> None:
        self.socket.close(linger=0)

    def open_socket(self, endpoint: str) -> "zmq.Socket[bytes]":
        """Open a socket that listens there and admits only keys that the hub knows."""
        router_socket = self._context.socket(zmq.ROUTER)
        try:
            set_socket_options(router_socket)
            router_socket.setsockopt(zmq.IPV6, int("[" in endpoint))
            router_socket.setsockopt(zmq.CURVE_SERVER, 1)
            router_socket.setsockopt(zmq.CURVE_SECRETKEY, self._keys.secret)
            # ZAP lets everybody in while nobody answers it, unless both are set (measured).
            router_socket.setsockopt(zmq.ZAP_DOMAIN, DOMAIN)
            router_socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
            router_socket.bind(endpoint)
        except zmq.ZMQError:
            router_socket.close(linger=0)
            raise
        return router_socket

    def _check(self) -> None:
        router_socket = self.socket
        is_guarded = (
            router_socket.getsockopt(zmq.MECHANISM) == zmq.CURVE
            and router_socket.getsockopt(zmq.CURVE_SERVER) == 1
            and router_socket.getsockopt(zmq.ZAP_DOMAIN) == DOMAIN
            and router_socket.getsockopt(zmq.ZAP_ENFORCE_DOMAIN) == 1
        )
        if not is_guarded:
            raise NetworkRefused(
                "The hub's port would have been open to everyone, so it was closed."
            )
        wanted = (str(self.bound.ip), self.bound.port)
        listening = _listening()
        if listening != {wanted}:
            where = ", ".join(f"{ip} port {port}" for ip, port in sorted(listening)) or "nowhere"
            raise NetworkRefused(
                f"The hub should be listening on {wanted[0]} port {wanted[1]} but is "
                f"listening on {where}, so the port was closed."
            )


def _port_of(router_socket: "zmq.Socket[bytes]") -> int:
    endpoint = router_socket.getsockopt(zmq.LAST_ENDPOINT)
    text = endpoint.decode() if isinstance(endpoint, bytes) else str(endpoint)
    return int(text.rstrip("\0").rpartition(":")[2])


def _listening() -> set[tuple[str, int]]:
    found = psutil.Process().net_connections(kind="tcp")
    return {(each.laddr[0], each.laddr[1]) for each in found if each.status == psutil.CONN_LISTEN}


_TRY_WITHIN_S: Final = 5.0
_TRY_POLL_MS: Final = 20
_LET_IN: Final = zmq.EVENT_HANDSHAKE_SUCCEEDED
_REFUSED: Final = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)


def verify_refusal(endpoint: NetworkEndpoint, zap: ZapHandler, hub: KeyPair) -> None:
    """Check that strangers are refused.

    Raises:
        NetworkRefused: A stranger was accepted, or there was no result.
    """
    stranger = KeyPair(*zmq.curve_keypair())
    zap.tried.add(stranger.public_text)
    for who, keys in (("an unauthorized key", stranger), ("no key", None)):
        outcome = _try(endpoint.bound, zap, hub.public, keys)
        if outcome == "refused":
            continue
        raise NetworkRefused(
            (f"The hub tested its own port with {who} and was {outcome}, so the port was closed."),
            "Please report this, with the output of: kmonitor doctor",
        )


def _try(bound: BindAddress, zap: ZapHandler, hub_key: bytes, keys: KeyPair | None) -> str:
    # A context of its own: in the hub's the answer could come from inside.
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    client = context.socket(zmq.DEALER)
    monitor = client.get_monitor_socket(_LET_IN | _REFUSED)
    try:
        client.setsockopt(zmq.LINGER, 0)
        client.setsockopt(zmq.IPV6, int(bound.ip.version == 6))  # noqa: PLR2004 - IPv6
        if keys is not None:
            client.setsockopt(zmq.CURVE_SERVERKEY, hub_key)
            client.setsockopt(zmq.CURVE_PUBLICKEY, keys.public)
            client.setsockopt(zmq.CURVE_SECRETKEY, keys.secret)
        client.connect(_reachable_endpoint(bound))
        return _outcome(monitor, zap)
    finally:
        client.disable_monitor()
        monitor.close(linger=0)
        client.close(linger=0)
        context.destroy(linger=0)


def _outcome(monitor: "zmq.Socket[bytes]", zap: ZapHandler) -> str:
    end_s = time.monotonic() + _TRY_WITHIN_S
    poller = zmq.Poller()
    poller.register(monitor, zmq.POLLIN)
    poller.register(zap.socket, zmq.POLLIN)
    while time.monotonic() < end_s:
        ready = dict(poller.poll(_TRY_POLL_MS))
        zap.serve()
        if monitor in ready:
            event = recv_monitor_message(monitor)["event"]
            return "accepted" if event == _LET_IN else "refused"
    return "given no response"


def _reachable_endpoint(bound: BindAddress) -> str:
    if not bound.ip.is_unspecified:
        return bound.endpoint
    loopback = "[::1]" if bound.ip.version == 6 else "127.0.0.1"  # noqa: PLR2004 - IPv6
    return f"tcp://{loopback}:{bound.port}"
