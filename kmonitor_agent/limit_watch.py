"""Watches of limits: when a metric has crossed one, and when and how kmonitor responds.

Pure: no clock, no IO, no locks; owned by the caller. `Escalation` decides the next level of
`auto`: collect, then reload, then restart, as far as needed.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, get_args

from kmonitor_agent.wire.messages.commands import STEP_TIME_METRICS, LimitMetric, LimitSpec
from kmonitor_agent.wire.messages.events import LimitCrossed

RELEASE_PART: Final = 0.95
"""A crossed limit is released when its metric falls to this part of the threshold."""


GROWTH_PART: Final = 0.05
"""A limit that stays crossed is answered again only after the metric grew by this part of the
threshold above where the last answer left it, and after the cooldown.

Source: measured: TensorFlow keeps freed pages, so a resident set stays high after a reload
and an RSS limit would fire again at once."""


MOST_IN_VAIN: Final = 2
"""Number of restarts in a row without effect after which a limit requests no more."""


_REPEATED: Final = frozenset({"collect", "reload", "restart"})
"""Actions that are repeated while the limit stays crossed: they may free the growth since."""


JUDGED_AT_ONCE: Final = frozenset(
    {"graph", "functions", "open_files", "threads", "processes", "shared_memory", "epoch_time"}
) | frozenset(STEP_TIME_METRICS)
"""Metrics whose first reading after an action shows if it helped.

