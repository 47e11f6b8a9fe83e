"""Runs a study on a Ray cluster: one task per attempt; Ray decides where and when it starts.

The study judges attempts by the other folds, and writes the events of trainings on nodes without a
hub into this host's spool.
"""

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kmonitor_agent.reclaim.restart.crash_diagnosis import ProcessDeath
from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.bounds import LearnedTimes, SilenceJudgement, StepGaps, TimeBound
from kmonitor_agent.studies.carried_function import FoldsRefused
from kmonitor_agent.studies.launch import StudyOptions, record_attempt_deaths
from kmonitor_agent.studies.local_attempt import killed_death
from kmonitor_agent.studies.ray.cluster import RayCluster, TaskFailed, write_file
from kmonitor_agent.studies.ray.files import FileReceiver
from kmonitor_agent.studies.ray.jobs import AttemptJobFactory
from kmonitor_agent.studies.ray.messages import (
    AttemptEnded,
    AttemptProgress,
    AttemptStarted,
    FilePart,
    StopOrder,
    TrainingEvents,
    decode_task_message,
    encode_for_task,
)
from kmonitor_agent.studies.ray.task import run_attempt
from kmonitor_agent.studies.runner import FoldQueue
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.local.supervision import Supervision
from kmonitor_agent.wire.messages.study_events import FoldCause
from kmonitor_agent.wire.spool.format import SpoolRecord
from kmonitor_agent.wire.spool.writer import SpoolLocked, SpoolWriter

_OBEYS_WITHIN_S = 30.0
"""Maximum time for a task to act on a stop order before Ray ends it, seconds."""


class RayAttempt:
    """One attempt on a node, as the study sees it; owned by the thread that runs the study.

    Attributes:
        fold: Number of the fold, from 0.
        attempt: Number of the attempt, from 1.
        stream: Ray's stream of messages of its task.
        attempt_started: Node of the attempt; None while it waits for resources.
        stop_order: Order with which the study ended it; None if there is none.
    """

    def __init__(
        self, fold: int, attempt: int, stream: Any, times: LearnedTimes, bound: TimeBound
    ) -> None:
        """Monitor a task that was just sent.

        Args:
            attempt: Number of the attempt, from 1.
            times: Times learned from other folds.
            bound: Maximum time of an attempt.
        """
        self.fold = fold
        self.attempt = attempt
        self.stream = stream
        self.attempt_started: AttemptStarted | None = None
        self.stop_order: StopOrder | None = None
        self._learned_times = times
        self._bound = bound
        self._attempt_progress: AttemptProgress | None = None
        self._progress_s = 0.0
        self._judged_s = 0.0
        self._started_wall_s = time.time()

    @property
    def is_ready(self) -> bool:
        """True if its function was loaded."""
        return self._attempt_progress is not None and self._attempt_progress.is_ready

    @property
    def share(self) -> float | None:
        """Part of its work that is done, 0..1; None: unknown."""
        return None if self._attempt_progress is None else self._attempt_progress.share

    @property
    def held_bytes(self) -> int:
        """Memory of all its processes in its last message, bytes."""
        return 0 if self._attempt_progress is None else self._attempt_progress.held_bytes

    @property
    def device(self) -> str:
        """Its GPU on the node; empty if none."""
        return "" if self._attempt_progress is None else self._attempt_progress.device

    @property
    def resumed(self) -> bool:
        """True if it continued where the attempt before was killed."""
        return self._attempt_progress is not None and self._attempt_progress.resumed

    @property
    def is_overdue(self) -> bool:
        """True if its task did not act on the stop order in time."""
        return self.stop_order is not None and time.monotonic() - self._judged_s > _OBEYS_WITHIN_S

    def task_started(self, started: AttemptStarted) -> None:
        self.attempt_started = started
        self._started_wall_s = time.time()

    def note_progress(self, progress: AttemptProgress) -> None:
        self._attempt_progress = progress
        self._progress_s = time.monotonic()

    def elapsed_s(self, now_s: float) -> float:
        """Time since it began, seconds; 0 while it waits."""
        return (
            0.0
            if self._attempt_progress is None
            else self._attempt_progress.elapsed_s + now_s - self._progress_s
        )

    def limit_s(self, now_s: float) -> float | None:
        """Maximum time that it may take, seconds; None: not known yet."""
        elapsed_s = self.elapsed_s(now_s)
        finished_s = self._learned_times.finished_s
        return self._bound.limit_s(elapsed_s, self.share, finished_s, self.attempt)

    def judge(self, now_s: float) -> StopOrder | None:
        """Judge the attempt by the other folds; return a stop order once, if it is to be ended."""
        progress = self._attempt_progress
        if progress is None or self.stop_order is not None:
            return None
        limit_s = None if self._bound.timeout_s is not None else self.limit_s(now_s)
        judgement = SilenceJudgement(
            progress.phase,
            progress.silent_s,
            StepGaps(progress.longest_gaps_s),
            self._learned_times.step_gaps,
        )
        if limit_s is not None and progress.elapsed_s > limit_s:
            self.stop_order = StopOrder(
                *judgement.overdue(limit_s, progress.elapsed_s, self._learned_times.finished_s)
            )
        elif why := judgement.hang():
            self.stop_order = StopOrder("hang", why)
        self._judged_s = now_s
        return self.stop_order

    def ended_by(self, cause: FoldCause, why: str) -> Attempt:
        """Record of an attempt whose task cannot report its end.

        Args:
            cause: Cause from Ray; the study's own order takes precedence.
        """
        progress = self._attempt_progress
        stop = self.stop_order
        if stop is not None and cause == "killed":
            cause = stop.cause
            why = stop.why
        return Attempt(
            fold=self.fold,
            attempt=self.attempt,
            cause=cause,
            why=why,
            seconds=self.elapsed_s(time.monotonic()),
            steps=0 if progress is None else progress.steps,
            peak_bytes=0 if progress is None else progress.peak_bytes,
            device=self.device,
            resumed=self.resumed,
            started_wall_s=self._started_wall_s,
            node="" if self.attempt_started is None else self.attempt_started.host,
        )


