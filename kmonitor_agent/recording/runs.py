"""Runs of this process, one unless callbacks name different ones, and the process's end.

A run is closed when another one begins and neither a fit nor a callback of it is left, as in a
search that names a run for each trial. A run whose callback lives on is idle until its next fit:
it stays registered with the hub and holds no descriptor. The last active run is neither closed nor
idle, so that events between its fits are seen. A closed run whose name is used again continues
under its id.
"""

import os
import sys
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

from kmonitor_agent.exit_hooks import EXIT_HOOKS
from kmonitor_agent.frameworks.detection import imported_framework
from kmonitor_agent.frameworks.script_values import running_shell
from kmonitor_agent.link.agent_thread import AGENT, EXIT_NETWORK_S
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from kmonitor_agent.recording.process_facts import default_run_name
from kmonitor_agent.recording.process_session import ClosedRun, UncaughtException
from kmonitor_agent.recording.run_recorder import RunRecorder
from kmonitor_agent.recording.settings import Settings

CLOSES_WITHIN_S: Final = 30.0
"""Maximum time for a run closed before the process ends to send its events to the hub, seconds."""

CLOSED_LIMIT: Final = 4096
"""Number of closed runs that are remembered.

An older one gets a new id if its name is used again.
"""

_COLLECTS_TO_BEGIN: Final = 2


class ProcessRuns:
    """Recorders of runs by name; any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorders: dict[str, RunRecorder] = {}
        self._closed: dict[str, ClosedRun] = {}
        self._callbacks: dict[str, list[weakref.ref[object]]] = {}
        self._active: RunRecorder | None = None
        self._n_collects = 0
        self._exits = ExceptionHooks(self._handle_uncaught)
        self._is_watching = False

    def recorder(self, settings: Settings, callback: object | None = None) -> RunRecorder:
        """Return the recorder of the run that a callback names; creates it for the first one."""
        name = settings.run_name or default_run_name()
        with self._lock:
            if name not in self._recorders:
                before = self._closed.pop(name, None)
                if before is not None:
                    before.release_spool()
                self._recorders[name] = RunRecorder(name, settings, before)
            recorder = self._recorders[name]
            if callback is not None:
                self._callbacks.setdefault(name, []).append(weakref.ref(callback))
            return recorder

    def recorders(self) -> list[RunRecorder]:
        """Recorders of the runs that are not closed."""
        return list(self._recorders.values())

    def fit_started(self, recorder: RunRecorder) -> None:
        """Make the other runs idle, or close them; a fit of this run begins."""
        with self._lock:
            self._active = recorder
            recorder.set_idle(is_idle=False)
            for other in tuple(self._recorders.values()):
                self._settle(other)

    def fit_ended(self, recorder: RunRecorder) -> None:
        """Make this run idle, or close it, if another one is active; a fit of this run ended."""
        with self._lock:
            self._settle(recorder)

    def _settle(self, recorder: RunRecorder) -> None:
        if recorder is self._active or recorder.has_open_fit:
            return
        recorder.set_idle(is_idle=True)
        if self._is_wanted(recorder.name) or self._recorders.get(recorder.name) is not recorder:
            return
        del self._recorders[recorder.name]
        self._callbacks.pop(recorder.name, None)
        while len(self._closed) >= CLOSED_LIMIT:
            del self._closed[next(iter(self._closed))]
        self._closed[recorder.name] = recorder.closed()
        with recorder.faults.guarded("run.close"):
            recorder.close(CLOSES_WITHIN_S)

    def _is_wanted(self, name: str) -> bool:
        """True if a callback of this run exists."""
        living = [each for each in self._callbacks.get(name, []) if each() is not None]
        self._callbacks[name] = living
        return bool(living)

    def report_collected(self, outcome: ReclaimOutcome) -> None:
        """Report a `collect()` call of the script with every run of this process.

        If none has begun, the only one that a callback names may begin with it.
        """
        only = self._begun_by_collecting()
        if only is not None:
            with only.faults.guarded("run.begin"):
                self._begin_without_fit(only)
        for recorder in tuple(self._recorders.values()):
            with recorder.faults.guarded("run.report_collected"):
                recorder.report_collected(outcome)

    def _begun_by_collecting(self) -> RunRecorder | None:
        """The run that begins at a second `collect()`: the first may only precede the fits."""
        with self._lock:
            wanted = [each for each in self._recorders.values() if self._is_wanted(each.name)]
        if len(wanted) != 1 or wanted[0].has_begun:
            return None
        self._n_collects += 1
        return wanted[0] if self._n_collects >= _COLLECTS_TO_BEGIN else None

    def _begin_without_fit(self, recorder: RunRecorder) -> None:
        framework = imported_framework()
        if framework is not None and recorder.begin_without_fit(framework):
            self.watch_exits()
            self.fit_started(recorder)

    def watch_exits(self) -> None:
        """Watch exceptions and the process's exit from now on; called when a fit has begun."""
        with self._lock:
            # Last in, first out: a run's last events must come before its link's own exit hook,
            # which was registered when the link opened.
            EXIT_HOOKS.add(self)
            if not self._is_watching:
                self._is_watching = True
                self._exits.install()
            self._exits.install_ipython()

    def close(self) -> None:
        """End every run, at exit and after tests. Never raises."""
        try:
            with self._lock:
                recorders = self._recorders
                self._drop_all()
            for recorder in recorders.values():
                with recorder.faults.guarded("run.close"):
                    recorder.close(EXIT_NETWORK_S)
        except Exception as exc:  # noqa: BLE001 - at exit nobody could catch it
            AGENT.record("run.close", exc)
        AGENT.close()

    def forget(self) -> None:
        """Forget all runs in a forked child: they are the parent's."""
        # A new lock: the parent's may have been held by a thread that does not exist here.
        self._lock = threading.Lock()
        self._drop_all()

    def _drop_all(self) -> None:
        self._recorders = {}
        self._closed = {}
        self._callbacks = {}
        self._active = None
        self._n_collects = 0

    def _handle_uncaught(self, uncaught: UncaughtException) -> None:
        for recorder in tuple(self._recorders.values()):
            with recorder.faults.guarded("run.met_exception"):
                recorder.handle_uncaught(uncaught)


