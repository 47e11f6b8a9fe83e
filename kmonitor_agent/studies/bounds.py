"""Bounds of a fold: time, silence and memory, given or learned. Pure: no clock, no IO."""

from dataclasses import dataclass, field
from statistics import median
from typing import Final, Literal

from kmonitor_agent.studies.attempts import seconds_text
from kmonitor_agent.studies.fold_messages import FitPhase, StepProgress

LEAST_S: Final = 60.0
"""Minimum of learned bounds, seconds."""

_SILENCE: Final = 3.0
"""Multiple of the longest earlier gap without steps from which a gap counts as a hang."""

_FACTORS: Final = (10.0, 6.0, 4.0)
"""A learned time is this multiple of the longest of one, two, or at least three finished folds.

Source: with times of folds spread log-normally by sigma 0.4, fewer than 1 in 10 000 is longer.
"""

_MOST: Final = 0.5
"""Part of a fold's time beyond the others' from which its silence is to blame."""

_SURE_SHARE: Final = 0.02
"""Part of its work below which a fold's own pace is not meaningful."""

_WHERE: Final[dict[FitPhase, str]] = {
    "begin": "at its start",
    "step": "within an epoch",
    "between": "between epochs",
    "after": "after a fit",
}


def learned_timeout_s(finished_s: list[float]) -> float | None:
    """Maximum time of a fold, learned from finished ones, seconds.

    None before one has finished.
    """
    if not finished_s:
        return None
    factor = _FACTORS[min(len(finished_s), len(_FACTORS)) - 1]
    return max(LEAST_S, factor * max(finished_s))


def forecast_s(elapsed_s: float, share: float | None, finished_s: list[float]) -> float | None:
    """Estimated total time of a fold, seconds; None while unknown.

    Args:
        share: Part of its work that is done, 0..1; None: unknown.
        finished_s: Durations of the folds that finished, seconds.
    """
    if share is not None and share >= _SURE_SHARE:
        return elapsed_s / share
    return max(elapsed_s, median(finished_s)) if finished_s else None


@dataclass(slots=True)
class StepGaps:
    """Longest gaps without a step, by phase; of one fold, or of the folds that finished.

    Attributes:
        longest_s: Longest gap of each phase, seconds.
    """

    longest_s: dict[FitPhase, float] = field(default_factory=dict["FitPhase", float])

    def note(self, phase: FitPhase, gap_s: float) -> None:
        """Note a gap that has ended with a step."""
        self.longest_s[phase] = max(gap_s, self.longest_s.get(phase, 0.0))

    def learn(self, other: "StepGaps") -> None:
        """Add the gaps of a fold that finished."""
        for phase, gap_s in other.longest_s.items():
            self.note(phase, gap_s)


@dataclass(slots=True)
class LearnedTimes:
    """Times learned from the folds that finished.

    Attributes:
        step_gaps: Gaps between steps of the folds that finished.
        finished_s: Durations of the folds that finished, seconds.
    """

    step_gaps: StepGaps = field(default_factory=StepGaps)
    finished_s: list[float] = field(default_factory=list[float])


class SilenceTracker:
    """Follows one fold's steps, and detects silences that are too long.

    Args:
        started_s: Time at which the fold began, on the clock of `StepProgress.at_s`.
        others: Gaps of the folds that finished.
    """

    def __init__(self, started_s: float, others: StepGaps) -> None:
        self.own = StepGaps()
        self._others = others
        self._last_s = started_s
        self._phase: FitPhase = "begin"
        self._last = (0, "begin")

    def note_progress(self, seen: StepProgress) -> None:
        """Take a progress message of the fold."""
        if (seen.steps, seen.phase) == self._last:
            return
        self._last = (seen.steps, seen.phase)
        self.own.note(self._phase, seen.at_s - self._last_s)
        self._last_s = seen.at_s
        self._phase = seen.phase

    def over(self, now_s: float) -> None:
        """Note that the fold finished: its last gap was healthy too."""
        self.own.note(self._phase, now_s - self._last_s)

    @property
    def phase(self) -> FitPhase:
        return self._phase

    def silent_s(self, now_s: float) -> float:
        """Time since its last step, seconds."""
        return now_s - self._last_s

    def judgement(self, now_s: float) -> "SilenceJudgement":
        return SilenceJudgement(self._phase, self.silent_s(now_s), self.own, self._others)


