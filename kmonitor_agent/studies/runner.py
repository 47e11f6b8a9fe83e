"""Runs a study on this machine: several folds at once, with the next one's process already warm.

Killed folds are retried, and the largest is ended before the host runs out of memory. `FoldQueue`,
which counts attempts and learns from finished folds, serves the Ray runner too.
"""

import functools
import selectors
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from kmonitor_agent.studies.attempts import TRIED_AGAIN, Attempt, RunningAttempt, StudyListener
from kmonitor_agent.studies.bounds import LearnedTimes, StepGaps, reserve_bytes
from kmonitor_agent.studies.carried_function import FoldsRefused
from kmonitor_agent.studies.host_resources import available_memory_bytes, total_memory_bytes
from kmonitor_agent.studies.launch import AttemptLauncher, StudyOptions
from kmonitor_agent.studies.local_attempt import LocalAttempt
from kmonitor_agent.studies.study_folder import StudyFolder
from kmonitor_agent.wire.text import binary_size

_POLL_S: Final = 0.1
_CLOSE_POLL_S: Final = 0.02
_FOUND_WITHIN_S: Final = 60.0
"""Maximum wait for the function to be loaded ahead, seconds.

After that the first fold shows if it can be loaded.
"""

_WARM_NEEDS: Final = 0.25
"""Part of the host's memory that must be free before another process is started ahead of time."""


@dataclass(slots=True)
class SharedAttempts:
    """State shared by the runners of one study, each on a thread of its own.

    Attributes:
        running: Running folds of all runners.
        starting: Held while a runner chooses a device and starts a fold there.
    """

    running: list[LocalAttempt] = field(default_factory=list[LocalAttempt])
    starting: threading.Lock = field(default_factory=threading.Lock)


