"""How many folds of a study are how far. Pure."""

from collections.abc import Collection, Iterable

from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.wire.messages.study_events import StudyTally, TrialOutcome


class Tallies:
    """Counts folds by what was told of them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._finished: set[int] = set()
        self._failed: set[int] = set()
        self._killed: set[int] = set()
        self._out_of_memory: set[int] = set()
        self._outcomes: dict[int, TrialOutcome] = {}
        self._running: set[int] = set()
        self._retried: set[int] = set()

    def know(self, before: Iterable[Attempt], finished: Collection[int]) -> None:
        """What ended before this start.

        Args:
            before: All tries.
            finished: Folds that will not run again; all others will.
        """
        self._finished.update(finished)
        for each in before:
            if each.fold in finished and each.cause == "finished":
                self._came_to(each)
        self._retried.update(each.fold for each in before if each.attempt > 1)

    def began(self, fold: int, attempt: int) -> None:
        """A try began."""
        self._running.add(fold)
        if attempt > 1:
            self._retried.add(fold)

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        """A try ended."""
        self._running.discard(attempt.fold)
        if again or attempt.cause == "interrupted":
            return
        kinds = {"finished": self._finished, "error": self._failed}
        kinds.get(attempt.cause, self._killed).add(attempt.fold)
        if attempt.cause == "out_of_memory":
            self._out_of_memory.add(attempt.fold)
        self._came_to(attempt)

    def now(self) -> StudyTally:
        """The counts."""
        finished, failed, killed = (
            len(each) for each in (self._finished, self._failed, self._killed)
        )
        outcomes = [*self._outcomes.values()]
        return StudyTally(
            over=finished + failed + killed,
            finished=finished,
            failed=failed,
            killed=killed,
            running=len(self._running),
            retried=len(self._retried),
            out_of_memory=len(self._out_of_memory),
            pruned=outcomes.count("pruned"),
            too_large=outcomes.count("too_large"),
        )

    def _came_to(self, attempt: Attempt) -> None:
        if attempt.outcome == "failed":
            self._finished.discard(attempt.fold)
            self._failed.add(attempt.fold)
        elif attempt.outcome:
            self._outcomes[attempt.fold] = attempt.outcome
