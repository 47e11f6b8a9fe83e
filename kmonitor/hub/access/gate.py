"""Every message passes here before it is read: who sent it, and may they?"""

from typing import Final

import msgspec

from kmonitor.hub.access.allowance import RETRY_MS, Allowance
from kmonitor.hub.access.authorization import Refusals
from kmonitor.hub.access.keys import KeyList
from kmonitor.hub.access.peers import LOCAL_USER, Peer, Send, key_of, peer_of
from kmonitor.hub.access.roles import KNOWN_TAGS, may_send, why_not
from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.codec import event_type
from kmonitor_agent.wire.messages.errors import ProtocolError
from kmonitor_agent.wire.messages.identity import Count
from kmonitor_agent.wire.messages.unions import ErrorMessage
from kmonitor_agent.wire.messages.version import MAGIC

_FRAMES: Final = 3


class _Asked(msgspec.Struct):
    ask: Count = 0


_asked: Final = msgspec.msgpack.Decoder(_Asked)


class Gate:
    """Owned by the hub's main thread.

    Attributes:
        refusals: Told of what was refused, for the audit.
    """

    def __init__(self, keys: KeyList, faults: HubFaults, clock: Clock) -> None:
        self.refusals = Refusals(clock)
        self._keys = keys
        self._faults = faults
        self._clock = clock
        self._allowance = Allowance()

    def who(self, identity: bytes) -> Peer | None:
        """Who is behind an identity by the list as it is now; None: nobody any more."""
        key = key_of(identity)
        if not key:
            return LOCAL_USER
        grant = self._keys.find(key)
        return None if grant is None else peer_of(grant)

    def admit(self, peer: Peer | None, frames: list[bytes], door: str, send: Send) -> bool:
        """Whether a message may be served; who sent it is told when not.

        What is no message of ours, or of no type that is known here, passes: whoever reads it
        counts it and answers.

        Args:
            peer: Who sent it; None: nobody who may.
            frames: Its frames, the identity first.
            door: Where it came in, to count what is refused.
            send: For the answer.
        """
        if peer is None:
            self._faults.record(f"{door}: unauthorised", key_of(frames[0]))
            self.refusals.of_stranger(key_of(frames[0]), _tag(frames) or "connect")
            text = "this key may not connect any more"
            send(frames[0], ErrorMessage(code="unauthorised", text=text, fatal=True))
            return False
        if peer.is_far and not self._is_within(peer, frames):
            self._faults.record(f"{door}: quota", peer.who)
            self.refusals.of_peer(peer, "send", "it sends more than the hub takes from one key")
            text = "this key sends more than the hub takes from one"
            error = ErrorMessage(code="quota", text=text, retry_ms=RETRY_MS, ask=_ask(frames))
            send(frames[0], error)
            return False
        tag = _tag(frames)
        if tag not in KNOWN_TAGS or may_send(peer.role, tag):
            return True
        self._faults.record(f"{door}: unauthorised", f"{peer.who}: {tag}")
        self.refusals.of_role(peer, tag, frames[2])
        text = why_not(peer.role, tag, peer.name)
        error = ErrorMessage(code="unauthorised", text=text, fatal=True, ask=_ask(frames))
        send(frames[0], error)
        return False

    def _is_within(self, peer: Peer, frames: list[bytes]) -> bool:
        n_bytes = sum(len(frame) for frame in frames)
        return self._allowance.take(peer.key, n_bytes, self._clock.monotonic_s())


def _tag(frames: list[bytes]) -> str:
    if len(frames) != _FRAMES or frames[1] != MAGIC:
        return ""
    try:
        return event_type(frames[2])
    except ProtocolError:
        return ""


def _ask(frames: list[bytes]) -> int:
    try:
        return _asked.decode(frames[2]).ask
    except (IndexError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return 0