class LocalRunner:
    """Runs folds on this machine.

    Owned by the thread that calls `run_folds`, with which its processes die.

    Args:
        fold_queue: Queue of waiting and finished folds.
        attempts: State shared by the runners of one study; None: there is only this one.
    """

    def __init__(
        self,
        options: StudyOptions,
        launcher: AttemptLauncher,
        fold_queue: "FoldQueue",
        attempts: SharedAttempts | None = None,
    ) -> None:
        attempts = attempts or SharedAttempts()
        self._study_options = options
        self._attempt_launcher = launcher
        self._fold_queue = fold_queue
        self._all_running = attempts.running
        self._starting = attempts.starting
        self._ahead: int | None = None
        self._running: list[LocalAttempt] = []
        self._warm: LocalAttempt | None = None
        self._cold: set[int] = set()
        self._total_bytes = total_memory_bytes()

    def run(self, ahead: int | None = None) -> None:
        """Run the waiting folds, each to its end.

        Args:
            ahead: Fold that will be run next time, whose process may wait warm until then; None:
                there is none.

        Raises:
            FoldsRefused: The function cannot be loaded; no fold was started.
            KeyboardInterrupt: Ctrl+C; all processes are ended and recorded.
        """
        queue = self._fold_queue
        self._ahead = ahead
        try:
            while queue.waiting or self._running:
                self._fill()
                wait_for_attempts(self._all())
                self._poll()
                queue.listener.progressed(
                    queue.done, self._running, queue.learned_times.finished_s
                )
        except BaseException:
            self._end_all()
            raise
        if ahead is None:
            self.close()

    def find(self, fold: int) -> None:
        """Have a process load the function; it waits warm for the fold that is run first.

        Raises:
            FoldsRefused: The function cannot be loaded.
            KeyboardInterrupt: Ctrl+C; no process is left.
            OSError: No process can be started.
        """
        self._warm = warm = self._attempt_launcher.start(
            fold, self._free_device(), self._fold_queue.learned_times
        )
        end_s = time.monotonic() + _FOUND_WITHIN_S
        is_gone = False
        try:
            while not is_gone and not warm.is_ready and time.monotonic() < end_s:
                wait_for_attempts([warm])
                is_gone = warm.poll(time.monotonic())
        except BaseException:
            self._drop_warm()
            raise
        if is_gone:
            self._drop_warm()
        if warm.refused:
            self._drop_warm()
            raise FoldsRefused(warm.refused)

    def run_one(self, fold: int, done: int, ahead: int | None = None) -> None:
        """Run one more fold, to its end.

        Args:
            done: Number of folds that are over already.
            ahead: See `run`.

        Raises:
            FoldsRefused: See `run`, also for KeyboardInterrupt.
        """
        self._fold_queue.begin([fold], done)
        self.run(ahead)

    def close(self) -> None:
        """End the process that waits warm; no more folds are run."""
        self._drop_warm()

    def _fill(self) -> None:
        queue = self._fold_queue.waiting
        while queue and len(self._running) < self._study_options.at_once:
            with self._starting:
                self._begin(queue.popleft())
        ahead = queue[0] if queue else self._ahead
        if ahead is not None and self._warm is None and self._may_warm(ahead):
            with suppress(OSError):  # it was only to be warm
                self._warm = self._attempt_launcher.start(
                    ahead, "", self._fold_queue.learned_times
                )

    def _begin(self, fold: int) -> None:
        warm, self._warm = self._warm, None
        if warm is not None and (warm.fold != fold or warm.process.exit_code() is not None):
            self._attempt_launcher.drop(warm)
            warm = None
        running = warm or self._started(fold, self._free_device())
        if running is not None:
            noun = self._study_options.noun
            # On the disk before it goes: whoever finds this script killed knows of the try.
            note = functools.partial(
                self._fold_queue.folder.note_start, fold, running.attempt, noun
            )
            running.begin(time.monotonic(), note)
            self._running.append(running)
            self._all_running.append(running)

    def _started(self, fold: int, device: str) -> LocalAttempt | None:
        try:
            return self._attempt_launcher.start(fold, device, self._fold_queue.learned_times)
        except OSError as exc:
            why = f"no process could be started: {exc}"
            noun = self._study_options.noun
            failed = Attempt(fold, 1, "error", why, started_wall_s=time.time(), noun=noun)
            self._fold_queue.note(failed, again=False)
            return None

    def _may_warm(self, fold: int) -> bool:
        if self._study_options.devices or fold in self._cold:
            # A script that touches the GPU when it is read would take memory from a fold there.
            return False
        return available_memory_bytes() > _WARM_NEEDS * self._total_bytes

    def _free_device(self) -> str:
        names = self._study_options.devices
        if len(names) <= 1:
            return ""
        used = [each.device for each in self._all_running]
        return min(names, key=used.count)

    def _poll(self) -> None:
        now_s = time.monotonic()
        if self._warm is not None and self._warm.poll(now_s):
            self._cold.add(self._warm.fold)  # its fold shows why when its time comes
            self._drop_warm()
        for ended in [ended for ended in self._running if ended.poll(now_s)]:
            self._running.remove(ended)
            self._all_running.remove(ended)
            self._finish_attempt(ended)
        self._protect_host()

    def _finish_attempt(self, local_attempt: LocalAttempt) -> None:
        attempt = self._attempt_launcher.finish(local_attempt)
        if attempt is None:
            self._fold_queue.waiting.appendleft(local_attempt.fold)
            self._drop_warm()
            return
        if local_attempt.refused and not self._fold_queue.has_started(self._running):
            self._attempt_launcher.settle(local_attempt, attempt, again=False)
            raise FoldsRefused(local_attempt.refused)
        again = self._fold_queue.is_tried_again(attempt)
        self._attempt_launcher.settle(local_attempt, attempt, again=again)
        if attempt.cause == "finished":
            self._fold_queue.learn(attempt, local_attempt.gaps)
        self._fold_queue.note(attempt, again=again)

    def _protect_host(self) -> None:
        """End the largest fold before the host runs out of memory."""
        reserve = reserve_bytes(self._total_bytes)
        everywhere = [*self._all_running]
        used_bytes = sum(each.held_bytes for each in (*everywhere, *self._waiting()))
        left = min(available_memory_bytes(), self._total_bytes - used_bytes)
        if left >= reserve or not self._running:
            return
        self._drop_warm()
        largest = max(everywhere, key=lambda each: each.held_bytes)
        if largest.held_bytes < reserve or largest not in self._running:
            return  # it is not ours that fills the host, or its own runner ends it
        held = binary_size(largest.held_bytes)
        noun = self._study_options.noun
        why = (
            f"this host had only {binary_size(left)} of memory left, and the {noun} was using the"
            f" most ({held})"
        )
        largest.kill("out_of_memory", why)

    def _drop_warm(self) -> None:
        warm, self._warm = self._warm, None
        if warm is not None:
            self._attempt_launcher.drop(warm)

    def _end_all(self) -> None:
        self._drop_warm()
        for running in self._running:
            running.kill("interrupted", "the study was interrupted")
        for running in self._running:
            attempt = self._attempt_launcher.finish(running)
            self._all_running.remove(running)
            if attempt is not None and running.is_ready:
                self._attempt_launcher.settle(running, attempt, again=False)
                self._fold_queue.folder.note(attempt)
        self._running.clear()
        self._fold_queue.waiting.clear()

    def _all(self) -> list[LocalAttempt]:
        return [*self._running, *self._waiting()]

    def _waiting(self) -> list[LocalAttempt]:
        return [] if self._warm is None else [self._warm]


