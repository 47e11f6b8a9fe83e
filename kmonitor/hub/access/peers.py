"""Peers behind connections: this user on this host, or a key on the network.

A routing id proves nothing, since a client may choose it. For a connection from the network, the
hub's identity begins with the key that its handshake proved: so no other key can reach anything
that is kept by identity.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor_agent.wire.messages.access_messages import KeyGrant, Role

_FAR: Final = b"\x00key:"
"""Prefix that no peer on this host can have: chosen routing ids never begin with a zero byte, and
ZeroMQ's own are five bytes long."""

CURVE_KEY_BYTES: Final = 32

Send = Callable[[bytes, msgspec.Struct], bool]
"""Sends a message to the socket behind an identity; False if that is gone."""

THIS_USER: Final = "this user"
"""Name of a peer whose socket only the hub's own user can reach."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Sender of a message.

    Attributes:
        key: Its public key, 64 hexadecimal digits; empty: this user, on this host.
        name: The key's name; empty: this user, on this host.
    """

    role: Role
    key: str = ""
    name: str = ""

    @property
    def is_far(self) -> bool:
        """True if it connects over the network."""
        return bool(self.key)

    @property
    def who(self) -> str:
        """Name for the audit."""
        return f"{self.name} (key {self.key[:8]})" if self.key else THIS_USER


LOCAL_AGENT: Final = Peer("agent")
LOCAL_USER: Final = Peer("operator")


def peer_of(grant: KeyGrant) -> Peer:
    """The holder of an authorized key."""
    return Peer(grant.role, grant.key, grant.name)


def far_identity(key: str, routing_id: bytes) -> bytes:
    """The identity of a connection from the network."""
    return _FAR + bytes.fromhex(key) + routing_id


def sender_key(identity: bytes) -> str:
    """The key behind an identity; empty: this user, on this host."""
    if not identity.startswith(_FAR):
        return ""
    return identity[len(_FAR) : len(_FAR) + CURVE_KEY_BYTES].hex()


def routing_id_of(identity: bytes) -> bytes:
    """ZeroMQ's routing id of the connection behind a far identity."""
    return identity[len(_FAR) + CURVE_KEY_BYTES :]
