"""Reports a study to the hub, as a run of its own, with facts that only the calling process has.

These are the progress of the folds, the end of each attempt with its reason, and the remaining
time of a fold. Without a hub the events wait in the spool, as a training's do; the study never
waits for the hub and never fails because of it.
"""

import os
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.hub_choice import parse_hub
from kmonitor_agent.link.link import Link
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.process_facts import default_run_name, session_started
from kmonitor_agent.recording.settings import Settings, elide_name, plain_name, sendable_text
from kmonitor_agent.studies.attempts import Attempt, RunningAttempt
from kmonitor_agent.studies.bounds import forecast_s
from kmonitor_agent.studies.launch import StudyOptions
from kmonitor_agent.studies.study_folder import StudyFacts, StudyFolder
from kmonitor_agent.wire.local.folders import Folders, studies_folder
from kmonitor_agent.wire.messages.events import (
    FoldEnded,
    FoldProgress,
    FoldStarted,
    SessionEnded,
    SessionStarted,
    StudyStarted,
)
from kmonitor_agent.wire.messages.fields import MAX_TEXT, new_id
from kmonitor_agent.wire.messages.study_events import StudyTally, TrialOutcome

_MOST_REPORTED_AGAIN: Final = 10_000
"""Number of newest attempts from before this start that are reported again.

A hub may have them already.
"""

_LEAST_PAUSE_S: Final = 2.0
_PAUSE_SHARE: Final = 0.02
"""Part of its time after which a fold's progress is reported again: some hundred lines a day."""


class StudyReporter:
    """Reports to the hub; opens its link when the first fold has begun; any thread.

    Args:
        folder: Folder of the study, with earlier attempts.
        folders: Folders of spool and socket.
    """

    def __init__(
        self, options: StudyOptions, facts: StudyFacts, folder: StudyFolder, folders: Folders
    ) -> None:
        self._study_options = options
        self._facts = facts
        self._study_folder = folder
        self._folders = folders
        self._fold_counter = FoldCounter()
        self._running: dict[int, _Reported] = {}
        self._faults = FaultLog(folders.logs / "agent.log")
        self._link: Link | None = None
        self._was_tried = False
        self._lock = threading.Lock()

    def progressed(
        self, done: int, running: Sequence[RunningAttempt], finished_s: list[float]
    ) -> None:
        del done
        # A study whose function is not found is none: nothing is sent before a fold can run.
        if self._link is None and not any(each.is_ready for each in running):
            return
        with self._lock, self._faults.guarded("study.progress"):
            self._open()
            now_s = time.monotonic()
            for each in running:
                self._follow(each, now_s, finished_s)

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        with self._lock, self._faults.guarded("study.ended"):
            self._open()
            self._report_end(attempt, again=again)

    def close(self, left_by: type[BaseException] | None) -> None:
        """Report the end of the study.

        Args:
            left_by: Class of the exception that ended it; None if none did.
        """
        link = self._link
        if link is None:
            return
        with self._faults.guarded("study.close"):
            self._report_interrupted()
            why: Literal["finished", "failed", "interrupted"] = "finished"
            if left_by is not None:
                why = "interrupted" if issubclass(left_by, KeyboardInterrupt) else "failed"
            kind = "" if left_by is None else left_by.__name__[:200]
            link.emit(SessionEnded(t_s=link.now_s(), why=why, error_type=kind))
        link.close()
        self._faults.write_out()

    def _open(self) -> None:
        if self._was_tried:
            return
        self._was_tried = True
        session_id = new_id()
        link = Link(
            run=self._facts.id,
            session_id=session_id,
            folders=self._folders,
            started=self._started(session_id),
            hub=parse_hub(None, os.environ),
            on_command=lambda _: None,
            faults=self._faults,
        )
        link.start()
        self._link = link
        self._report_earlier(link)

    def _started(self, session_id: str) -> SessionStarted:
        settings = Settings()
        started = session_started(
            session_id=session_id,
            name=self._name(),
            wall_s=time.time(),
            interval_s=settings.sample_interval_s,
            privacy=Privacy(private=False),
            state=self._folders.state,
        )
        # This process may itself be a fold of another study.
        return msgspec.structs.replace(
            started, study=self._facts.id, fold=None, folds=self._facts.folds, attempt=0
        )

    def _name(self) -> str:
        name = self._study_options.carried.module or default_run_name()
        path = self._study_folder.path
        count = self._facts.folds
        is_named = path.parent != studies_folder(self._folders) and count > 0
        counted = "1 fold" if count == 1 else f"{count} folds" if count else "trials"
        label = path.name if is_named else counted
        return elide_name(plain_name(f"{name} \N{MIDDLE DOT} {label}"))

    def _report_earlier(self, link: Link) -> None:
        finished = self._study_folder.finished()
        before = self._study_folder.attempts
        self._fold_counter.add_earlier(before, finished)
        options = self._study_options
        link.emit(
            StudyStarted(
                t_s=link.now_s(),
                function=_cut(options.function),
                folds=self._facts.folds,
                at_once=options.at_once,
                retries=options.retries,
                timeout_s=options.time.timeout_s,
                memory_bytes=options.memory_bytes,
                directory=_cut(str(self._study_folder.path)),
                tally=self._fold_counter.tally(),
            )
        )
        for attempt in before[-_MOST_REPORTED_AGAIN:]:
            link.emit(self._ending(link, attempt, again=attempt.fold not in finished))

    def _follow(self, running: RunningAttempt, now_s: float, finished_s: list[float]) -> None:
        link = self._link
        reported = self._running.get(running.fold)
        if link is None:
            return
        elapsed_s = running.elapsed_s(now_s)
        if reported is None or reported.attempt != running.attempt:
            self._running[running.fold] = reported = _Reported(running.attempt, now_s)
            self._report_start(link, running, time.time() - elapsed_s)
        if now_s < reported.next_s:
            return
        reported.next_s = now_s + max(_LEAST_PAUSE_S, _PAUSE_SHARE * elapsed_s)
        link.emit(
            FoldProgress(
                t_s=link.now_s(),
                fold=running.fold,
                attempt=running.attempt,
                seconds=elapsed_s,
                held_bytes=float(running.held_bytes),
                share=None if running.share is None else min(1.0, max(0.0, running.share)),
                forecast_s=forecast_s(elapsed_s, running.share, finished_s),
                limit_s=running.limit_s(now_s),
            )
        )

    def _report_start(self, link: Link, started: RunningAttempt | Attempt, wall_s: float) -> None:
        self._fold_counter.attempt_started(started.fold, started.attempt)
        link.emit(
            FoldStarted(
                t_s=link.now_s(),
                fold=started.fold,
                attempt=started.attempt,
                started_wall_s=max(0.0, wall_s),
                device=started.device[:200],
                resumed=started.resumed,
                tally=self._fold_counter.tally(),
            )
        )

    def _report_end(self, attempt: Attempt, *, again: bool) -> None:
        link = self._link
        if link is None:
            return
        reported = self._running.pop(attempt.fold, None)
        if reported is None or reported.attempt != attempt.attempt:  # it died unseen
            self._report_start(link, attempt, attempt.started_wall_s)
        self._fold_counter.ended(attempt, again=again)
        link.emit(self._ending(link, attempt, again=again))

    def _report_interrupted(self) -> None:
        """Report attempts that the study's end cut off: so far only the folder has them."""
        for attempt in reversed(self._study_folder.attempts):
            reported = self._running.get(attempt.fold)
            if reported is not None and reported.attempt == attempt.attempt:
                self._report_end(attempt, again=attempt.cause == "interrupted")

    def _ending(self, link: Link, attempt: Attempt, *, again: bool) -> FoldEnded:
        has_user_text = bool(attempt.outcome) or attempt.cause in {"error", "out_of_memory"}
        is_hidden = attempt.private and has_user_text
        return FoldEnded(
            t_s=link.now_s(),
            fold=attempt.fold,
            attempt=attempt.attempt,
            cause=attempt.cause,
            again=again,
            why="" if is_hidden else _cut(attempt.why),
            signal=attempt.signal[:200],
            seconds=max(0.0, attempt.seconds),
            steps=attempt.steps,
            peak_bytes=float(attempt.peak_bytes) or None,
            growth_bytes=float(attempt.growth_bytes),
            vram_bytes=attempt.vram_bytes,
            device=attempt.device[:200],
            resumed=attempt.resumed,
            started_wall_s=max(0.0, attempt.started_wall_s),
            noun=attempt.noun,
            outcome=attempt.outcome,
            tally=self._fold_counter.tally(),
        )


