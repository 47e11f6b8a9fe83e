"""Starts the process of a fold: with its environment, device, memory group and saved state."""

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import msgspec

from kmonitor_agent.reclaim.restart.crash_diagnosis import ProcessDeath, record_death
from kmonitor_agent.recording.process_facts import script_path
from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.bounds import LearnedTimes, TimeBound
from kmonitor_agent.studies.carried_function import CarriedFunction
from kmonitor_agent.studies.fold_messages import FoldJob
from kmonitor_agent.studies.fold_process import FoldProcess, MemoryCgroup
from kmonitor_agent.studies.host_resources import GPU_VARIABLE
from kmonitor_agent.studies.local_attempt import AttemptBounds, LocalAttempt
from kmonitor_agent.studies.process_tree import Watchdog
from kmonitor_agent.studies.study_folder import StudyFacts, StudyPaths
from kmonitor_agent.wire.local.fold_identity import FOLD_VARIABLE, FoldIdentity, Noun
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import NotPrivate, make_private_folder
from kmonitor_agent.wire.local.supervision import (
    SUPERVISED_VARIABLE,
    Supervision,
    SupervisorSettings,
)


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """Options of a study.

    Attributes:
        retries: Number of retries of a killed fold.
        at_once: Number of parallel folds.
        time: Maximum time of each attempt.
        memory_bytes: Maximum memory of each fold, bytes; None: bounded by the host only.
        devices: Names of GPUs; empty if there are none.
        judges_silence: True if hangs are detected where an attempt runs.
        answers: Returns the answer to a fold's index and question; None: questions are refused.
        noun: Word for a fold in texts: "fold" or "trial".
        called: Text for the function, for people; empty: its own.
    """

    carried: CarriedFunction
    retries: int
    at_once: int
    time: TimeBound
    memory_bytes: int | None
    devices: tuple[str, ...]
    judges_silence: bool = True
    answers: Callable[[int, Any], Any] | None = None
    noun: Noun = "fold"
    called: str = ""

    @property
    def function(self) -> str:
        """Text for the function, for people: "train.py: train_fold"."""
        return self.called or self.carried.text

    @property
    def script(self) -> str:
        """Path or name of the script or module of the user's function."""
        return self.carried.module or script_path(os.environ)


