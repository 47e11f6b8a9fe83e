"""Ray task of one attempt: on a node it starts the fold's own process, monitors and bounds it.

It uses the same parts as a study on one machine. Bounds that depend on the other folds are judged
by the study; its stop order comes as a file.
"""

import importlib
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec

from kmonitor_agent.reclaim.restart.crash_diagnosis import ProcessDeath
from kmonitor_agent.studies.attempts import TRIED_AGAIN, Attempt
from kmonitor_agent.studies.bounds import LearnedTimes, TimeBound
from kmonitor_agent.studies.host_resources import GPU_VARIABLE, parse_memory_bound
from kmonitor_agent.studies.launch import AttemptLauncher, StudyOptions
from kmonitor_agent.studies.local_attempt import LocalAttempt
from kmonitor_agent.studies.ray.files import file_parts
from kmonitor_agent.studies.ray.messages import (
    AttemptEnded,
    AttemptJob,
    AttemptProgress,
    AttemptStarted,
    TaskMessage,
    TrainingEvents,
    decode_job,
    decode_stop_order,
    encode_task_message,
)
from kmonitor_agent.studies.ray.node import prepare_node
from kmonitor_agent.studies.runner import wait_for_attempts
from kmonitor_agent.studies.study_folder import StudyFacts
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.private_files import SETTING_BYTES, read_plain
from kmonitor_agent.wire.spool.reader import SpoolReader, spools_below

_EVERY_S: Final = 2.0
_MOST_EVENTS: Final = 256

_NO_MODULE: Final = (
    "\n{host} imports only packages that are installed there. Send your folder to all nodes"
    ' before run_folds:\n\n    ray.init(runtime_env={{"working_dir": "."}})'
)


def run_attempt(data: bytes) -> Iterator[bytes]:
    """Run an attempt to its end.

    Args:
        data: The encoded `AttemptJob`.

    Yields:
        Encoded messages for the study, an `AttemptEnded` at last.
    """
    watch = _Watch(decode_job(data))
    try:
        for message in watch.run():
            yield encode_task_message(message)
    finally:
        watch.close()


class _Watch:
    """Monitors the fold's process.

    Owned by the task's only thread, with which the process dies.
    """

    def __init__(self, job: AttemptJob) -> None:
        self._attempt_job = job
        self._attempt_folders = prepare_node(job)
        self._host = socket.gethostname()
        self._spools = _Spools(self._attempt_folders.spool)
        options = StudyOptions(
            carried=job.function,
            retries=int(job.saves_each_epoch),
            at_once=1,
            time=TimeBound(job.timeout_s),
            memory_bytes=parse_memory_bound(job.memory),
            devices=(),
            judges_silence=False,
        )
        facts = StudyFacts(job.study, job.function.text, job.folds)
        tried = Counter({job.fold: job.attempt - 1})
        self._attempt_launcher = AttemptLauncher(
            options, facts, self._attempt_folders.paths, find_folders(), tried
        )
        self._local_attempt: LocalAttempt | None = None

    def run(self) -> Iterator[TaskMessage]:
        ray: Any = importlib.import_module("ray")
        folders = self._attempt_folders
        fold = self._attempt_job.fold
        node = str(ray.get_runtime_context().get_node_id())
        yield AttemptStarted(node, self._host, str(folders.stop_order_path), folders.has_folder)
        running = self._started()
        while isinstance(running, LocalAttempt):
            yield from self._follow(running)
            attempt = self._attempt_launcher.finish(running)
            if attempt is not None:
                yield from self._finish(running, attempt)
                return
            running = self._started()  # it left to be started again
        yield AttemptEnded(
            Attempt(fold, self._attempt_job.attempt, "error", running, node=self._host),
            ProcessDeath("status", status=1, why=running),
            {},
            {},
            "",
        )

    def close(self) -> None:
        """End remaining processes."""
        if self._local_attempt is not None:
            self._local_attempt.process.end()
        self._attempt_launcher.close()

    def _started(self) -> LocalAttempt | str:
        device = os.environ.get(GPU_VARIABLE, "") if self._attempt_job.gpus else ""
        try:
            running = self._attempt_launcher.start(self._attempt_job.fold, device, LearnedTimes())
        except OSError as exc:
            return f"no process could be started: {exc}"
        running.begin(time.monotonic())
        self._local_attempt = running
        return running

    def _follow(self, attempt: LocalAttempt) -> Iterator[TaskMessage]:
        next_s = 0.0
        was_ready = False
        while True:
            wait_for_attempts([attempt])
            now_s = time.monotonic()
            if attempt.poll(now_s):
                return
            self._obey(attempt)
            if now_s >= next_s or attempt.is_ready != was_ready:
                next_s = now_s + _EVERY_S
                was_ready = attempt.is_ready
                yield _progress(attempt, now_s, self._attempt_launcher.runs(attempt.fold))
                yield from self._spools.new()

    def _obey(self, attempt: LocalAttempt) -> None:
        path = self._attempt_folders.stop_order_path
        stop_order = decode_stop_order(read_plain(path, SETTING_BYTES)) if path.exists() else None
        if stop_order is not None:
            attempt.kill(stop_order.cause, stop_order.why)

    def _finish(self, local_attempt: LocalAttempt, attempt: Attempt) -> Iterator[TaskMessage]:
        job = self._attempt_job
        folders = self._attempt_folders
        keeps_files = job.keeps_files and attempt.cause in TRIED_AGAIN
        yield from self._spools.new()
        if not folders.has_folder:
            yield from file_parts(folders.paths, job.fold, with_files=not keeps_files)
        runs = self._attempt_launcher.runs(job.fold)
        self._attempt_launcher.forget(attempt)
        folders.leave(job.fold, keeps_files=keeps_files)
        yield AttemptEnded(
            msgspec.structs.replace(attempt, node=self._host),
            local_attempt.death(attempt),
            runs,
            local_attempt.gaps.longest_s,
            self._refused(local_attempt.refused),
        )

    def _refused(self, why: str) -> str:
        is_missing = "ModuleNotFoundError" in why
        return why + _NO_MODULE.format(host=self._host) if is_missing else why


class _Spools:
    """Spools of trainings on a node without a hub."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._tails: dict[Path, SpoolReader] = {}

    def new(self) -> Iterator[TrainingEvents]:
        """Events written since the last call."""
        if self._folder is None or not self._folder.is_dir():
            return
        for path in spools_below(self._folder):
            tail = self._tails.setdefault(path, SpoolReader(path))
            while events := tail.read(_MOST_EVENTS).events:
                for facts, group in groupby(events, key=lambda each: each.facts):
                    if facts is not None:
                        yield TrainingEvents(facts, [each.body for each in group])


def _progress(attempt: LocalAttempt, now_s: float, runs: dict[str, str]) -> AttemptProgress:
    return AttemptProgress(
        is_ready=attempt.is_ready,
        elapsed_s=attempt.elapsed_s(now_s),
        steps=attempt.steps,
        share=attempt.share,
        phase=attempt.silence.phase,
        silent_s=attempt.silence.silent_s(now_s),
        longest_gaps_s=attempt.gaps.longest_s,
        held_bytes=attempt.held_bytes,
        peak_bytes=attempt.peak_bytes,
        device=attempt.device,
        resumed=attempt.resumed,
        runs=runs,
    )
