"""Studies whose folds come one by one: trials of a search, each in a process of its own."""

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from kmonitor_agent.studies.attempts import Attempt, Attempts, RunningAttempt, StudyListenerGroup
from kmonitor_agent.studies.carried_function import Usage, carry
from kmonitor_agent.studies.launch import AttemptLauncher
from kmonitor_agent.studies.run_folds import (
    FoldResult,
    last_fold_result,
    study_options,
    study_path,
)
from kmonitor_agent.studies.runner import FoldQueue, LocalRunner, SharedAttempts
from kmonitor_agent.studies.study_folder import StudyFacts, StudyFolder
from kmonitor_agent.studies.study_reporter import StudyReporter
from kmonitor_agent.studies.terminal_progress import TerminalProgress
from kmonitor_agent.wire.local.folders import Folders, find_folders

_TRIALS: Final = Usage(noun="trial")
_FACTS: Final = "trials"
"""Entry in place of the function: a search may continue with another function."""


class TrialRunner:
    """Runs the trials of a search; from one thread, or several at the same time.

    A trial's parameters are not known in advance, so the trial requests them itself (`Fold.ask`),
    and the caller of `run` answers.
    """

    def __init__(  # noqa: PLR0913 - the user's arguments
        self,
        function: Callable[..., Any],
        *,
        study: str | Path | None = None,
        memory: str | float | None = None,
        timeout_s: float | None = None,
        retries: int = 1,
        usage: Usage = _TRIALS,
        called: str = "",
        quiet: bool = False,
    ) -> None:
        """Begin a study, or continue the one in that folder.

        Args:
            function: Function of each trial, as for `run_folds`.
            study: Folder of the study; None: a new one below kmonitor's state folder.
            memory: As for `run_folds`.
            usage: Call through which the user passed the function, for messages.
            called: Text for the search, for people; empty: the function.
            quiet: True to report nothing to the terminal and the hub.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: An argument is not valid.
            FoldsRefused: The function cannot be pickled, or the folder is in use.
            OSError: No process can be started.
        """
        usage.check(function)
        options = study_options(timeout_s, memory, retries, 1, usage=usage, answers=self._answer)
        self._study_options = replace(options, called=called)
        self._answers: dict[int, Callable[[Any], Any]] = {}
        self._lock = threading.Lock()
        self._done = 0
        self._warm: LocalRunner | None = None
        folders = find_folders()
        self._progress = None if quiet else TerminalProgress(noun="trial")
        self._printing = threading.Lock()
        self._folder = StudyFolder(study_path(study, folders), self._print_line)
        facts = self._begin_study(function, folders)
        reporter = (
            None if quiet else StudyReporter(self._study_options, facts, self._folder, folders)
        )
        self._listener = _SerialListener(self._progress, reporter, self._printing)
        self._shared_attempts = SharedAttempts()

    @property
    def directory(self) -> Path:
        return self._folder.path

    @property
    def attempts(self) -> Attempts:
        """All attempts of all trials so far."""
        return Attempts(each for each in self._folder.attempts if each.cause != "interrupted")

    def finished(self, index: int) -> FoldResult | None:
        """Earlier result of a trial; None unless it finished and the result can be read."""
        try:
            result = last_fold_result(self._folder, index)
        except (LookupError, OSError, ValueError):
            return None
        return result if result.ok else None

    def find(self, index: int) -> None:
        """Check that a process loads the function; it waits for this trial, the first to be run.

        Raises:
            FoldsRefused: The function cannot be loaded.
            KeyboardInterrupt: Ctrl+C.
            OSError: No process can be started.
        """
        runner = self._runner()
        runner.find(index)
        self._warm = runner

    def run(
        self,
        index: int,
        answers: Callable[[Any], Any],
        *,
        ahead: int | None = None,
    ) -> FoldResult:
        """Run a trial to its end.

        Args:
            index: Number of the trial, from 0; must not be running.
            answers: Returns the answer to a question, plain data; called on this thread. Its
                exceptions reach the trial as `NotAnswered`.
            ahead: Trial that this thread, and no other, will run next; its process already starts
                and imports. None: unknown.

        Raises:
            FoldsRefused: The function cannot be loaded.
            KeyboardInterrupt: Ctrl+C; the trial is ended.
            OSError: The returned value cannot be read, as with ValueError.
        """
        with self._lock:
            warm, self._warm = self._warm, None
        runner = warm or self._runner()
        self._answers[index] = answers
        try:
            runner.run_one(index, self._done, ahead)
        except KeyboardInterrupt:
            self._listener.interrupted(self._done, self._study_options.carried.usage.goes_on)
            raise
        finally:
            del self._answers[index]
        if ahead is not None:
            self._warm = runner
        with self._lock:
            self._done += 1
        return last_fold_result(self._folder, index)

    def close(self) -> None:
        """Release the folder and end the waiting process; the search is over, or pauses."""
        if self._warm is not None:
            self._warm.close()
        self._listener.close()
        self._attempt_launcher.close()
        self._folder.write_table()
        self._folder.close()

    def _runner(self) -> LocalRunner:
        retries = self._study_options.retries
        # A pruned trial, or a small model's, says nothing of how long another may take.
        queue = FoldQueue(retries, self._folder, self._listener, learns=False)
        return LocalRunner(
            self._study_options, self._attempt_launcher, queue, self._shared_attempts
        )

    def _begin_study(self, function: object, folders: Folders) -> StudyFacts:
        folder = self._folder
        try:
            carried = carry(function, self._study_options.carried.usage, folder.arrays_folder)
            self._study_options = replace(self._study_options, carried=carried)
            facts = folder.begin(StudyFacts(id=uuid4().hex, function=_FACTS, folds=0))
            self._attempt_launcher = AttemptLauncher(
                self._study_options, facts, folder, folders, folder.tried()
            )
        except BaseException:
            if folder.is_new:
                folder.discard()  # nobody knows of it
            folder.close()
            raise
        return facts

    def _print_line(self, line: str) -> None:
        with self._printing:
            if self._progress is not None:
                self._progress.print_line(line)

    def _answer(self, index: int, question: Any) -> Any:
        return self._answers[index](question)


class _SerialListener:
    """Terminal and hub, called by one thread after the other."""

    def __init__(
        self,
        progress: TerminalProgress | None,
        reporter: StudyReporter | None,
        lock: threading.Lock,
    ) -> None:
        self._progress = progress
        self._study_reporter = reporter
        self._group = StudyListenerGroup(*filter(None, (progress, reporter)))
        self._lock = lock

    def progressed(
        self, done: int, running: Sequence[RunningAttempt], finished_s: list[float]
    ) -> None:
        with self._lock:
            self._group.progressed(done, running, finished_s)

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        with self._lock:
            self._group.ended(attempt, again=again)

    def interrupted(self, done: int, goes_on: str) -> None:
        with self._lock:
            if self._progress is not None:
                self._progress.interrupted(done, goes_on)

    def close(self) -> None:
        with self._lock:
            if self._progress is not None:
                self._progress.close()
            if self._study_reporter is not None:
                self._study_reporter.close(sys.exc_info()[0])
