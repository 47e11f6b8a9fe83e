"""Authorization of messages: roles, quotas, and the audit of refusals.

Every message passes `Authorizer.admit` before it is read. One table lists the messages that each
role may send; any other is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.hub.access.keys import KeyList
from kmonitor.hub.access.peers import LOCAL_USER, Peer, Send, peer_of, sender_key
from kmonitor.hub.access.sockets import N_FRAMES
from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.access_messages import AuditRequest, KeysRequest, Role
from kmonitor_agent.wire.messages.codec import ProtocolError, event_type
from kmonitor_agent.wire.messages.fields import MAGIC, Count, Name
from kmonitor_agent.wire.messages.unions import (
    Batch,
    Bye,
    CommandRequest,
    EditRequest,
    ErrorMessage,
    Hello,
    HubRequest,
    Ping,
    Pong,
    RowsRequest,
    RunsRequest,
    SeriesRequest,
    VerdictsRequest,
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
    RunsRequest: _VIEWER,
    RowsRequest: _VIEWER,
    SeriesRequest: _VIEWER,
    VerdictsRequest: _VIEWER,
    HubRequest: _VIEWER,  # to end the hub, only its own user on its own host may: see `HubLoop`
    CommandRequest: _OPERATOR,
    EditRequest: _OPERATOR,
    KeysRequest: _OPERATOR,
    AuditRequest: _OPERATOR,
}
"""Roles that may send each type of message; no role may send any other type."""

KNOWN_TAGS: Final[Mapping[str, type[msgspec.Struct]]] = {
    str(kind.__struct_config__.tag): kind for kind in MAY_SEND
}


def may_send(role: Role, tag: str) -> bool:
    kind = KNOWN_TAGS.get(tag)
    return kind is not None and role in MAY_SEND[kind]


def why_not(role: Role, tag: str, name: str) -> str:
    """Text for a sender that was refused: the fault and the remedy.

    Args:
        name: Name of its key; empty: it has none, and used a socket on this host.
    """
    if not name:
        whose = "training processes" if role == "agent" else "desktops"
        return f"this socket is for {whose} and does not accept {tag}"
    kind = KNOWN_TAGS.get(tag)
    if role == "agent":
        return f'the key "{name}" belongs to a training process: it may only report its own runs'
    needed = "agent" if kind is not None and MAY_SEND[kind] == _AGENT else "operator"
    act = _ACTS.get(tag, f"send {tag}")
    # It is known already, and so is refused without `--replace`.
    return (
        f'the key "{name}" has the role {role} and may not {act}; the owner of the hub can'
        f" change that: kmonitor authorize KEY --role {needed} --name NAME --replace"
    )


_ACTS: Final[Mapping[str, str]] = {
    "command_request": "send commands to training runs",
    "edit": "rename, annotate or remove runs",
    "keys": "see or change who may connect",
    "audit": "read the audit log",
}


class Authorizer:
    """Owned by the hub's main thread.

    Attributes:
        refusals: Writes refusals into the audit.
    """

    def __init__(
        self, keys: KeyList, faults: HubFaults, clock: Clock, audit: "WriteAudit"
    ) -> None:
        self.refusals = Refusals(clock, audit)
        self._keys = keys
        self._faults = faults
        self._clock = clock
        self._send_quota = SendQuota()

    def peer_of_identity(self, identity: bytes) -> Peer | None:
        """The peer behind an identity by the current list of keys; None: its key is not listed."""
        key = sender_key(identity)
        if not key:
            return LOCAL_USER
        grant = self._keys.find(key)
        return None if grant is None else peer_of(grant)

    def admit(self, peer: Peer | None, frames: list[bytes], endpoint: str, send: Send) -> bool:
        """True if a message may be served; if not, its sender gets an error.

        Data that is no message of ours, or of an unknown type, passes: its reader counts it and
        answers.

        Args:
            peer: The sender; None: its key is not listed.
            frames: Its frames, the identity first.
            endpoint: Endpoint that received it, for counting refusals.
        """
        if peer is None:
            self._faults.record(f"{endpoint}: unauthorized", sender_key(frames[0]))
            self.refusals.note_unknown_key(sender_key(frames[0]), _tag(frames) or "connect")
            text = "this key may no longer connect"
            send(frames[0], ErrorMessage(code="unauthorized", text=text, fatal=True))
            return False
        if peer.is_far and not self._is_within(peer, frames):
            self._faults.record(f"{endpoint}: quota", peer.who)
            self.refusals.of_peer(
                peer, "send", "it sends more data than the hub accepts from one key"
            )
            text = "this key sends more data than the hub accepts from one key"
            error = ErrorMessage(
                code="quota", text=text, retry_ms=RETRY_MS, request_id=_request_number(frames)
            )
            send(frames[0], error)
            return False
        tag = _tag(frames)
        if tag not in KNOWN_TAGS or may_send(peer.role, tag):
            return True
        self._faults.record(f"{endpoint}: unauthorized", f"{peer.who}: {tag}")
        self.refusals.of_role(peer, tag, frames[2])
        text = why_not(peer.role, tag, peer.name)
        error = ErrorMessage(
            code="unauthorized", text=text, fatal=True, request_id=_request_number(frames)
        )
        send(frames[0], error)
        return False

    def _is_within(self, peer: Peer, frames: list[bytes]) -> bool:
        n_bytes = sum(len(frame) for frame in frames)
        return self._send_quota.try_spend(peer.key, n_bytes, self._clock.monotonic_s())


def _tag(frames: list[bytes]) -> str:
    if len(frames) != N_FRAMES or frames[1] != MAGIC:
        return ""
    try:
        return event_type(frames[2])
    except ProtocolError:
        return ""


class _RequestHead(msgspec.Struct):
    request_id: Count = 0


_head_decoder: Final = msgspec.msgpack.Decoder(_RequestHead)


def _request_number(frames: list[bytes]) -> int:
    try:
        return _head_decoder.decode(frames[2]).request_id
    except (IndexError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return 0


RETRY_MS: Final = 1000
"""Time until a sender over its quota should try again, milliseconds."""

MESSAGES_PER_S: Final = 4000
BYTES_PER_S: Final = 32 * 1024 * 1024

_BURST_S: Final = 2.0
_MAX_HOLDERS: Final = 2000


class SendQuota:
    """One token bucket for each key, refilled steadily, that holds two seconds' worth.

    Enough for many trainings, not enough to flood the hub.
    """

    def __init__(self) -> None:
        self._left: dict[str, _Left] = {}

    def try_spend(self, key: str, n_bytes: int, now_s: float) -> bool:
        """True if a message of this size is within the key's current quota.

        Args:
            now_s: Monotonic time.
        """
        left = self._left.get(key)
        if left is None:
            if len(self._left) >= _MAX_HOLDERS:
                self._left.clear()
            left = _Left(_BURST_S * MESSAGES_PER_S, _BURST_S * BYTES_PER_S, now_s)
            self._left[key] = left
        passed_s = max(0.0, now_s - left.at_s)
        left.at_s = now_s
        left.messages = min(_BURST_S * MESSAGES_PER_S, left.messages + passed_s * MESSAGES_PER_S)
        left.n_bytes = min(_BURST_S * BYTES_PER_S, left.n_bytes + passed_s * BYTES_PER_S)
        if left.messages < 1 or left.n_bytes < n_bytes:
            return False
        left.messages -= 1
        left.n_bytes -= n_bytes
        return True


@dataclass(slots=True)
class _Left:
    messages: float
    n_bytes: float
    at_s: float


_WINDOW_S: Final = 600.0
"""Time for which repeated refusals are only counted, and get one row at its end, seconds."""

_MOST_OF_ONE: Final = 10
_MOST: Final = 50
"""Rows in that time, of one key and of all: refusals must not displace completed actions."""

_STRANGERS: Final = "unknown keys"
"""Common name of unknown keys: anybody can create as many keys as he likes."""

WriteAudit = Callable[[str, str, str, str, str], object]
"""Writes a row of the audit: who, what, run, subject, result."""

_AuditedAction = tuple[str, str, str, str]
"""Name, action, run and subject, as in the audit."""


class Refusals:
    """Audit of refusals: each kind by each key once, the rest only counted.

    Owned by the hub's main thread.
    """

    def __init__(self, clock: Clock, audit: WriteAudit) -> None:
        self._write = audit
        self._clock = clock
        self._repeats: dict[_AuditedAction, int] = {}
        self._left_out = 0
        self._ends_s = float("-inf")

    def of_role(self, peer: Peer, tag: str, body: bytes) -> None:
        """Record a request that the sender's role does not allow."""
        self._note(*_audited_action(peer.who, tag, body), f"refused: its role is {peer.role}")

    def of_peer(self, peer: Peer, what: str, why: str) -> None:
        """Record another refusal of a peer."""
        self._note(peer.who, what, "", "", f"refused: {why}")

    def note_unknown_key(self, key: str, what: str) -> None:
        """Record a request of a key that is not on the list, or no longer."""
        self._note(_STRANGERS, what, "", key, "refused: this key has no access")

    def step(self) -> None:
        """Write the counted refusals once their time is over; call now and then."""
        if self._clock.monotonic_s() < self._ends_s:
            return
        again, self._repeats = self._repeats, {}
        left_out, self._left_out = self._left_out, 0
        for action, count in again.items():
            if count:
                self._write(*action, f"refused {count} more times")
        if left_out:
            self._write("several", "several", "", "", f"refused: {left_out} more")

    def _note(self, who: str, what: str, run: str, subject: str, result: str) -> None:
        self.step()
        if not self._repeats:
            self._ends_s = self._clock.monotonic_s() + _WINDOW_S
        action = (who, what, run, subject)
        if action in self._repeats:
            self._repeats[action] += 1
        elif len(self._repeats) >= _MOST or self._n_of(who) >= _MOST_OF_ONE:
            self._left_out += 1
        else:
            self._repeats[action] = 0
            self._write(*action, result)

    def _n_of(self, who: str) -> int:
        return sum(each[0] == who for each in self._repeats)


class _Grant(msgspec.Struct):
    key: Name = ""
    name: Name = ""


class _RefusedRequest(msgspec.Struct):
    run: Name = ""
    id: Name = ""
    name: Name | None = None
    delete: bool = False
    revoke: Name = ""
    authorize: _Grant | None = None


_refused_decoder: Final = msgspec.msgpack.Decoder(_RefusedRequest)


def _audited_action(who: str, tag: str, body: bytes) -> _AuditedAction:
    """Sender and request, in the audit's terms for completed actions."""
    try:
        request = _refused_decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        request = _RefusedRequest()
    if tag == "command_request":
        return who, f"command {request.name or ''}".rstrip(), request.run, request.id
    if tag == "edit":
        return who, "delete" if request.delete else "edit", request.run, request.name or ""
    if tag == "keys" and request.authorize is not None:
        return who, "authorize", "", f"{request.authorize.name} {request.authorize.key}"
    if tag == "keys":
        return who, "revoke" if request.revoke else "list keys", "", request.revoke
    return who, tag, request.run, ""
