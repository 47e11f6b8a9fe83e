"""The hub's own faults: counted, logged at a bounded rate, never the end of the hub."""

import logging
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from kmonitor.hub.store.connection import CANNOT_NOW
from kmonitor_agent.protocol.errors import ProtocolError

_MAX_PLACES = 64
_MAX_WORDS = 500

_NOT_OUR_FAULT = (ProtocolError, OSError, *CANNOT_NOW)
"""A peer's bytes or the disk: where in our code it was noticed helps nobody."""


class HubFaults:
    """Counts faults by part. Owned by the hub's main thread."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._counts: Counter[str] = Counter()

    def record(self, where: str, what: object = "") -> None:
        """Count one fault of the part `where`; the 1st, 2nd, 4th, 8th ... is also logged."""
        if where not in self._counts and len(self._counts) >= _MAX_PLACES:
            where = "other"
        self._counts[where] += 1
        count = self._counts[where]
        # Powers of two: a peer that sends rubbish for a night fills no disk.
        if count & (count - 1) == 0:
            exc = what if isinstance(what, BaseException) else None
            if isinstance(exc, _NOT_OUR_FAULT):
                exc = None
            self._log.warning("%s (%d so far): %s", where, count, _words(what), exc_info=exc)

    def counts(self) -> dict[str, int]:
        """Faults since the hub started, by part."""
        return dict(self._counts)

    @contextmanager
    def guarded(self, where: str) -> Generator[None]:
        """Let nothing that is raised inside reach the hub's loop."""
        try:
            yield
        except Exception as exc:  # noqa: BLE001 - one bad message must not end the hub
            self.record(where, exc)


def _words(what: object) -> str:
    text = str(what)
    if isinstance(what, BaseException):
        text = f"{type(what).__name__}: {text}".removesuffix(": ")
    # Some of it may be a peer's: it gets no line of its own, and no terminal's control codes.
    plain = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return plain[:_MAX_WORDS] or "-"
