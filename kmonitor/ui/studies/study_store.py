"""Events about folds, by study."""

from collections.abc import Collection
from dataclasses import dataclass, field

from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    FoldEnded,
    FoldProgress,
    FoldStarted,
    StudyStarted,
)
from kmonitor_agent.wire.messages.unions import EventRow, RunSummary

STUDY_KINDS = ("study", "fold_start", "fold_progress", "fold_end")
"""Event types that a study's page uses."""


@dataclass(frozen=True, slots=True)
class TimedFoldProgress:
    """The newest progress of a running fold.

    Attributes:
        fold_progress: The progress.
        t_s: Run time of the study at that time, seconds.
    """

    fold_progress: FoldProgress
    t_s: float


@dataclass(slots=True)
class StudyRecord:
    """Events of one study; rows may arrive in any order, and repeatedly.

    Attributes:
        started: First event of the study; None: it has not arrived yet.
    """

    started: StudyStarted | None = None
    _tries: dict[int, dict[tuple[int, int], FoldEnded]] = field(
        default_factory=dict[int, dict[tuple[int, int], FoldEnded]]
    )
    _started_at: int = 0
    _started: dict[int, tuple[int, FoldStarted]] = field(
        default_factory=dict[int, tuple[int, FoldStarted]]
    )
    _newest_progress: dict[int, tuple[int, TimedFoldProgress]] = field(
        default_factory=dict[int, tuple[int, TimedFoldProgress]]
    )

    def apply_event(self, row: EventRow, event: AnyEvent) -> bool:
        """Process an event; True if it belongs to a study."""
        match event:
            case StudyStarted():
                if row.row >= self._started_at:
                    self.started = event
                    self._started_at = row.row
            case FoldStarted(fold=fold):
                if row.row >= self._started.get(fold, (0, event))[0]:
                    self._started[fold] = (row.row, event)
            case FoldProgress(fold=fold):
                if row.row >= self._newest_progress.get(fold, (0, None))[0]:
                    self._newest_progress[fold] = (row.row, TimedFoldProgress(event, row.t_s))
            case FoldEnded(fold=fold, attempt=attempt, started_wall_s=started_wall_s):
                self._tries.setdefault(fold, {})[attempt, round(started_wall_s)] = event
            case _:
                return False
        return True

    @property
    def count(self) -> int:
        """Number of folds with events; the trials of a search appear one by one."""
        return max((1 + fold for fold in (*self._started, *self._tries)), default=0)

    def ended(self, fold: int) -> list[FoldEnded]:
        """Return the ends of a fold's attempts, the oldest first."""
        of_fold = self._tries.get(fold, {})
        return [of_fold[key] for key in sorted(of_fold)]

    def tries(self) -> list[FoldEnded]:
        """Return the ends of all attempts, by fold, the oldest first."""
        return [each for fold in sorted(self._tries) for each in self.ended(fold)]

    def running(self, fold: int) -> FoldStarted | None:
        """Return the running attempt at a fold, from the study's events; None: none runs."""
        row, started = self._started.get(fold, (0, None))
        if started is None or row < self._started_at:
            return None  # of a start of the study that was cut off
        # Both are its start; they differ by the time it took to write that down.
        near = [(started.attempt, round(started.started_wall_s) + by) for by in (-1, 0, 1)]
        return None if any(each in self._tries.get(fold, {}) for each in near) else started

    def progress(self, fold: int, attempt: int) -> TimedFoldProgress | None:
        row, seen = self._newest_progress.get(fold, (0, None))
        started_row = self._started.get(fold, (0, None))[0]
        if seen is None or row < started_row or seen.fold_progress.attempt != attempt:
            return None
        return seen

    def finished_s(self) -> list[float]:
        """Return the run times of the finished folds, seconds, the shortest first."""
        return sorted(each.seconds for each in self.tries() if each.cause == "finished")


class StudyStore:
    """Records of studies by run id; main thread only."""

    def __init__(self) -> None:
        self._records: dict[str, StudyRecord] = {}

    def get(self, run: str) -> StudyRecord:
        return self._records.get(run) or StudyRecord()

    def apply_event(self, row: EventRow, event: AnyEvent) -> bool:
        """Process an event of any run; True if it belongs to a study."""
        if not isinstance(event, StudyStarted | FoldStarted | FoldProgress | FoldEnded):
            return False
        return self._records.setdefault(row.run, StudyRecord()).apply_event(row, event)

    def forget(self, runs: Collection[str]) -> None:
        for run in runs:
            self._records.pop(run, None)


def is_study(run: RunSummary) -> bool:
    """True if a run is the run of a study itself, and no training."""
    return bool(run.study) and run.fold is None


def is_search(study: RunSummary) -> bool:
    """True if a study's folds are the trials of a search, which appear one by one."""
    return is_study(study) and not study.folds


def folds_of(study: RunSummary, runs: Collection[RunSummary]) -> dict[int, RunSummary]:
    """Return the newest run of each fold of a study, by fold; folds without a run are left out."""
    found: dict[int, RunSummary] = {}
    for run in runs:
        if run.study == study.study and run.fold is not None:
            known = found.get(run.fold)
            if known is None or run.started_wall_s >= known.started_wall_s:
                found[run.fold] = run
    return found
