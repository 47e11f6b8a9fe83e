"""Bounds of a fold: time, silence and memory, given or learned. Pure: no clock, no IO."""

from dataclasses import dataclass, field
from statistics import median
from typing import Final, Literal

from kmonitor_agent.studies.attempts import seconds_text
from kmonitor_agent.studies.fold_messages import FitPhase, StepProgress

LEAST_S: Final = 60.0
"""No bound that was learned is shorter, seconds."""

_SILENCE: Final = 3.0
"""A gap without steps counts as a hang at so many times the longest one before."""

_FACTORS: Final = (10.0, 6.0, 4.0)
"""A learned time is so many times the longest of one, two, three or more finished folds.

Source: with times of folds spread log-normally by sigma 0.4, fewer than 1 in 10 000 is longer.
"""

_MOST: Final = 0.5
"""From this part on of what a fold took beyond the others, it is its silence that is at fault."""

_SURE_SHARE: Final = 0.02
"""Below this part of its work a fold's own pace says nothing."""

_WHERE: Final[dict[FitPhase, str]] = {
    "begin": "at its start",
    "step": "within an epoch",
    "between": "between epochs",
    "after": "after a fit",
}


def learned_timeout_s(finished_s: list[float]) -> float | None:
    """How long a fold may take, by those that finished; None before one has."""
    if not finished_s:
        return None
    factor = _FACTORS[min(len(finished_s), len(_FACTORS)) - 1]
    return max(LEAST_S, factor * max(finished_s))


def forecast_s(elapsed_s: float, share: float | None, finished_s: list[float]) -> float | None:
    """How long a fold will take in all, seconds; None while it is not known.

    Args:
        share: Part of its work that is done, 0..1; None: not known.
        finished_s: Seconds of the folds that finished.
    """
    if share is not None and share >= _SURE_SHARE:
        return elapsed_s / share
    return max(elapsed_s, median(finished_s)) if finished_s else None


@dataclass(slots=True)
class StepGaps:
    """The longest gaps without a step, by where they were; of one fold, or of those that finished.

    Attributes:
        longest_s: Seconds.
    """

    longest_s: dict[FitPhase, float] = field(default_factory=dict["FitPhase", float])

    def note(self, phase: FitPhase, gap_s: float) -> None:
        """A gap is over, and the fold went on."""
        self.longest_s[phase] = max(gap_s, self.longest_s.get(phase, 0.0))

    def learn(self, other: "StepGaps") -> None:
        """A fold finished that had these."""
        for phase, gap_s in other.longest_s.items():
            self.note(phase, gap_s)


@dataclass(slots=True)
class LearnedTimes:
    """What the folds that finished taught.

    Attributes:
        step_gaps: Their gaps between steps.
        finished_s: Their seconds.
    """

    step_gaps: StepGaps = field(default_factory=StepGaps)
    finished_s: list[float] = field(default_factory=list[float])


class SilenceTracker:
    """Follows one fold's steps; knows when it has been silent for too long."""

    def __init__(self, started_s: float, others: StepGaps) -> None:
        """Begin.

        Args:
            started_s: When the fold began, on the clock of `StepProgress.at_s`.
            others: Of the folds that finished.
        """
        self.own = StepGaps()
        self._others = others
        self._last_s = started_s
        self._phase: FitPhase = "begin"
        self._last = (0, "begin")

    def note_progress(self, seen: StepProgress) -> None:
        """The fold sent how far it is."""
        if (seen.steps, seen.phase) == self._last:
            return
        self._last = (seen.steps, seen.phase)
        self.own.note(self._phase, seen.at_s - self._last_s)
        self._last_s = seen.at_s
        self._phase = seen.phase

    def over(self, now_s: float) -> None:
        """The fold finished: its last gap was a healthy one too."""
        self.own.note(self._phase, now_s - self._last_s)

    @property
    def phase(self) -> FitPhase:
        """Where in a fit it is."""
        return self._phase

    def silent_s(self, now_s: float) -> float:
        """Since its last step, seconds."""
        return now_s - self._last_s

    def judgement(self, now_s: float) -> "SilenceJudgement":
        """Its silence at this moment, to be judged."""
        return SilenceJudgement(self._phase, self.silent_s(now_s), self.own, self._others)


@dataclass(frozen=True, slots=True)
class SilenceJudgement:
    """A silence beside what is known of such.

    Attributes:
        phase: Where in a fit the fold is.
        silent_s: Since its last step, seconds.
        own: Its own gaps.
        others: Those of the folds that finished.
    """

    phase: FitPhase
    silent_s: float
    own: StepGaps
    others: StepGaps

    def hang(self) -> str:
        """Why the fold hangs; empty when it does not, or there is no history of that place."""
        return self._silence_text() if self.silent_s > LEAST_S and self._is_unusual() else ""

    def overdue(
        self, limit_s: float, elapsed_s: float, finished_s: list[float]
    ) -> tuple[Literal["timeout", "hang"], str]:
        """Why a fold is ended whose learned time is over: it is slow, or silent.

        The learned time counts from its begin, so that it is over before a silence of the least
        bound is; without that silence the fold might have been in time.

        Args:
            elapsed_s: How long it took so far.
            finished_s: Seconds of the folds that finished.
        """
        beyond_s = elapsed_s - max(finished_s, default=0.0)
        if self._is_unusual() and self.silent_s > _MOST * beyond_s:
            return (
                "hang",
                f"{self._silence_text()}; the finished folds suggest {limit_s:.4g} s in all",
            )
        return "timeout", too_long_text(limit_s)

    def _is_unusual(self) -> bool:
        longest_s = self._longest_s()
        return longest_s is not None and self.silent_s > _SILENCE * longest_s

    def _longest_s(self) -> float | None:
        """The longest healthy silence at this place; None: there is no history of it."""
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
    """How long each attempt of a fold may take.

    Attributes:
        timeout_s: What the user said; None: it is learned.
    """

    timeout_s: float | None = None

    def limit_s(
        self, elapsed_s: float, share: float | None, finished_s: list[float], attempt: int
    ) -> float | None:
        """How long this attempt may take, seconds; None: not known yet.

        A fold whose steps go on at their pace gets the time that it needs, however long others
        took: silence, not slowness, is what a hang shows.

        Args:
            share: Part of its work that is done, 0..1; None: not known.
            finished_s: Seconds of the folds that finished.
            attempt: From 1; after a learned bound proved too short the next is twice as long.
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
    """Why a fold is ended that took longer than was learned, seconds."""
    return f"it took longer than the {limit_s:.4g} s that the finished folds suggest"


def too_much_memory(tree_bytes: int, bound_bytes: int | None) -> bool:
    """Whether a fold's processes hold more than they may."""
    return bound_bytes is not None and tree_bytes > bound_bytes


def reserve_bytes(total_bytes: float) -> float:
    """What a host must keep free for everything else, bytes."""
    return max(256 * 2**20, 0.03 * total_bytes)
