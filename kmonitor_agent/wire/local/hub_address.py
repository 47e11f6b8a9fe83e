"""Addresses of a hub: its sockets on this machine, and `tcp://HOST:PORT?key=KEY` on the network.

The key in a network address is the hub's own and pins it: no other program can answer in its
place, and the key is never learned from the network.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.folders import Folders

INGEST_NAME = "agents.sock"
"""File name of the socket that agents connect to, in the hub's runtime folder."""


def ingest_socket_path(folders: Folders) -> Path:
    """Path of the socket that agents connect to."""
    return folders.runtime / INGEST_NAME


def view_socket_path(folders: Folders) -> Path:
    """Path of the socket that desktops and the command line connect to."""
    return folders.runtime / "view.sock"


def hub_lock_path(folders: Folders) -> Path:
    """Path of the lock that the hub holds while it is bound."""
    return folders.runtime / "hub.lock"


def ipc_endpoint(path: Path) -> str:
    """A socket's path as a ZeroMQ address."""
    return f"ipc://{path}"


SCHEME: Final = "tcp://"
_HOST: Final = r"(?P<host>\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|[0-9A-Za-z_](?:[0-9A-Za-z_.-]*))"
_ADDRESS: Final = re.compile(
    r"tcp://" + _HOST + r":(?P<port>\d{1,5})(?:\?key=(?P<key>[0-9A-Fa-f]+))?\Z"
)

_KEY_DIGITS: Final = 64
_MAX_PORT: Final = 65535
_FORM: Final = "use tcp://HOST:PORT?key=KEY, as `kmonitor keys list` prints it on the hub's host"


@dataclass(frozen=True, slots=True)
class DirectAddress:
    """A hub that listens on the network, and the key that it must have.

    Attributes:
        host: Name or address; IPv6 in brackets.
        port: TCP port.
        key: The hub's public key, 64 hexadecimal digits.
    """

    host: str
    port: int
    key: str

    @property
    def is_ipv6(self) -> int:
        """1 for an IPv6 address, as ZeroMQ takes it; names are looked up as IPv4."""
        return int(self.host.startswith("["))

    @property
    def endpoint(self) -> str:
        """Address in ZeroMQ's form."""
        return f"{SCHEME}{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Address for people to copy."""
        return f"{self.endpoint}?key={self.key}"


def parse_direct_address(text: str) -> DirectAddress:
    """The address in a text.

    Raises:
        ValueError: It is no address; the message says what to write instead.
    """
    match = _ADDRESS.match(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a hub address; {_FORM}")
    key = match["key"] or ""
    port = int(match["port"])
    if not key:
        raise ValueError(
            f"{text!r} has no key: without the hub's key, another program could respond in its "
            f"place; {_FORM}"
        )
    if len(key) != _KEY_DIGITS:
        raise ValueError(
            f"{text!r}: the key has {len(key)} hexadecimal digits but must have "
            f"{_KEY_DIGITS}; {_FORM}"
        )
    if not 0 < port <= _MAX_PORT:
        raise ValueError(f"{text!r}: {port} is not a valid port; {_FORM}")
    return DirectAddress(match["host"], port, key.lower())