class ExceptionHooks:
    """Chains the process's exception hooks; one per process, installed once, never removed.

    Hooks installed before are always called.
    """

    def __init__(self, handle: Callable[[UncaughtException], None]) -> None:
        self._handle = handle
        self._has_ipython = False

    def install(self) -> None:
        """Chain `sys.excepthook` and `threading.excepthook`."""
        self._chain_main()
        self._chain_threads()
        self.install_ipython()

    def install_ipython(self) -> None:
        """Watch the cells of a notebook, once there is one; costs nothing if installed already."""
        shell = None if self._has_ipython else running_shell()
        if shell is None:
            return
        self._has_ipython = True
        shell.events.register("post_run_cell", self._on_cell_run)

    def _chain_main(self) -> None:
        before = sys.excepthook
        handle = self._handle

        def kmonitor_excepthook(
            kind: type[BaseException], exc: BaseException, trace: TracebackType | None
        ) -> None:
            """Report the exception that ends the process, then call the hook before."""
            _report(handle, exc, threading.get_ident(), is_last=True)
            before(kind, exc, trace)

        sys.excepthook = kmonitor_excepthook

    def _chain_threads(self) -> None:
        before = threading.excepthook
        handle = self._handle

        def kmonitor_excepthook(args: Any) -> None:
            """Report the exception that ends a thread, then call the hook before."""
            if args.exc_value is not None and args.thread is not None:
                _report(handle, args.exc_value, args.thread.ident, is_last=False)
            before(args)

        threading.excepthook = kmonitor_excepthook

    def _on_cell_run(self, result: Any = None) -> None:
        exc = getattr(result, "error_in_exec", None) or getattr(result, "error_before_exec", None)
        if isinstance(exc, BaseException):
            _report(self._handle, exc, threading.get_ident(), is_last=False)


def _report(
    handle: Callable[[UncaughtException], None],
    exc: BaseException,
    thread: int | None,
    *,
    is_last: bool,
) -> None:
    # The hook that was there before, which prints the script's traceback, comes in every case.
    # Recorders count their own faults: what comes here is memory that `suppress` would need too.
    try:  # noqa: SIM105
        handle(UncaughtException(exc, thread, is_last=is_last))
    except Exception:  # noqa: BLE001, S110
        pass


RUNS: Final = ProcessRuns()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RUNS.forget)
