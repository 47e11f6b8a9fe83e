"""Questions for series go to a thread of their own, which only reads."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from kmonitor_agent.protocol.facts import SourceOf
from kmonitor_agent.protocol.messages import SeriesAsked


class SeriesDesk:
    """Stub."""

    def __init__(self, path: Path, wake: Callable[[], None]) -> None:
        self._path = path

    def start(self) -> None:
        """Start."""

    def stop(self) -> None:
        """Stop."""

    def ask(
        self, identity: bytes, asked: SeriesAsked, run_key: int, sources: list[SourceOf]
    ) -> bool:
        """Ask."""
        return False

    def take_answers(self) -> list[tuple[bytes, msgspec.Struct]]:
        """Answers."""
        return []
