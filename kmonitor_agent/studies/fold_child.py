"""The process of one fold: loads the function, waits for the start, calls it, sends the result.

While the function runs, a thread sends its progress (`StepProgressReporter`).
"""

import faulthandler
import functools
import importlib
import io
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kmonitor_agent.probes.held_memory import peak_held_bytes
from kmonitor_agent.studies.carried_function import load
from kmonitor_agent.studies.fold import Fold, NotAnswered
from kmonitor_agent.studies.fold_messages import (
    MOST_TEXT,
    FitPhase,
    FoldJob,
    FoldReady,
    FunctionNotFound,
    FunctionReturned,
    StepProgress,
    StudyConnection,
)
from kmonitor_agent.studies.values import NotPlainData, pack_value, seal_value, unpack_value
from kmonitor_agent.wire.local.parent_process import end_with_parent
from kmonitor_agent.wire.local.private_files import make_folder, open_private
from kmonitor_agent.wire.local.supervision import RESTART_STATUS, find_supervision

SHOW_STACKS: Final = signal.SIGUSR1 if hasattr(signal, "SIGUSR1") else None
"""Signal sent before a fold is ended for a hang: writes its threads' stacks to its output."""

_NO_MEMORY: Final = ("ResourceExhaustedError", "OutOfMemoryError", "MemoryError")
_NO_MEMORY_PATTERNS: Final = ("RESOURCE_EXHAUSTED", "out of memory", "OOM when allocating")


def main(descriptor: int) -> None:
    """Main function of a fold's process.

    Args:
        descriptor: This process's end of the pair of sockets.
    """
    connection = StudyConnection(descriptor)
    job = connection.job()
    end_with_parent(job.parent)  # elsewhere than on Linux the watchdog sees to it
    if hasattr(signal, "pthread_sigmask"):
        # A task of Ray's blocks it, and hands that down.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # what was printed outlives a kill
    faulthandler.enable()
    if SHOW_STACKS is not None:
        faulthandler.register(SHOW_STACKS, all_threads=True, chain=False)
    function = _loaded(job, connection)
    if function is None:
        return
    connection.send(FoldReady())
    if connection.wait():
        _call(function, job, connection)


def _loaded(job: FoldJob, connection: StudyConnection) -> Callable[..., Any] | None:
    sys.argv[:] = job.argv
    with suppress(ImportError):
        importlib.import_module("numpy")  # so that it is there to be seeded
    try:
        return load(connection.function(job))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - whatever modules do when they are imported, exit too
        trace = traceback.format_exc()[-MOST_TEXT:]
        why = f"{job.refusal}: {job.function} cannot be loaded by another process:\n{trace}"
        connection.send(FunctionNotFound(why))
    return None


def _call(function: Callable[..., Any], job: FoldJob, connection: StudyConnection) -> None:
    fold = Fold(
        job.index,
        Path(job.directory),
        attempt=job.attempt,
        ask_study=functools.partial(_answered, connection),
    )
    _seed(fold.seed)
    reporter = StepProgressReporter(fold, connection)
    try:
        value = function(fold)
    except BaseException as exc:  # noqa: BLE001 - exit and Ctrl+C end the function too
        if _leaves_for_restart(exc):
            sys.exit(RESTART_STATUS)
        returned = _ended_by(exc)
    else:
        returned = _stored(value, job)
        if returned.how == "finished":
            outcome, why = fold.outcome
            returned = FunctionReturned("finished", why[:MOST_TEXT], outcome=outcome)
    seen = reporter.end()
    connection.send(
        FunctionReturned(
            returned.how,
            returned.error,
            returned.trace,
            steps=seen.steps,
            peak_bytes=peak_held_bytes(),
            vram_bytes=seen.vram_bytes,
            private=seen.private,
            outcome=returned.outcome,
        )
    )


def _seed(seed: int) -> None:
    random.seed(seed)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
    for name in ("keras", "tf_keras"):
        keras: Any = sys.modules.get(name)
        if keras is not None:
            keras.utils.set_random_seed(seed)


def _answered(connection: StudyConnection, question: object) -> Any:
    kind, answer = unpack_value(connection.ask(pack_value(question)))
    if kind:
        raise NotAnswered(kind, answer)
    return answer