Freed memory often stays with the process: with `ram` and `vram`, only later growth shows that an
action did not help.
"""


class LimitWatch:
    """Judges the readings of one metric against one limit.

    Attributes:
        escalation: Past and next levels of `auto`; None for all other actions.
        restarts_in_vain: Restarts in a row for this limit, up to the one that started this
            process, after which the metric was at or near the limit again at once.
    """

    def __init__(self, spec: LimitSpec) -> None:
        self.spec = spec
        self._above_since_s: float | None = None
        self._crossed = False
        self._answered_s: float | None = None
        self._owed = False
        self._base: float | None = None
        self._base_wanted = False
        self._waits_for_answer = False
        self._was_started_again = False
        self._vain_before: int | None = None
        self.restarts_in_vain = 0
        self.escalation = Escalation(spec.cooldown_s) if spec.action == "auto" else None

    @property
    def is_crossed(self) -> bool:
        """True if the metric crossed the limit and has not fallen to the release level since."""
        return self._crossed

    @property
    def is_in_vain(self) -> bool:
        """True if restarts do not help: the needs of a new process are at or near the limit."""
        return self.restarts_in_vain >= MOST_IN_VAIN

    def threshold(self, of: float | None) -> float | None:
        """The threshold in the metric's unit, or None while a percentage has no bound.

        Args:
            of: The whole that a percentage refers to, in the metric's unit; None if unbounded.
        """
        if self.spec.value is not None:
            return self.spec.value
        if self.spec.fraction is None or of is None:
            return None
        return self.spec.fraction * of

    def observe(self, value: float | None, of: float | None, t_s: float) -> LimitCrossed | None:
        """Judge one reading.

        Args:
            value: The metric now, in its unit; None or NaN is not judged.
            of: The whole that a percentage refers to; see `threshold`.
            t_s: When it was read, seconds; never falls from call to call.

        Returns:
            A crossing (`answered` says whether its action is due), a release, or None.
        """
        threshold = self.threshold(of)
        if value is None or threshold is None or math.isnan(value):
            return None
        if self._vain_before is not None and value > RELEASE_PART * threshold:
            self.restarts_in_vain = self._vain_before + 1
            self._vain_before = None
        is_after_restart, self._was_started_again = self._was_started_again, False
        if is_after_restart and value > threshold and not self._has_cooled_down(t_s):
            self._crossed = True
            self._base = value
            return self._event(value, threshold, t_s, answered=False)
        is_first, self._base_wanted = self._base_wanted, False
        if is_first:
            self._base = value
        if self._crossed and value > RELEASE_PART * threshold:
            is_due = self._is_due_again(value, threshold, t_s, is_first=is_first)
            return self._answer(value, threshold, t_s) if is_due else None
        if value > threshold:
            return self._hold(value, threshold, t_s)
        self._above_since_s = None
        if self._crossed and value <= RELEASE_PART * threshold:
            return self._release(value, threshold, t_s)
        return None

    def reset_base(self) -> None:
        """Count growth from the next reading on; the action has run."""
        self._base_wanted = True
        self._waits_for_answer = False

    def started_again(self, t_s: float, in_vain: int = 0, futile: Collection[str] = ()) -> None:
        """Set the state for a process that was started by a restart that this limit requested.

        A process that is above the limit from its first reading on would be restarted forever. In
        that case the restart did not help; another one is due when the metric has grown above its
        value at the end of the cooldown.

        Args:
            t_s: Time at which the process began, seconds.
            in_vain: `restarts_in_vain` of the process that requested it.
            futile: `Escalation.remembered` of the process before.
        """
        self._vain_before = in_vain
        if self.escalation is not None:
            self.escalation.started_again(t_s, futile)
        else:
            self._answered_s = t_s
            self._was_started_again = True

    def end_trial(self) -> None:
        """Note the end of this process's first epochs: later growth is not a fixed need."""
        self._vain_before = None

    def wait_for_level(self) -> None:
        """Request the next level of `auto` when its cooldown has passed."""
        self._waits_for_answer = False
        self._owed = True

    def _hold(self, value: float, threshold: float, t_s: float) -> LimitCrossed | None:
        if self._above_since_s is None:
            self._above_since_s = t_s
        if t_s - self._above_since_s < self.spec.hold_s:
            return None
        self._crossed = True
        if self._has_cooled_down(t_s):
            return self._answer(value, threshold, t_s)
        self._owed = True
        return self._event(value, threshold, t_s, answered=False)

    def _is_due_again(self, value: float, threshold: float, t_s: float, *, is_first: bool) -> bool:
        if self._waits_for_answer:
            return False
        grew = value > (self._base or 0.0) + GROWTH_PART * threshold
        if self.escalation is None:
            if self.spec.action == "restart" and not self._has_cooled_down(t_s):
                # The memory that a new process takes in its first epochs is not growth.
                self._base = max(self._base or 0.0, value)
            repeats = self.spec.action in _REPEATED and grew
            wanted = value > threshold and (self._owed or repeats)
        else:
            # After all actions have failed, try again only once the value has grown.
            judged = is_first and self.spec.metric in JUDGED_AT_ONCE
            self._owed = self._owed or grew or (judged and not self.escalation.is_over)
            wanted = self._owed
        return wanted and self._has_cooled_down(t_s)

    def _has_cooled_down(self, t_s: float) -> bool:
        if self.escalation is not None:
            return self.escalation.is_due(t_s)
        if self.spec.action == "restart" and self.is_in_vain:
            return False
        return self._answered_s is None or t_s - self._answered_s >= self.spec.cooldown_s

    def _answer(self, value: float, threshold: float, t_s: float) -> LimitCrossed:
        self._answered_s = t_s
        self._owed = False
        self._base = value
        self._waits_for_answer = True
        return self._event(value, threshold, t_s, answered=True)

    def _release(self, value: float, threshold: float, t_s: float) -> LimitCrossed:
        self._crossed = self._owed = self._waits_for_answer = False
        self._base = None
        if self.escalation is not None:
            self.escalation.reset()
        return self._event(value, threshold, t_s, crossed=False)

    def _event(
        self,
        value: float,
        threshold: float,
        t_s: float,
        *,
        crossed: bool = True,
        answered: bool = True,
    ) -> LimitCrossed:
        return LimitCrossed(
            t_s=t_s,
            metric=self.spec.metric,
            action=self.spec.action,
            value=value,
            threshold=threshold,
            crossed=crossed,
            answered=answered,
        )


class LimitWatches:
    """All limits of a run, each with its watch."""

    def __init__(self) -> None:
        self._watches: list[LimitWatch] = []

    def specs(self) -> list[LimitSpec]:
        return [watch.spec for watch in self._watches]

    def all_watches(self) -> list[LimitWatch]:
        return list(self._watches)

    def watches(self, metric: LimitMetric) -> list[LimitWatch]:
        return [watch for watch in self._watches if watch.spec.metric == metric]

    def replace(self, metrics: Iterable[LimitMetric], specs: Iterable[LimitSpec]) -> None:
        """Replace the limits on the named metrics.

        A limit that is equal to one in force keeps its state, and with it its cooldown.

        Args:
            metrics: Metrics that lose their old limits.
            specs: The new limits; those on other metrics are added to what is there.
        """
        named = set(metrics)
        old = [watch for watch in self._watches if watch.spec.metric in named]
        watches = [watch for watch in self._watches if watch.spec.metric not in named]
        for spec in specs:
            same = next((watch for watch in old if watch.spec == spec), None)
            watches.append(same or LimitWatch(spec))
        self._watches = watches


