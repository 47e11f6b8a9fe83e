"""Detector of a training that makes no step for longer than ever before at such a place."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

LEAST_S: Final = 20.0
"""No shorter silence within an epoch is a stall, seconds."""

LEAST_ELSEWHERE_S: Final = 60.0
"""The same between epochs and at a fit's begin, where data are validated and steps compiled."""

_TIMES: Final = 3.0
"""Multiple of the longest earlier pause. Source: the same multiple ends folds in studies."""

_SETTLED: Final = 2
"""The first call of the step compiles it; the begin of the next one shows that it is over."""

_LEAST_GAP_S: Final = 5.0
_GAP: Final = 3.0
"""Multiple of the interval of checks. Checks further apart than that and than `_LEAST_GAP_S` saw
nothing: the process was stopped, or its host slept."""


class FitStage(StrEnum):
    """Stage of a fit in which no step is made."""

    BEGIN = "at its start"
    EPOCH = "within an epoch"
    BETWEEN = "between epochs"


_LEAST_SEEN: Final = {FitStage.BEGIN: 2, FitStage.EPOCH: 10, FitStage.BETWEEN: 1}
"""Fits, steps and epochs after which a silence there means anything: the first fit of a process
loads and compiles what later ones find."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A silence that is longer than what was learned.

    Attributes:
        since_s: Time at which the last step was seen, seconds.
        silent_s: Time without a step, seconds.
        longest_s: Longest earlier pause in this stage, seconds; to the interval of checks.
    """

    fit_stage: FitStage
    since_s: float
    silent_s: float
    longest_s: float


@dataclass(slots=True)
class StallDetector:
    """Follows one run by checks of its step counter; times are the run's, seconds.

    Attributes:
        is_in_fit: True if steps are expected.
        is_moving: True if the newest check saw another step than the one before.
    """

    interval_s: float = 1.0
    is_in_fit: bool = False
    is_moving: bool = False
    _longest_s: dict[FitStage, float] = field(default_factory=dict["FitStage", float])
    _seen: dict[FitStage, int] = field(default_factory=dict["FitStage", int])
    _longest_epoch_s: float = 0.0
    _epoch_start_s: float | None = None
    _steps: int | None = None
    _per_call: int = 1
    _is_excused: bool = False
    _n_steps_moved: int = 0
    _at: tuple[int, int] = (-1, 0)
    _since_s: float = 0.0
    _looked_s: float = 0.0

    def begin_fit(self, t_s: float, *, steps: int | None, per_call: int = 1) -> None:
        """Begin a fit: its steps and epochs are unknown, because another model may train.

        Args:
            steps: Steps of an epoch; None: unknown.
            per_call: Steps that one call of the step function makes.
        """
        self.is_in_fit = True
        self._is_excused = False
        self._steps = steps
        self._per_call = per_call
        self._n_steps_moved = 0
        self._at = (-1, 0)
        self._epoch_start_s = None
        self._since_s = self._looked_s = t_s
        self._longest_epoch_s = 0.0
        for stage in (FitStage.EPOCH, FitStage.BETWEEN):
            self._longest_s.pop(stage, None)
            self._seen.pop(stage, None)

    def join_fit(self, t_s: float, epoch: int, step: int, *, steps: int | None) -> None:
        """Begin to follow a fit whose begin was not seen; as for `begin_fit` and `check`."""
        self.begin_fit(t_s, steps=steps)
        self.excuse_until(t_s)
        self._at = (epoch, step)

    def end_fit(self) -> None:
        """End the fit: no step is expected until the next one."""
        self.is_in_fit = False

    def end_epoch(self, steps: int) -> None:
        self._steps = steps or self._steps

    def excuse_until(self, t_s: float) -> None:
        """Learn nothing from the time until now, in which something else held the training.

        The step that follows may be traced again, and is awaited for as long as it takes.
        """
        self._is_excused = True
        self._n_steps_moved = 0
        self._epoch_start_s = None
        self._since_s = self._looked_s = t_s

    def check(self, t_s: float, epoch: int, step: int) -> Stall | None:
        """Check the step counter.

        Args:
            epoch: Index of the running epoch.
            step: Steps that began in it.

        Returns:
            The silence, if it is longer than what was learned.
        """
        self.is_moving = False
        if not self.is_in_fit:
            return None
        if t_s - self._looked_s > max(_LEAST_GAP_S, _GAP * self.interval_s):
            self._since_s += t_s - self._looked_s
        self._looked_s = t_s
        if step > 0 and (epoch, step) != self._at:
            self._move(t_s, epoch, step)
            return None
        return self._judged(t_s, epoch)

    def _move(self, t_s: float, epoch: int, step: int) -> None:
        is_same = self._at[0] == epoch and self._at[1] < step
        n_steps = step - self._at[1] if is_same else step
        if self._is_settled:
            stage = FitStage.EPOCH if is_same else FitStage.BETWEEN
            self._record_pause(stage, t_s, max(1, n_steps // self._per_call) if is_same else 1)
            if not is_same and t_s - self._since_s <= LEAST_S / _TIMES:
                # Epochs shorter than the looks: none of the steps seen took longer than this,
                # and it is too little to make the bound any longer.
                self._record_pause(FitStage.EPOCH, t_s, max(1, n_steps // self._per_call))
        else:
            self._settle(t_s, n_steps)
        if not is_same:
            if self._epoch_start_s is not None:
                epoch_s = self._since_s - self._epoch_start_s
                self._longest_epoch_s = max(epoch_s, self._longest_epoch_s)
            self._epoch_start_s = t_s
        self.is_moving = True
        self._at = (epoch, step)
        self._since_s = t_s

    def _settle(self, t_s: float, n_steps: int) -> None:
        self._n_steps_moved += n_steps
        if not self._is_excused:
            self._record_pause(FitStage.BEGIN, t_s, int(self._is_settled))

    def _record_pause(self, stage: FitStage, t_s: float, times: int) -> None:
        self._longest_s[stage] = max(t_s - self._since_s, self._longest_s.get(stage, 0.0))
        self._seen[stage] = self._seen.get(stage, 0) + times

    @property
    def _is_settled(self) -> bool:
        return self._n_steps_moved >= _SETTLED * self._per_call

    def _judged(self, t_s: float, epoch: int) -> Stall | None:
        stage = self._stage(epoch)
        if stage is None or self._seen.get(stage, 0) < _LEAST_SEEN[stage]:
            return None
        longest_s = self._longest_s[stage]
        silent_s = t_s - self._since_s
        least_s = LEAST_S if stage is FitStage.EPOCH else LEAST_ELSEWHERE_S
        if stage is FitStage.BETWEEN:
            # Not each epoch is validated or saved; what is, seldom takes longer than to train it.
            least_s = max(least_s, self._longest_epoch_s)
        if silent_s <= max(least_s, _TIMES * longest_s):
            return None
        return Stall(stage, self._since_s, silent_s, longest_s)

    def _stage(self, epoch: int) -> FitStage | None:
        if not self._is_settled:
            return None if self._is_excused else FitStage.BEGIN
        if epoch != self._at[0]:
            return FitStage.BETWEEN
        if self._steps is None:
            return None  # its last step may be over: validation takes what it takes
        return FitStage.EPOCH if self._at[1] < self._steps else FitStage.BETWEEN