def wait_for_attempts(running: Sequence[LocalAttempt]) -> None:
    """Wait until one of them has sent a message, or measurements are due."""
    poll_s = _CLOSE_POLL_S if any(each.is_close for each in running) else _POLL_S
    with selectors.DefaultSelector() as selector:
        for each in running:
            if each.process.connection.is_open:
                connection = each.process.connection
                selector.register(connection, connection.awaited_events)
            else:
                poll_s = 0.005  # on its way out
        if selector.get_map():
            selector.select(poll_s)
        else:
            time.sleep(poll_s)


class FoldQueue:
    """Waiting folds, and records of ended ones; owned by the study's thread.

    Attributes:
        folder: Stores the attempts.
        listener: Receives progress and ended attempts.
        done: Number of folds that are over.
        learned_times: Times learned from the folds that finished.
    """

    def __init__(
        self, retries: int, folder: StudyFolder, listener: StudyListener, *, learns: bool = True
    ) -> None:
        """Start with the attempts in the folder.

        Args:
            retries: Number of retries of a killed fold.
            folder: Stores the attempts; those of earlier starts are learned from.
            listener: Receives progress and ended attempts.
            learns: True if folds are alike, so that finished ones bound the time of others.
        """
        self.waiting: deque[int] = deque()
        self.done = 0
        self.learned_times = LearnedTimes()
        self._learns = learns
        if learns:
            known = [each.seconds for each in folder.attempts if each.cause == "finished"]
            self.learned_times.finished_s += known
        self._has_noted = False
        self._retries = retries
        self.folder = folder
        self.listener = listener
        self._tried: dict[int, int] = {}

    def begin(self, folds: Iterable[int], done: int) -> None:
        """Set the folds to run, and the number of those that are over already."""
        self._tried.clear()
        self.waiting.extend(folds)
        self.done = done

    def has_started(self, running: Iterable[RunningAttempt]) -> bool:
        """True if any fold's function was loaded since this start."""
        return self._has_noted or any(each.is_ready for each in running)

    def has_tries_left(self, fold: int) -> bool:
        """True if the fold is retried when its running attempt is killed."""
        return self._tried.get(fold, 0) < self._retries

    def is_tried_again(self, attempt: Attempt) -> bool:
        """True if another attempt follows this ended one; call it once."""
        if attempt.cause not in TRIED_AGAIN:
            return False
        is_left = self.has_tries_left(attempt.fold)
        self._tried[attempt.fold] = self._tried.get(attempt.fold, 0) + 1
        return is_left

    def learn(self, attempt: Attempt, gaps: StepGaps) -> None:
        """Learn from a fold that finished: its gaps between steps were healthy."""
        if not self._learns:
            return
        self.learned_times.finished_s.append(attempt.seconds)
        self.learned_times.step_gaps.learn(gaps)

    def note(self, attempt: Attempt, *, again: bool) -> None:
        self.folder.note(attempt)
        self._has_noted = True
        self.listener.ended(attempt, again=again)
        if again:
            self.waiting.append(attempt.fold)
        else:
            self.done += 1
