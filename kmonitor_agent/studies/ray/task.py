"""The Ray task of one attempt: on a node it starts the fold's own process, watches and bounds it.

The same parts do that as on one machine. What only the study knows, how long other folds took, is
judged there; its verdict comes as a file.
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
from kmonitor_agent.studies.bounds import TimeBound
from kmonitor_agent.studies.host_resources import parse_memory_bound
from kmonitor_agent.studies.launch import AttemptLauncher, LearnedTimes, StudyOptions
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
from kmonitor_agent.wire.local.spool_reader import SpoolReader, spools_below

_EVERY_S: Final = 2.0
_MOST_EVENTS: Final = 256
_DEVICES: Final = "CUDA_VISIBLE_DEVICES"

_NO_MODULE: Final = (
    "\n{host} imports what is installed there. Give your folder to all nodes before run_folds:\n\n"
    '    ray.init(runtime_env={{"working_dir": "."}})'
)


def run_attempt(data: bytes) -> Iterator[bytes]:
    """Run an attempt to its end.

    Args:
        data: The `Errand`.

    Yields:
        What the study is told, an `Over` at last.
    """
    watch = _Watch(decode_job(data))
    try:
        for message in watch.run():
            yield encode_task_message(message)
    finally:
        watch.close()


class _Watch:
    """Owned by the task's only thread, with which the fold's process dies."""

    def __init__(self, errand: AttemptJob) -> None:
        self._errand = errand
        self._ground = prepare_node(errand)
        self._host = socket.gethostname()
        self._spools = _Spools(self._ground.spool)
        wanted = StudyOptions(
            source=self._ground.source,
            retries=int(errand.saves),
            at_once=1,
            time=TimeBound(errand.timeout_s),
            memory_bytes=parse_memory_bound(errand.memory),
            devices=(),
            judges_silence=False,
        )
        facts = StudyFacts(errand.study, wanted.source.text, errand.folds)
        tried = Counter({errand.fold: errand.attempt - 1})
        self._launch = AttemptLauncher(wanted, facts, self._ground.paths, find_folders(), tried)
        self._running: LocalAttempt | None = None

    def run(self) -> Iterator[TaskMessage]:
        """Run it."""
        ray: Any = importlib.import_module("ray")
        ground, fold = self._ground, self._errand.fold
        node = str(ray.get_runtime_context().get_node_id())
        yield AttemptStarted(node, self._host, str(ground.verdict), ground.has_folder)
        running = self._started()
        while isinstance(running, LocalAttempt):
            yield from self._follow(running)
            attempt = self._launch.over(running)
            if attempt is not None:
                yield from self._over(running, attempt)
                return
            running = self._started()  # it left to be started again
        yield AttemptEnded(
            Attempt(fold, self._errand.attempt, "error", running, node=self._host),
            ProcessDeath("status", status=1, why=running),
            {},
            {},
            "",
        )

    def close(self) -> None:
        """End what is left."""
        if self._running is not None:
            self._running.process.end()
        self._launch.close()

    def _started(self) -> LocalAttempt | str:
        device = os.environ.get(_DEVICES, "") if self._errand.gpus else ""
        try:
            running = self._launch.start(self._errand.fold, device, LearnedTimes())
        except OSError as exc:
            return f"no process could be started: {exc}"
        running.begin(time.monotonic())
        self._running = running
        return running

    def _follow(self, running: LocalAttempt) -> Iterator[TaskMessage]:
        next_s, was_ready = 0.0, False
        while True:
            wait_for_attempts([running])
            now_s = time.monotonic()
            if running.look(now_s):
                return
            self._obey(running)
            if now_s >= next_s or running.is_ready != was_ready:
                next_s, was_ready = now_s + _EVERY_S, running.is_ready
                yield _now(running, now_s, self._launch.runs(running.fold))
                yield from self._spools.new()

    def _obey(self, running: LocalAttempt) -> None:
        if not self._ground.verdict.exists():
            return
        verdict = decode_stop_order(read_plain(self._ground.verdict, SETTING_BYTES))
        if verdict is not None:
            running.kill(verdict.cause, verdict.why)

    def _over(self, running: LocalAttempt, attempt: Attempt) -> Iterator[TaskMessage]:
        errand, ground = self._errand, self._ground
        keeps = errand.keeps and attempt.cause in TRIED_AGAIN
        yield from self._spools.new()
        if not ground.has_folder:
            yield from file_parts(ground.paths, errand.fold, with_files=not keeps)
        runs = self._launch.runs(errand.fold)
        self._launch.forget(attempt)
        ground.leave(errand.fold, keeps=keeps)
        yield AttemptEnded(
            msgspec.structs.replace(attempt, node=self._host),
            running.death(attempt),
            runs,
            running.habits.longest_s,
            self._refused(running.refused),
        )

    def _refused(self, why: str) -> str:
        is_missing = "ModuleNotFoundError" in why
        return why + _NO_MODULE.format(host=self._host) if is_missing else why


class _Spools:
    """What trainings here write, where no hub takes it."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._tails: dict[Path, SpoolReader] = {}

    def new(self) -> Iterator[TrainingEvents]:
        """What was written since."""
        if self._folder is None or not self._folder.is_dir():
            return
        for path in spools_below(self._folder):
            tail = self._tails.setdefault(path, SpoolReader(path))
            while events := tail.read(_MOST_EVENTS).events:
                for facts, group in groupby(events, key=lambda each: each.facts):
                    if facts is not None:
                        yield TrainingEvents(facts, [each.body for each in group])


def _now(running: LocalAttempt, now_s: float, runs: dict[str, str]) -> AttemptProgress:
    return AttemptProgress(
        is_ready=running.is_ready,
        elapsed_s=running.elapsed_s(now_s),
        steps=running.steps,
        share=running.share,
        phase=running.silence.phase,
        silent_s=running.silence.silent_s(now_s),
        habits=running.habits.longest_s,
        resident_bytes=running.resident_bytes,
        peak_bytes=running.peak_bytes,
        device=running.device,
        resumed=running.resumed,
        runs=runs,
    )