EscalationLevel = Literal["collect", "reload", "restart"]
"""Actions of `auto`, each freeing more than the one before and costing more."""


LEVELS: Final[tuple[EscalationLevel, ...]] = get_args(EscalationLevel)


GrowthCause = Literal["traces", "other"]
"""Cause of memory growth as far as the training process knows: traces of dead models, or other."""


EscalationStep = Literal["collect", "reload", "restart", "wait", "nothing"]
"""Level to run now; `wait`: the next level is in its cooldown; `nothing`: nothing more helps."""


class Escalation:
    """Levels of `auto` that one crossing has led to.

    The owner requests a step when the metric is above its limit and the step before did not help,
    which only the owner knows.
    """

    def __init__(self, cooldown_s: float) -> None:
        """Args: `cooldown_s`: Minimum time before a level is repeated, seconds."""
        self._cooldown_s = cooldown_s
        self._level_index = 0
        self._ran_s: dict[EscalationLevel, float] = {}
        self._tried: list[EscalationLevel] = []
        self._left_out: dict[EscalationLevel, str] = {}
        self._is_over = False
        self._futile: set[tuple[EscalationLevel, GrowthCause]] = set()

    @property
    def remembered(self) -> list[str]:
        """Levels that freed nothing, each with its cause, for the next process of the run."""
        return sorted(" ".join(pair) for pair in self._futile)

    def futile(self, cause: GrowthCause) -> list[EscalationLevel]:
        """Levels that freed nothing, and are not repeated for the same cause."""
        return [level for level in LEVELS if (level, cause) in self._futile]

    def note_outcome(self, level: EscalationLevel, cause: GrowthCause, *, gave_back: bool) -> None:
        """Note the outcome of a level; a level that freed something is not futile."""
        if gave_back:
            self._futile.discard((level, cause))
        else:
            self._futile.add((level, cause))

    @property
    def is_over(self) -> bool:
        """True if no level helped; the next attempt is due when the metric has grown again."""
        return self._is_over

    def is_due(self, t_s: float) -> bool:
        """True if a step may be requested now: the next level is not in its cooldown."""
        if self._level_index >= len(LEVELS):
            return True
        level = LEVELS[self._level_index]
        return level == "restart" or self._has_cooled_down(level, t_s)

    def next_step(self, why_not: Mapping[EscalationLevel, str], t_s: float) -> EscalationStep:
        """Next step; a level that is returned counts as run at this time.

        Args:
            why_not: Levels that are not possible here, with the reason.
        """
        if self._is_over:
            self.reset()
        while self._level_index < len(LEVELS):
            level = LEVELS[self._level_index]
            why = why_not.get(level, "")
            if not why and not self._has_cooled_down(level, t_s):
                if level != "restart":
                    return "wait"
                # A process that was started again and is above its limit at once would be
                # started again for ever.
                why = "the limit was exceeded again within its cooldown"
            self._level_index += 1
            if why:
                self._left_out[level] = why
                continue
            self._ran_s[level] = t_s
            self._tried.append(level)
            return level
        self._is_over = True
        return "nothing"

    def reset(self) -> None:
        """Start again with the first level: the metric is below its limit, or grew again."""
        self._level_index = 0
        self._tried = []
        self._left_out = {}
        self._is_over = False

    def started_again(self, t_s: float, futile: Collection[str] = ()) -> None:
        """Set the state for a process that was started by a restart that the same limit requested.

        Args:
            t_s: Time at which the process began, seconds.
            futile: `remembered` of the process before it.
        """
        self._ran_s["restart"] = t_s
        causes: tuple[GrowthCause, ...] = get_args(GrowthCause)
        for level in LEVELS:
            self._futile.update((level, each) for each in causes if f"{level} {each}" in futile)

    def summary(self) -> str:
        """Text on the levels that were tried and those that were not possible."""
        tried = [f"{' and '.join(self._tried)} did not help"] if self._tried else []
        return "; ".join(
            tried + [f"{level} skipped: {why}" for level, why in self._left_out.items()]
        )

    def _has_cooled_down(self, level: EscalationLevel, t_s: float) -> bool:
        ran_s = self._ran_s.get(level)
        return ran_s is None or t_s - ran_s >= self._cooldown_s
