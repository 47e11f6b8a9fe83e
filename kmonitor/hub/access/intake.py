"""From frames to a message, or to an answer that says what was wrong with them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kmonitor.hub.access.peers import Send, key_of
from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.messages.codec import run_named
from kmonitor_agent.wire.messages.errors import ProtocolError, UnsupportedType
from kmonitor_agent.wire.messages.unions import ErrorMessage

T = TypeVar("T")


class Intake:
    """One socket's rule for bytes that are no message: count, and answer what can be answered."""

    def __init__(self, name: str, faults: HubFaults, send: Send) -> None:
        self._name = name
        self._faults = faults
        self._send = send

    def read(self, unpack: Callable[[Sequence[bytes]], T], frames: list[bytes]) -> T | None:
        """The message in `frames` (routing id first), None if it is none."""
        try:
            return unpack(frames[1:])
        except UnsupportedType as exc:
            self._faults.record(f"{self._name}: unknown type", exc.type_name)
            text = f"this hub does not know {exc.type_name!r}"
            self._send(frames[0], ErrorMessage(code="unsupported", text=text))
        except ProtocolError as exc:
            self._faults.record(f"{self._name}: malformed", exc, of=_sender(frames))
        return None


def _sender(frames: Sequence[bytes]) -> str:
    """Who sent what is no message, as far as that can be known: its key and the run it names."""
    return " ".join(filter(None, (key_of(frames[0]), run_named(frames[-1]))))