def _stored(value: object, job: FoldJob) -> FunctionReturned:
    try:
        data = seal_value(pack_value(value), job.study, job.index)
    except NotPlainData as exc:
        return FunctionReturned(
            "error",
            f"TypeError: the function returned a {exc.kind}; return plain data (None, numbers, "
            "strings, bytes, lists, dicts or arrays) and save the rest in fold.directory",
        )
    except MemoryError:
        return FunctionReturned(
            "out_of_memory", "MemoryError: not enough memory to keep the return value"
        )
    try:
        replace_file(Path(job.value), data)
    except OSError as exc:
        return FunctionReturned(
            "error", f"{type(exc).__name__}: the return value was not kept: {exc}"
        )
    return FunctionReturned("finished")


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically; on the disk when this returns. Raises: OSError."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    for folder in (path.parent.parent, path.parent):
        make_folder(folder)  # the fold may have removed it
    try:
        with open_private(fresh, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def _leaves_for_restart(exc: BaseException) -> bool:
    if not isinstance(exc, SystemExit) or exc.code != RESTART_STATUS:
        return False
    supervision = find_supervision(os.environ)
    return supervision is not None and supervision.request() is not None


def _ended_by(exc: BaseException) -> FunctionReturned:
    traceback.print_exception(exc)
    text = _text_of(exc)
    trace = "".join(traceback.format_exception(exc))[-MOST_TEXT:]
    if isinstance(exc, KeyboardInterrupt):
        return FunctionReturned("interrupted", text, trace)
    is_oom = any(kind.__name__ in _NO_MEMORY for kind in type(exc).__mro__)
    is_oom = is_oom or any(pattern in text for pattern in _NO_MEMORY_PATTERNS)
    return FunctionReturned("out_of_memory" if is_oom else "error", text, trace)


def _text_of(exc: BaseException) -> str:
    try:
        message = str(exc)
    except Exception:  # noqa: BLE001 - a class of the script's own may do anything
        message = "its message cannot be read"
    return f"{type(exc).__name__}: {message}"[:MOST_TEXT]


_EVERY_S: Final = 0.25
_THREAD_NAME: Final = "kmonitor-fold"


class StepProgressReporter:
    """A thread that checks the MonitorCallbacks and `fold.step()` four times a second."""

    def __init__(self, fold: Fold, connection: StudyConnection) -> None:
        """Start the thread.

        Args:
            fold: Fold whose function runs.
        """
        self._fold = fold
        self._study_connection = connection
        self._stop = threading.Event()
        self._was_in_fit = False
        self._vram_bytes: float | None = None
        self._thread = threading.Thread(target=self._run, name=_THREAD_NAME, daemon=True)
        self._thread.start()

    def end(self) -> StepProgress:
        """Stop the thread and return the final progress."""
        self._stop.set()
        self._thread.join(timeout=1.0)
        return self.read_progress()

    def _run(self) -> None:
        last: tuple[object, ...] = ()
        while not self._stop.wait(_EVERY_S):
            try:
                seen = self.read_progress()
            except Exception:  # noqa: BLE001, S112 - without it the fold goes on
                continue
            current = (seen.steps, seen.phase, seen.share, seen.private)
            if current != last:
                last = current
                self._study_connection.send(seen)

    def read_progress(self) -> StepProgress:
        """Progress now; VRAM as of the last measurement."""
        steps, of = self._fold.progress
        phase: FitPhase = "step" if steps else "begin"
        share = steps / of if of else None
        private = False
        for recorder in _recorders():
            private = private or recorder.privacy.private
            watched = recorder.current_target()
            steps += recorder.steps_done
            fit = watched.fit
            self._vram_bytes = _vram(watched.framework) or self._vram_bytes
            if fit is None:
                phase = "after" if self._was_in_fit else phase
                continue
            self._was_in_fit = True
            steps_in_epoch = fit.clock.steps if fit.is_in_epoch else 0
            steps += steps_in_epoch
            phase = _phase(fit, steps_in_epoch)
            share = _share(fit, steps_in_epoch)
        return StepProgress(time.monotonic(), steps, phase, share, self._vram_bytes, private)


def _recorders() -> list[Any]:
    runs = sys.modules.get("kmonitor_agent.recording.runs")
    return [] if runs is None else runs.RUNS.recorders()


def _phase(fit: Any, steps_in_epoch: int) -> FitPhase:
    if fit.epochs_done == 0 and steps_in_epoch == 0:
        return "begin"
    is_last = fit.planned_steps is None or steps_in_epoch >= fit.planned_steps
    return "between" if steps_in_epoch == 0 or is_last else "step"


def _share(fit: Any, steps_in_epoch: int) -> float | None:
    if not fit.planned_epochs:
        return None
    within = min(1.0, steps_in_epoch / fit.planned_steps) if fit.planned_steps else 0.0
    epoch = fit.epoch + (within if fit.is_in_epoch else 1.0)
    return min(1.0, epoch / fit.planned_epochs)


def _vram(framework: Any) -> float | None:
    """Peak of the framework's allocator on its GPU, bytes."""
    readings = None if framework is None else framework.allocator()
    if readings is None or not str(readings.device).lower().startswith(("gpu", "cuda")):
        return None
    peak = readings.peak.value
    return None if peak is None else float(peak)