_POLL_S: Final = 0.2
_ENDS_WITHIN_S: Final = 5.0


class RayRunner:
    """Runs the folds of a study on Ray; owned by the thread that calls `run_folds`.

    Args:
        options: Options of the study; some of the `at_once` tasks may wait for resources.
        factory: Creates the job of each task.
        queue: Queue of waiting and finished folds.
        folders: Folders of this host's spools.
    """

    def __init__(
        self,
        options: StudyOptions,
        cluster: RayCluster,
        factory: AttemptJobFactory,
        queue: FoldQueue,
        folders: Folders,
    ) -> None:
        self._study_options = options
        self._cluster = cluster
        self._job_factory = factory
        self._fold_queue = queue
        self._study_folder = queue.folder
        self._folders = folders
        self._spool_relay = SpoolRelay(folders.spool)
        self._attempts = queue.folder.tried()
        self._running: list[RayAttempt] = []
        self._ending: list[Any] = []
        self._unpacking: dict[int, FileReceiver] = {}
        self._nodes: dict[int, str] = {}
        self._runs: dict[int, dict[str, str]] = {}

    def run(self) -> None:
        """Run the waiting folds, each to its end.

        Raises:
            FoldsRefused: The function cannot be loaded, or no task can start; no fold was started.
            KeyboardInterrupt: Ctrl+C; all processes are ended and recorded.
            OSError: The attempts cannot be written; all processes are ended.
        """
        queue = self._fold_queue
        try:
            while queue.waiting or self._running:
                self._fill()
                for stream in self._cluster.ready(
                    [each.stream for each in self._running], _POLL_S
                ):
                    self._receive(next(each for each in self._running if each.stream is stream))
                self._ending = self._cluster.still_running(self._ending)
                self._judge()
                self._spool_relay.step()
                started = [each for each in self._running if each.attempt_started is not None]
                queue.listener.progressed(queue.done, started, queue.learned_times.finished_s)
        except BaseException:
            self._end_all()
            raise
        finally:
            self._spool_relay.close()
        self._cluster.still_running(self._ending, _ENDS_WITHIN_S)

    def _fill(self) -> None:
        queue = self._fold_queue.waiting
        while queue and len(self._running) < self._study_options.at_once:
            self._send(queue.popleft())

    def _send(self, fold: int) -> None:
        attempt = self._attempts[fold] + 1
        keeps_files = self._fold_queue.has_tries_left(fold)
        job = self._job_factory.of(
            fold, attempt, self._runs.get(fold, {}), keeps_files=keeps_files
        )
        name = f"{self._study_options.carried.text} fold {fold}"
        node = self._nodes.get(fold, "")
        stream = self._cluster.send(run_attempt, encode_for_task(job), name, node)
        known = self._fold_queue.learned_times
        bound = self._study_options.time
        self._running.append(RayAttempt(fold, attempt, stream, known, bound))
        self._unpacking[fold] = FileReceiver(self._study_folder, fold)

    def _receive(self, attempt: RayAttempt) -> None:
        try:
            data = self._cluster.next_message(attempt.stream)
            message = None if data is None else decode_task_message(data)
        except TaskFailed as failed:
            self._fail(attempt, failed)
            return
        match message:
            case AttemptStarted():
                attempt.task_started(message)
            case AttemptProgress():
                attempt.note_progress(message)
                self._runs[attempt.fold] = message.runs
            case TrainingEvents():
                self._spool_relay.add(message)
            case FilePart():
                self._write_file(
                    functools.partial(self._unpacking[attempt.fold].write_part, message)
                )
            case AttemptEnded():
                self._ended(attempt, message)
            case None:
                self._running.remove(attempt)

    def _ended(self, ray_attempt: RayAttempt, ended: AttemptEnded) -> None:
        """Record the end of an attempt; only the end of its stream remains to be read."""
        if ended.refused and not self._fold_queue.has_started(self._running):
            raise FoldsRefused(ended.refused)
        self._write_file(self._unpacking[ray_attempt.fold].commit)
        self._leave(ray_attempt)
        self._runs[ray_attempt.fold] = ended.runs
        self._note(ray_attempt, ended.attempt, ended.death)
        if ended.attempt.cause == "finished":
            self._fold_queue.learn(ended.attempt, StepGaps(ended.longest_gaps_s))

    def _write_file(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as exc:
            self._study_folder.fails(exc)

    def _fail(self, ray_attempt: RayAttempt, failed: TaskFailed) -> None:
        if failed.is_set_up and not self._fold_queue.has_started(self._running):
            raise FoldsRefused(f"run_folds: no fold was started: {failed.why}")
        self._leave(ray_attempt)
        attempt = ray_attempt.ended_by(failed.cause, failed.why)
        self._note(ray_attempt, attempt, killed_death(attempt))

    def _leave(self, attempt: RayAttempt) -> None:
        self._running.remove(attempt)
        self._ending.append(attempt.stream)

    def _note(self, ray_attempt: RayAttempt, attempt: Attempt, death: ProcessDeath) -> None:
        self._attempts[ray_attempt.fold] += 1
        again = self._fold_queue.is_tried_again(attempt)
        started = ray_attempt.attempt_started
        if again and started is not None and not started.has_folder:
            self._nodes[ray_attempt.fold] = started.node  # its saved state is there
        self._spool_relay.flush()
        record_attempt_deaths(
            self._folders, self._runs_of(ray_attempt.fold), attempt, death, again=again
        )
        self._fold_queue.note(attempt, again=again)

    def _runs_of(self, fold: int) -> set[str]:
        supervision = Supervision(self._study_folder.resume_folder(fold))
        return {*self._runs.get(fold, {}).values(), *supervision.runs().values()}

    def _judge(self) -> None:
        now_s = time.monotonic()
        for attempt in self._running:
            stop_order = attempt.judge(now_s)
            if stop_order is not None and attempt.attempt_started is not None:
                path = attempt.attempt_started.stop_order_path
                node = attempt.attempt_started.node
                self._cluster.write(write_file, path, encode_for_task(stop_order), node)
            if attempt.is_overdue:
                self._cluster.cancel(attempt.stream)

    def _end_all(self) -> None:
        self._cluster.end([each.stream for each in self._running])
        for each in self._running:
            if each.is_ready:
                attempt = each.ended_by("interrupted", "the study was interrupted")
                death = ProcessDeath("signal", "SIGKILL", why=attempt.why)
                self._spool_relay.flush()
                record_attempt_deaths(
                    self._folders, self._runs_of(each.fold), attempt, death, again=False
                )
                self._study_folder.note(attempt)
        self._running.clear()


_WRITE_EVERY_S: Final = 5.0
_LOCK_WITHIN_S: Final = 3.0
_LOCK_AGAIN_S: Final = 0.05
_MOST_WAITING: Final = 100_000
"""Maximum number of waiting events of one process while the disk refuses.

The oldest are dropped.
"""


class SpoolRelay:
    """Writes events of nodes into this host's spool; owned by the thread that runs the study.

    Disk failures do not stop the study.
    """

    def __init__(self, root: Path) -> None:
        """Args: `root`: Root of this host's spool."""
        self._root = root
        self._waiting: dict[str, list[bytes]] = {}
        self._writers: dict[str, SpoolWriter] = {}
        self._seqs: dict[str, int] = {}
        self._next_s = 0.0

    def add(self, events: TrainingEvents) -> None:
        """Add events behind earlier ones."""
        session_id = events.facts.session
        if session_id not in self._writers:
            self._writers[session_id] = SpoolWriter(self._root, events.facts, SystemClock())
        waiting = self._waiting.setdefault(session_id, [])
        waiting += events.bodies
        del waiting[:-_MOST_WAITING]

    def step(self) -> None:
        """Write waiting events, every few seconds."""
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _WRITE_EVERY_S
        for session_id in list(self._waiting):
            self._write(session_id)

    def flush(self) -> None:
        """Write all waiting events; waits at most three seconds for a hub that reads the spool."""
        end_s = time.monotonic() + _LOCK_WITHIN_S
        for session_id in list(self._waiting):
            while not self._write(session_id) and time.monotonic() < end_s:
                time.sleep(_LOCK_AGAIN_S)

    def close(self) -> None:
        """Write all waiting events, and close."""
        self.flush()
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _write(self, session_id: str) -> bool:
        """Write a session's events; True if they are written."""
        bodies = self._waiting[session_id]
        writer = self._writers[session_id]
        run = writer.facts.run
        try:
            spool = writer.open()
            try:
                last = max(spool.last_seq, self._seqs.get(run, 0))
                writer.write([SpoolRecord(last + at, body) for at, body in enumerate(bodies, 1)])
            finally:
                writer.rest()
        except (OSError, SpoolLocked, NotPrivate):
            return False
        self._seqs[run] = last + len(bodies)
        del self._waiting[session_id]
        return True
