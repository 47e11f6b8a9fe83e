"""What those who follow a study see of an attempt, wherever it runs."""

from typing import Protocol


class Followed(Protocol):
    """An attempt that runs."""

    @property
    def fold(self) -> int:
        """Index, from 0."""
        ...

    @property
    def attempt(self) -> int:
        """From 1."""
        ...

    @property
    def device(self) -> str:
        """GPU that it is pinned to; empty without."""
        ...

    @property
    def resumed(self) -> bool:
        """It goes on where the attempt before was killed."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether its function was found."""
        ...

    @property
    def share(self) -> float | None:
        """Part of its work that is done, 0..1; None: not known."""
        ...

    @property
    def resident_bytes(self) -> int:
        """Of all its processes, at the last look."""
        ...

    def elapsed_s(self, now_s: float) -> float:
        """Since it began, seconds; 0 before.

        Args:
            now_s: `time.monotonic`.
        """
        ...

    def limit_s(self, now_s: float) -> float | None:
        """How long it may take, seconds; None: not known yet.

        Args:
            now_s: `time.monotonic`.
        """
        ...