class AttemptLauncher:
    """Starts attempts and cleans up after them; owned by the thread that runs the study."""

    def __init__(
        self,
        options: StudyOptions,
        facts: StudyFacts,
        paths: StudyPaths,
        folders: Folders,
        tried: Counter[int],
    ) -> None:
        """Start the watchdog.

        Args:
            folders: Folders of spools.
            tried: Number of attempts of each fold so far.

        Raises:
            OSError: The watchdog cannot be started.
        """
        self._study_options = options
        self._facts = facts
        self._study_paths = paths
        self._folders = folders
        self._attempts = tried
        self._watchdog = Watchdog()

    def close(self) -> None:
        self._watchdog.close()

    def start(self, fold: int, device: str, times: LearnedTimes) -> LocalAttempt:
        """Start a fold's next attempt, which waits for `begin`.

        Raises:
            OSError: No process can be started.
        """
        attempt = self._attempts[fold] + 1
        self._study_paths.make()
        supervision = self._supervision(fold)
        job = FoldJob(
            function=self._study_options.carried.text,
            refusal=self._study_options.carried.usage.begin,
            size=len(self._study_options.carried.data),
            argv=sys.argv,
            index=fold,
            attempt=attempt,
            directory=str(self._study_paths.fold_folder(fold)),
            value=str(self._study_paths.value_file(fold)),
            study=self._facts.id,
            parent=os.getpid(),
        )
        environ = self._environ(fold, attempt, device, supervision)
        data = self._study_options.carried.data
        process = FoldProcess(job, data, environ, self._study_paths.output_file(fold))
        self._watchdog.process_started(process.pid, process.mark)
        bound = self._study_options.memory_bytes
        bounds = AttemptBounds(
            bound,
            self._study_options.time,
            times.step_gaps,
            times.finished_s,
            judges_silence=self._study_options.judges_silence,
        )
        return LocalAttempt(
            fold,
            attempt,
            process,
            bounds,
            device=device,
            cgroup=None if bound is None else self._cgroup(bound, process),
            resumed=supervision is not None and supervision.has_state(),
            answers=self._study_options.answers,
        )

    def finish(self, local_attempt: LocalAttempt) -> Attempt | None:
        """Record of an attempt whose process is gone; None if the process left to be restarted."""
        supervision = self._saved_supervision(local_attempt.fold)
        attempt = msgspec.structs.replace(
            local_attempt.finish(time.monotonic()), noun=self._study_options.noun
        )
        self._watchdog.ended(local_attempt.process.pid, local_attempt.process.mark)
        if attempt.cause == "error" and supervision and supervision.request() is not None:
            return None
        self._attempts[local_attempt.fold] += attempt.cause != "interrupted"
        return attempt

    def settle(self, local_attempt: LocalAttempt, attempt: Attempt, *, again: bool) -> None:
        """Record the end of an attempt in the fold's runs, and remove files no longer needed."""
        runs = self.runs(local_attempt.fold).values()
        record_attempt_deaths(
            self._folders, runs, attempt, local_attempt.death(attempt), again=again
        )
        self.forget(attempt)

    def runs(self, fold: int) -> dict[str, str]:
        """Run names to run ids of a fold's attempts so far."""
        supervision = self._saved_supervision(fold)
        return {} if supervision is None else supervision.runs()

    def forget(self, attempt: Attempt) -> None:
        """Remove saved state that no attempt will continue from."""
        if attempt.cause in {"finished", "error"}:
            # After an error the script is changed: nothing of before may be taken up.
            shutil.rmtree(self._study_paths.resume_folder(attempt.fold), ignore_errors=True)

    def drop(self, attempt: LocalAttempt) -> None:
        """End a process whose function was never started."""
        attempt.process.end()
        self._watchdog.ended(attempt.process.pid, attempt.process.mark)

    def _saved_supervision(self, fold: int) -> Supervision | None:
        folder = self._study_paths.resume_folder(fold)
        return Supervision(folder) if folder.is_dir() else None

    def _supervision(self, fold: int) -> Supervision | None:
        supervision = Supervision(self._study_paths.resume_folder(fold))
        try:
            make_private_folder(supervision.folder.parent)
            make_private_folder(supervision.folder)
            supervision.set_settings(
                SupervisorSettings(os.getpid(), self._study_options.retries > 0)
            )
        except (OSError, NotPrivate):
            return None  # then each attempt begins from the start
        supervision.begin_next()
        return supervision

    def _environ(
        self, fold: int, attempt: int, device: str, supervision: Supervision | None
    ) -> dict[str, str]:
        identity = FoldIdentity(
            study=self._facts.id,
            fold=fold,
            folds=self._facts.folds,
            attempt=attempt,
            noun=self._study_options.noun,
            script=self._study_options.script[:4096],
        )
        environ = {**os.environ, FOLD_VARIABLE: identity.as_variable()}
        environ.pop(SUPERVISED_VARIABLE, None)
        if supervision is not None:
            environ[SUPERVISED_VARIABLE] = str(supervision.folder)
        if device:
            environ[GPU_VARIABLE] = device
        return environ

    def _cgroup(self, bound: int, process: FoldProcess) -> MemoryCgroup | None:
        cgroup = MemoryCgroup.create(bound, uuid4().hex[:12])
        if cgroup is not None and not cgroup.join(process.pid):
            cgroup.remove()
            return None
        return cgroup


def record_attempt_deaths(
    folders: Folders, runs: Iterable[str], attempt: Attempt, death: ProcessDeath, *, again: bool
) -> None:
    """Record the end of an attempt in the fold's runs, unless it finished.

    Args:
        folders: Folders of their spools.
        again: True if this process retries the fold.
    """
    if attempt.cause == "finished":
        return
    for run in runs:
        record_death(
            folders,
            run,
            death,
            is_requested=attempt.cause == "interrupted",
            supervisor=os.getpid() if again else 0,
        )