@dataclass(frozen=True, slots=True)
class SilenceJudgement:
    """A silence, with earlier ones to judge it by.

    Attributes:
        phase: Phase of the fit in which the fold is.
        silent_s: Time since its last step, seconds.
        own: Gaps of this fold.
        others: Gaps of the folds that finished.
    """

    phase: FitPhase
    silent_s: float
    own: StepGaps
    others: StepGaps

    def hang(self) -> str:
        """Reason why the fold hangs.

        Empty if it does not, or if there is no history of that phase.
        """
        return self._silence_text() if self.silent_s > LEAST_S and self._is_unusual() else ""

    def overdue(
        self, limit_s: float, elapsed_s: float, finished_s: list[float]
    ) -> tuple[Literal["timeout", "hang"], str]:
        """Cause and reason for ending a fold whose learned time is over: it is slow, or silent.

        The learned time counts from the fold's begin, so that it can end before a silence reaches
        the minimum bound; without that silence the fold might have been in time.

        Args:
            elapsed_s: Time since the fold began, seconds.
            finished_s: Durations of the folds that finished, seconds.
        """
        beyond_s = elapsed_s - max(finished_s, default=0.0)
        if self._is_unusual() and self.silent_s > _MOST * beyond_s:
            return (
                "hang",
                f"{self._silence_text()}; the finished folds suggest {limit_s:.4g} s in total",
            )
        return "timeout", too_long_text(limit_s)

    def _is_unusual(self) -> bool:
        longest_s = self._longest_s()
        return longest_s is not None and self.silent_s > _SILENCE * longest_s

    def _longest_s(self) -> float | None:
        """Longest healthy silence in this phase, seconds; None: there is no history of it."""
        if self.phase == "begin" and self.others.longest_s.keys() <= {"begin"}:
            return None  # a function that counts no steps: its begin is all of it
        known = [self.own.longest_s.get(self.phase)]
        if self.phase != "step" or known[0] is None:
            known.append(self.others.longest_s.get(self.phase))
        return max((each for each in known if each is not None), default=None)

    def _silence_text(self) -> str:
        longest = seconds_text(self._longest_s() or 0.0)
        text = f"no step for {self.silent_s:.0f} s {_WHERE[self.phase]}"
        return f"{text}; the longest pause before that was {longest} s"


@dataclass(frozen=True, slots=True)
class TimeBound:
    """Maximum time of each attempt of a fold.

    Attributes:
        timeout_s: The user's value, seconds; None: learned.
    """

    timeout_s: float | None = None

    def limit_s(
        self, elapsed_s: float, share: float | None, finished_s: list[float], attempt: int
    ) -> float | None:
        """Maximum time of this attempt, seconds; None: not known yet.

        A fold whose steps continue at their pace gets the time that it needs, however long others
            took: a hang shows as silence, not as slowness.

        Args:
            share: Part of its work that is done, 0..1; None: unknown.
            finished_s: Durations of the folds that finished, seconds.
            attempt: Number of the attempt, from 1; the learned bound doubles with each further
                attempt.
        """
        if self.timeout_s is not None:
            return self.timeout_s
        learned = learned_timeout_s(finished_s)
        if learned is None:
            return None
        learned *= 2.0 ** (attempt - 1)
        if share is not None and share >= _SURE_SHARE:
            learned = max(learned, _SILENCE * elapsed_s / share)
        return learned


def too_long_text(limit_s: float) -> str:
    """Reason for ending a fold that took longer than the learned time, seconds."""
    return f"it took longer than the {limit_s:.4g} s that the finished folds suggest"


def too_much_memory(tree_bytes: int, bound_bytes: int | None) -> bool:
    """True if a fold's processes hold more than their bound."""
    return bound_bytes is not None and tree_bytes > bound_bytes


def reserve_bytes(total_bytes: float) -> float:
    """Memory that a host must keep free for everything else, bytes."""
    return max(256 * 2**20, 0.03 * total_bytes)
