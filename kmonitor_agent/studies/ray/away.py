"""One attempt on a node, as the study sees it."""

import time
from typing import Any

from kmonitor_agent.studies.attempts import Attempt, Cause
from kmonitor_agent.studies.bounds import Habits, Quiet, TimeBound
from kmonitor_agent.studies.launch import Known
from kmonitor_agent.studies.ray.messages import Arrived, Now, Verdict

_OBEYS_WITHIN_S = 30.0
"""How long a task may take to act on a verdict before Ray ends it, seconds."""


class Away:
    """Owned by the thread that runs the study.

    Attributes:
        fold: Index.
        attempt: From 1.
        stream: What its task tells, as Ray gives it.
        arrived: Where it runs; None while it waits for room.
        verdict: What the study ended it for; None: nothing.
    """

    def __init__(
        self, fold: int, attempt: int, stream: Any, known: Known, bound: TimeBound
    ) -> None:
        """Follow a task that was just sent.

        Args:
            fold: Index.
            attempt: From 1.
            stream: Of the task.
            known: What other folds taught.
            bound: How long an attempt may take.
        """
        self.fold = fold
        self.attempt = attempt
        self.stream = stream
        self.arrived: Arrived | None = None
        self.verdict: Verdict | None = None
        self._known = known
        self._bound = bound
        self._now: Now | None = None
        self._heard_s = 0.0
        self._judged_s = 0.0
        self._began_wall_s = time.time()

    @property
    def is_ready(self) -> bool:
        """Whether its function was found."""
        return self._now is not None and self._now.is_ready

    @property
    def share(self) -> float | None:
        """Part of its work that is done; None: not known."""
        return None if self._now is None else self._now.share

    @property
    def resident_bytes(self) -> int:
        """Of all its processes, when it last told."""
        return 0 if self._now is None else self._now.resident_bytes

    @property
    def device(self) -> str:
        """Its GPU there; empty without."""
        return "" if self._now is None else self._now.device

    @property
    def resumed(self) -> bool:
        """It went on where the attempt before was killed."""
        return self._now is not None and self._now.resumed

    @property
    def is_overdue(self) -> bool:
        """Whether its task did not act on the verdict."""
        return self.verdict is not None and time.monotonic() - self._judged_s > _OBEYS_WITHIN_S

    def arrive(self, arrived: Arrived) -> None:
        """Its task runs."""
        self.arrived, self._began_wall_s = arrived, time.time()

    def heard(self, now: Now) -> None:
        """It told how far it is."""
        self._now, self._heard_s = now, time.monotonic()

    def elapsed_s(self, now_s: float) -> float:
        """Since it began; 0 while it waits."""
        return 0.0 if self._now is None else self._now.elapsed_s + now_s - self._heard_s

    def limit_s(self, now_s: float) -> float | None:
        """How long it may take, seconds; None: not known yet."""
        elapsed_s, finished_s = self.elapsed_s(now_s), self._known.finished_s
        return self._bound.limit_s(elapsed_s, self.share, finished_s, self.attempt)

    def judge(self, now_s: float) -> Verdict | None:
        """By what the other folds taught: what it is to be ended for; told once."""
        now = self._now
        if now is None or self.verdict is not None:
            return None
        limit_s = None if self._bound.given_s is not None else self.limit_s(now_s)
        quiet = Quiet(now.phase, now.silent_s, Habits(now.habits), self._known.habits)
        if limit_s is not None and now.elapsed_s > limit_s:
            self.verdict = Verdict(*quiet.overdue(limit_s, now.elapsed_s, self._known.finished_s))
        elif why := quiet.hang():
            self.verdict = Verdict("hang", why)
        self._judged_s = now_s
        return self.verdict

    def ended_by(self, cause: Cause, why: str) -> Attempt:
        """How it ended, where its task cannot tell.

        Args:
            cause: As Ray says; the study's own verdict goes before it.
            why: In words.
        """
        now, verdict = self._now, self.verdict
        if verdict is not None and cause == "killed":
            cause, why = verdict.cause, verdict.why
        return Attempt(
            fold=self.fold,
            attempt=self.attempt,
            cause=cause,
            why=why,
            seconds=self.elapsed_s(time.monotonic()),
            steps=0 if now is None else now.steps,
            peak_bytes=0 if now is None else now.peak_bytes,
            device=self.device,
            resumed=self.resumed,
            began_wall_s=self._began_wall_s,
            node="" if self.arrived is None else self.arrived.host,
        )
