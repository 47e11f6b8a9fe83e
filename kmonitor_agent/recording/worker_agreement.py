"""Agreement of the workers of one fit to reload at the same step, or none of them.

The first worker that reaches an epoch's end decides for all if they meet there: an entry in the
coordination store names the caller, or says that there is none. At a meeting each worker writes
that it is present, makes its state safe, writes that too, and reads the decision; the first
decision written counts. A worker that waited in vain writes that none acts. Without a call the
cost is two short messages per epoch.
"""

import itertools
from collections.abc import Callable
from time import monotonic
from typing import Final

from kmonitor_agent.frameworks.base import Framework, KerasModel
from kmonitor_agent.frameworks.tensorflow.workers import (
    CoordinationStore,
    HasWorkerGroup,
    NoCoordination,
    WorkerGroup,
)
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from kmonitor_agent.recording.action_requests import ActionRequest

COMES_WITHIN_S: Final = 30.0
"""Maximum wait for other workers at the end of an epoch, seconds: they end it together."""

SAVES_WITHIN_S: Final = 600.0
"""Maximum wait for the chief to write the state, seconds."""

_NOBODY: Final = "-"
_YES: Final = "yes"
_GO: Final = "go"
_READS_WITHIN_S: Final = 10.0
_MOST_TEXT: Final = 1000
_PREPARING: Final = "the reload failed on"

_COUNT: Final = itertools.count(1)
"""Counter of fits of several workers in this process; all workers run the same fits in order."""


class WorkerAgreement:
    """Agreement with the other workers of one fit; implements `ReloadAgreement`; training thread.

    Attributes:
        requests: Requests of this worker that wait for a meeting.
    """

    def __init__(self, group: WorkerGroup, store: CoordinationStore) -> None:
        self.requests: list[ActionRequest] = []
        self._worker_group = group
        self._coordination_store = store
        self._others = [name for name in group.members if name != group.name]
        self._epoch = 0
        self._has_voted = False
        self._missing = ""

    @property
    def is_chief(self) -> bool:
        """True if this worker writes for all."""
        return self._worker_group.is_chief

    def call(self, request: ActionRequest, epoch: int) -> str:
        """Call a meeting at this epoch's end, or at the next one's if some workers are past it.

        Args:
            epoch: Index of the epoch that is running or ends now.

        Returns:
            Reason why there will be no meeting; empty if there will be one.
        """
        text = f"{request.requested_by}, on {self._worker_group.name}"[:_MOST_TEXT]
        try:
            for at_epoch in (epoch, epoch + 1):
                if self._coordination_store.put(f"{at_epoch}/called", text) or self._called(
                    at_epoch
                ):
                    self.requests.append(request)
                    return ""
        except NoCoordination as exc:
            return exc.why
        return "the other workers are several epochs ahead"

    def called_by(self, epoch: int) -> str:
        """Caller of a meeting at this epoch's end; empty if there is no meeting."""
        self._epoch = epoch
        self._has_voted = False
        try:
            is_over = self._coordination_store.put(f"{epoch}/called", _NOBODY)
            if self.is_chief and epoch >= 2:  # noqa: PLR2004 - nobody is two epochs behind
                self._coordination_store.forget(f"{epoch - 2}/called")
            return "" if is_over else self._called(epoch)
        except NoCoordination:
            return ""

    def act_together(
        self, act: Callable[[], ReclaimOutcome], nothing: Callable[[str], ReclaimOutcome]
    ) -> ReclaimOutcome:
        """Meet the others and act with them, or not at all.

        Args:
            act: Reloads; calls `all_prepared`.
            nothing: Returns the outcome of doing nothing, for this reason.
        """
        why = self._gather()
        outcome = nothing(why) if why else act()
        if not self._has_voted:
            why = why or f"{_PREPARING} {self._worker_group.name}: {outcome.why}"
            outcome = nothing(self._vote(why))
        return outcome

    def all_prepared(self) -> str:
        return self._vote(_YES)

    def _called(self, epoch: int) -> str:
        text = self._coordination_store.read(f"{epoch}/called", _READS_WITHIN_S)
        return "" if text in (None, _NOBODY) else text

    def _gather(self) -> str:
        """Wait until all workers are present; return why not, else ""."""
        try:
            vote = self._missing or _YES
            self._coordination_store.put(
                f"{self._epoch}/here/{self._worker_group.name}", vote[:_MOST_TEXT]
            )
            why = self._missing or self._first_objection("here", COMES_WITHIN_S)
        except NoCoordination as exc:
            return exc.why
        if why and not self._missing:
            # Not again in this fit: each time all would wait for it.
            self._missing = f"{why}; the action will not be retried in this fit"
        return why

    def _vote(self, vote: str) -> str:
        self._has_voted = True
        try:
            self._coordination_store.put(
                f"{self._epoch}/ready/{self._worker_group.name}", vote[:_MOST_TEXT]
            )
            why = self._first_objection("ready", SAVES_WITHIN_S) if vote == _YES else vote
            return self._decide(why)
        except NoCoordination as exc:
            return exc.why

    def _first_objection(self, what: str, within_s: float) -> str:
        until_s = monotonic() + within_s
        for name in self._others:
            left_s = max(0.1, until_s - monotonic())
            text = self._coordination_store.read(f"{self._epoch}/{what}/{name}", left_s)
            if text is None:
                return f"{name} did not respond within {within_s:.0f} s at the end of the epoch"
            if text != _YES:
                return text
        return ""

    def _decide(self, why: str) -> str:
        key = f"{self._epoch}/decided"
        self._coordination_store.put(key, why[:_MOST_TEXT] or _GO)
        decided = self._coordination_store.read(key, _READS_WITHIN_S)
        if decided == _GO:
            return ""
        return f"no worker reloaded: {decided or 'the decision could not be read'}"


def worker_agreement(framework: Framework, model: KerasModel) -> WorkerAgreement | None:
    """Agreement for a fit that begins; None if a process trains alone, or workers cannot meet."""
    steps = framework.reclaim_steps()
    if not isinstance(steps, HasWorkerGroup):
        return None
    workers = steps.group(model)
    if len(workers.members) <= 1 or workers.name not in workers.members:
        return None
    try:
        return WorkerAgreement(workers, workers.store(str(next(_COUNT))))
    except NoCoordination:
        return None  # the action then says why
