"""What was refused, for the audit: each kind by each key once, the rest only counted."""

from typing import TYPE_CHECKING, Final

import msgspec

from kmonitor.hub.access.peers import Peer
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.identity import Name

if TYPE_CHECKING:
    from collections.abc import Callable

_WINDOW_S: Final = 600.0
"""What is refused again within this time, seconds, is counted and gets one row at its end."""

_MOST_OF_ONE: Final = 10
_MOST: Final = 50
"""Rows in that time, of one key and of all: who is refused must not drive out what was done."""

_STRANGERS: Final = "unknown keys"
"""Who they are all together: anybody can make as many keys as he likes."""

_Deed = tuple[str, str, str, str]
"""Who, what, run, subject; as the audit has them."""


class _Grant(msgspec.Struct):
    key: Name = ""
    name: Name = ""


class _Asked(msgspec.Struct):
    run: Name = ""
    id: Name = ""
    name: Name | None = None
    delete: bool = False
    revoke: Name = ""
    authorize: _Grant | None = None


_asked: Final = msgspec.msgpack.Decoder(_Asked)


class Refusals:
    """Owned by the hub's main thread.

    Attributes:
        write: Writes a row of the audit: who, what, run, subject, result.
    """

    def __init__(self, clock: Clock) -> None:
        self.write: Callable[[str, str, str, str, str], None] = _nowhere
        self._clock = clock
        self._again: dict[_Deed, int] = {}
        self._left_out = 0
        self._ends_s = float("-inf")

    def of_role(self, peer: Peer, tag: str, body: bytes) -> None:
        """What somebody asked for whose role may not."""
        self._note(*_deed(peer.who, tag, body), f"refused: its role is {peer.role}")

    def of_peer(self, peer: Peer, what: str, why: str) -> None:
        """Something else that somebody was refused."""
        self._note(peer.who, what, "", "", f"refused: {why}")

    def of_stranger(self, key: str, what: str) -> None:
        """What a key asked for that is not on the list, or no longer."""
        self._note(_STRANGERS, what, "", key, "refused: this key is not let in")

    def step(self) -> None:
        """Write what was only counted, once its time is over; call now and then."""
        if self._clock.monotonic_s() < self._ends_s:
            return
        again, self._again = self._again, {}
        left_out, self._left_out = self._left_out, 0
        for deed, count in again.items():
            if count:
                self.write(*deed, f"refused {count} times more")
        if left_out:
            self.write("several", "several", "", "", f"refused: {left_out} more")

    def _note(self, who: str, what: str, run: str, subject: str, result: str) -> None:
        self.step()
        if not self._again:
            self._ends_s = self._clock.monotonic_s() + _WINDOW_S
        deed = (who, what, run, subject)
        if deed in self._again:
            self._again[deed] += 1
        elif len(self._again) >= _MOST or self._n_of(who) >= _MOST_OF_ONE:
            self._left_out += 1
        else:
            self._again[deed] = 0
            self.write(*deed, result)

    def _n_of(self, who: str) -> int:
        return sum(each[0] == who for each in self._again)


def _deed(who: str, tag: str, body: bytes) -> _Deed:
    """Who asked for what, as the audit tells of it when it is done."""
    try:
        asked = _asked.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        asked = _Asked()
    if tag == "cmdreq":
        return who, f"command {asked.name or ''}".rstrip(), asked.run, asked.id
    if tag == "edit":
        return who, "delete" if asked.delete else "edit", asked.run, asked.name or ""
    if tag == "keys" and asked.authorize is not None:
        return who, "authorize", "", f"{asked.authorize.name} {asked.authorize.key}"
    if tag == "keys":
        return who, "revoke" if asked.revoke else "list keys", "", asked.revoke
    return who, tag, asked.run, ""


def _nowhere(_who: str, _what: str, _run: str, _subject: str, _result: str) -> None: ...
