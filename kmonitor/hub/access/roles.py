"""The one table of who may send what; whatever is not in it is refused."""

from collections.abc import Mapping
from typing import Final

import msgspec

from kmonitor_agent.wire.messages.access_messages import AuditAsked, KeysAsked, Role
from kmonitor_agent.wire.messages.unions import (
    Batch,
    Bye,
    CommandAsked,
    EditAsked,
    ErrorMessage,
    Hello,
    HubAsked,
    Ping,
    Pong,
    RowsAsked,
    RunsAsked,
    SeriesAsked,
    VerdictsAsked,
)

_AGENT: Final = frozenset[Role]({"agent"})
_VIEWER: Final = frozenset[Role]({"viewer", "operator"})
_OPERATOR: Final = frozenset[Role]({"operator"})
_ALL: Final = frozenset[Role]({"agent", "viewer", "operator"})

MAY_SEND: Final[Mapping[type[msgspec.Struct], frozenset[Role]]] = {
    Hello: _AGENT,
    Batch: _AGENT,
    Bye: _AGENT,
    ErrorMessage: _AGENT,
    Ping: _ALL,
    Pong: _ALL,
    RunsAsked: _VIEWER,
    RowsAsked: _VIEWER,
    SeriesAsked: _VIEWER,
    VerdictsAsked: _VIEWER,
    HubAsked: _VIEWER,  # to end the hub, only its own user on its own host may: see `Gate`
    CommandAsked: _OPERATOR,
    EditAsked: _OPERATOR,
    KeysAsked: _OPERATOR,
    AuditAsked: _OPERATOR,
}
"""Which roles may send a message of which type."""

KNOWN_TAGS: Final[Mapping[str, type[msgspec.Struct]]] = {
    str(kind.__struct_config__.tag): kind for kind in MAY_SEND
}
"""The types by their name on the wire."""


def may_send(role: Role, tag: str) -> bool:
    """Whether a role may send a message of this name."""
    kind = KNOWN_TAGS.get(tag)
    return kind is not None and role in MAY_SEND[kind]


def why_not(role: Role, tag: str, name: str) -> str:
    """What is told to whom was refused: what is wrong, and what to do.

    Args:
        role: Its role.
        tag: What it sent.
        name: Name of its key; empty: it has none, and came over a socket on this host.
    """
    if not name:
        whose = "trainings" if role == "agent" else "desktops"
        return f"this socket is for {whose} and takes no {tag}"
    kind = KNOWN_TAGS.get(tag)
    if role == "agent":
        return f'the key "{name}" is a training\'s: it may only tell of its own runs'
    needed = "agent" if kind is not None and MAY_SEND[kind] == _AGENT else "operator"
    act = _ACTS.get(tag, f"send {tag}")
    # It is known already, and so is refused without `--replace`.
    return (
        f'the key "{name}" has the role {role} and may not {act}; whoever runs the hub can '
        f"change that: kmonitor authorize KEY --role {needed} --name NAME --replace"
    )


_ACTS: Final[Mapping[str, str]] = {
    "cmdreq": "command trainings",
    "edit": "rename, annotate or delete runs",
    "keys": "see or change who may connect",
    "audit": "see what was done",
}
