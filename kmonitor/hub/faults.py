"""The hub's own faults: counted, logged at a bounded rate, never the end of the hub."""

import logging
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from kmonitor.hub.store.connection import RETRYABLE_ERRORS
from kmonitor_agent.wire.messages.codec import ProtocolError

EXTERNAL_FAULTS = (ProtocolError, OSError, *RETRYABLE_ERRORS)
"""Faults of a peer's bytes or the disk: the place in our code that noticed them is of no use."""

_MAX_PARTS = 64
_MAX_NAMED = 1000
"""Offenders that are named once each; further ones are only counted."""

_MAX_TEXT = 500


class HubFaults:
    """Counts faults by part. Owned by the hub's main thread."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._counts: Counter[str] = Counter()
        self._named: set[tuple[str, str]] = set()

    def record(self, where: str, what: object = "", *, of: str = "") -> None:
        """Count one fault of the part `where`; the 1st, 2nd, 4th, 8th ... is also logged.

        Args:
            what: Exception, or text.
            of: The offender: a run, key, file or row. Each is logged once, the first time.
        """
        if where not in self._counts and len(self._counts) >= _MAX_PARTS:
            where = "other"
        self._counts[where] += 1
        count = self._counts[where]
        is_named = of and (where, of) in self._named
        is_new = of and not is_named and len(self._named) < _MAX_NAMED
        if is_new:
            self._named.add((where, of))
        # Powers of two: a peer that sends rubbish for a night fills no disk.
        if is_new or (not is_named and count & (count - 1) == 0):
            exc = what if isinstance(what, BaseException) else None
            if isinstance(exc, EXTERNAL_FAULTS):
                exc = None
            text = f"{fault_text(of)}: {fault_text(what)}" if of else fault_text(what)
            self._log.warning("%s (%d so far): %s", where, count, text, exc_info=exc)

    def fault_counts(self) -> dict[str, int]:
        """Faults since the hub started, by part."""
        return dict(self._counts)

    @contextmanager
    def guarded(self, where: str, *, of: str = "") -> Generator[None]:
        """Keep exceptions inside the block from the hub's loop. Args: as of `record`."""
        try:
            yield
        except Exception as exc:  # noqa: BLE001 - one bad message must not end the hub
            self.record(where, exc, of=of)


def fault_text(what: object) -> str:
    """An exception or a text as one line of the log."""
    text = str(what)
    if isinstance(what, BaseException):
        text = f"{type(what).__name__}: {text}".removesuffix(": ")
    # Some of it may be a peer's: it gets no line of its own, and no terminal's control codes.
    plain = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return plain[:_MAX_TEXT] or "-"
