"""What a study did so far: which folds wait, what was tried, what the finished ones taught."""

from collections import deque
from collections.abc import Iterable

from kmonitor_agent.studies.attempts import TRIED_AGAIN, Attempt
from kmonitor_agent.studies.bounds import Habits
from kmonitor_agent.studies.launch import Known
from kmonitor_agent.studies.listeners import Listener
from kmonitor_agent.studies.study_folder import StudyFolder


class Account:
    """Owned by the thread that runs the study.

    Attributes:
        folder: Keeps what came of each attempt.
        listener: Hears how it goes.
        queue: Folds that wait.
        done: How many are over.
        known: What those that finished taught.
        has_noted: An attempt ended since this start.
    """

    def __init__(
        self, retries: int, folder: StudyFolder, listener: Listener, *, learns: bool = True
    ) -> None:
        """Begin.

        Args:
            retries: How often a fold that was killed is tried again.
            folder: Keeps what came of each attempt.
            listener: Hears how it goes.
            learns: Folds are alike: those that finished say how long others may take.
        """
        self.queue: deque[int] = deque()
        self.done = 0
        self.known = Known()
        self._learns = learns
        if learns:
            known = [each.seconds for each in folder.attempts if each.cause == "finished"]
            self.known.finished_s += known
        self.has_noted = False
        self._retries = retries
        self.folder = folder
        self.listener = listener
        self._tried: dict[int, int] = {}

    def begin(self, folds: Iterable[int], done: int) -> None:
        """These folds are to be run; so many are over already."""
        self._tried.clear()
        self.queue.extend(folds)
        self.done = done

    def has_tries_left(self, fold: int) -> bool:
        """Whether the fold is tried again if what runs of it is killed."""
        return self._tried.get(fold, 0) < self._retries

    def is_tried_again(self, attempt: Attempt) -> bool:
        """Whether this attempt, which ended, is followed by another; asked once."""
        if attempt.cause not in TRIED_AGAIN:
            return False
        is_left = self.has_tries_left(attempt.fold)
        self._tried[attempt.fold] = self._tried.get(attempt.fold, 0) + 1
        return is_left

    def learn(self, attempt: Attempt, habits: Habits) -> None:
        """A fold finished; its gaps between steps were healthy."""
        if not self._learns:
            return
        self.known.finished_s.append(attempt.seconds)
        self.known.habits.learn(habits)

    def note(self, attempt: Attempt, *, again: bool) -> None:
        """An attempt ended."""
        self.folder.note(attempt)
        self.has_noted = True
        self.listener.ended(attempt, again=again)
        if again:
            self.queue.append(attempt.fold)
        else:
            self.done += 1
