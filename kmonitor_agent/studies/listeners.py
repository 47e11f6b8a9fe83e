"""Who hears how a study goes: the terminal and the hub, in one voice."""

from collections.abc import Sequence
from typing import Protocol

from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.followed import Followed


class Listener(Protocol):
    """Told by the thread that runs the study; neither raises nor waits."""

    def move(self, done: int, running: Sequence[Followed], finished_s: list[float]) -> None:
        """The study goes on; told many times a second.

        Args:
            done: Folds that are over.
            running: Those that run.
            finished_s: Seconds of those that finished.
        """

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        """An attempt ended; the fold is tried again, or over."""


class Listeners:
    """Several, as one."""

    def __init__(self, *each: Listener) -> None:
        """Tell these, in this order."""
        self._each = each

    def move(self, done: int, running: Sequence[Followed], finished_s: list[float]) -> None:
        """See `Listener`."""
        for listener in self._each:
            listener.move(done, running, finished_s)

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        """See `Listener`."""
        for listener in self._each:
            listener.ended(attempt, again=again)
