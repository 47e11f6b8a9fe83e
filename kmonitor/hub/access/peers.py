"""Peers behind connections: this user on this host, or a key on the network.

A routing id proves nothing, since a client may choose it. What the hub calls an identity begins,
for a connection from the network, with the key that its handshake proved: so nothing that is kept
by identity can be had by another key.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor_agent.wire.messages.access_messages import KeyGrant, Role

_FAR: Final = b"\x00key:"
"""Nobody on this host can have such a routing id: chosen ones never begin with a zero byte, and
ZeroMQ's own are five bytes long."""

CURVE_KEY_BYTES: Final = 32

Send = Callable[[bytes, msgspec.Struct], bool]
"""Sends a message to the socket behind an identity; False if that is gone."""

THIS_USER: Final = "this user"
"""Who did something over a socket that only the hub's own user can reach."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Who sent a message.

    Attributes:
        role: What it may do.
        key: Its public key, 64 hexadecimal digits; empty: this user, on this host.
        name: The key's name; empty as `key`.
    """

    role: Role
    key: str = ""
    name: str = ""

    @property
    def is_far(self) -> bool:
        """Whether it came over the network."""
        return bool(self.key)

    @property
    def who(self) -> str:
        """For the audit."""
        return f"{self.name} (key {self.key[:8]})" if self.key else THIS_USER


LOCAL_AGENT: Final = Peer("agent")
LOCAL_USER: Final = Peer("operator")


def peer_of(grant: KeyGrant) -> Peer:
    """The holder of a key that was let in."""
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
    """What ZeroMQ calls the connection behind a far identity."""
    return identity[len(_FAR) + CURVE_KEY_BYTES :]