@dataclass(slots=True)
class _Reported:
    """Last report of a running attempt."""

    attempt: int
    next_s: float


def _cut(text: str) -> str:
    return sendable_text(text)[:MAX_TEXT]


class FoldCounter:
    """Counts folds of a study by progress; no clock, no IO."""

    def __init__(self) -> None:
        self._finished: set[int] = set()
        self._failed: set[int] = set()
        self._killed: set[int] = set()
        self._out_of_memory: set[int] = set()
        self._outcomes: dict[int, TrialOutcome] = {}
        self._running: set[int] = set()
        self._retried: set[int] = set()

    def add_earlier(self, before: Iterable[Attempt], finished: Collection[int]) -> None:
        """Count the attempts before this start.

        Args:
            finished: Folds that will not run again; all others will.
        """
        self._finished.update(finished)
        for attempt in before:
            if attempt.fold in finished and attempt.cause == "finished":
                self._count_outcome(attempt)
        self._retried.update(attempt.fold for attempt in before if attempt.attempt > 1)

    def attempt_started(self, fold: int, attempt: int) -> None:
        self._running.add(fold)
        if attempt > 1:
            self._retried.add(fold)

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        self._running.discard(attempt.fold)
        if again or attempt.cause == "interrupted":
            return
        kinds = {"finished": self._finished, "error": self._failed}
        kinds.get(attempt.cause, self._killed).add(attempt.fold)
        if attempt.cause == "out_of_memory":
            self._out_of_memory.add(attempt.fold)
        self._count_outcome(attempt)

    def tally(self) -> StudyTally:
        finished, failed, killed = (
            len(each) for each in (self._finished, self._failed, self._killed)
        )
        outcomes = [*self._outcomes.values()]
        return StudyTally(
            over=finished + failed + killed,
            finished=finished,
            failed=failed,
            killed=killed,
            running=len(self._running),
            retried=len(self._retried),
            out_of_memory=len(self._out_of_memory),
            pruned=outcomes.count("pruned"),
            too_large=outcomes.count("too_large"),
        )

    def _count_outcome(self, attempt: Attempt) -> None:
        if attempt.outcome == "failed":
            self._finished.discard(attempt.fold)
            self._failed.add(attempt.fold)
        elif attempt.outcome:
            self._outcomes[attempt.fold] = attempt.outcome
