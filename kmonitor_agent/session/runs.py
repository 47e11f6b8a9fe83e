"""The runs of this process: one, unless callbacks name different ones; and the process's end."""

import atexit
import os
import threading
from typing import Final

from kmonitor_agent.config import Settings
from kmonitor_agent.reclaim.outcome import Outcome
from kmonitor_agent.session.leaving import ExitWatch, Uncaught
from kmonitor_agent.session.process_facts import default_run_name
from kmonitor_agent.session.run_session import RunSession


class RunsOfProcess:
    """Run name to session; any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, RunSession] = {}
        self._exits = ExitWatch(self._met_exception)
        self._is_watching = False

    def session(self, settings: Settings) -> RunSession:
        """The session of the run that a callback names; made when it is the first."""
        name = settings.run_name or default_run_name()
        with self._lock:
            if name not in self._sessions:
                self._sessions[name] = RunSession(name, settings)
            return self._sessions[name]

    def sessions(self) -> list[RunSession]:
        """Those that there are now."""
        return list(self._sessions.values())

    def tell_collected(self, outcome: Outcome) -> None:
        """The script collected by itself: every run of this process shows it."""
        for session in tuple(self._sessions.values()):
            with session.faults.guarded("session.tell_collected"):
                session.tell_collected(outcome)

    def watch_exits(self) -> None:
        """Follow exceptions and the process's exit from now on; called when a fit has begun."""
        with self._lock:
            # Last in, first out: a run's last events must come before its link's own exit hook,
            # which was registered when the link opened.
            atexit.unregister(self.close)
            atexit.register(self.close)
            if not self._is_watching:
                self._is_watching = True
                self._exits.install()
            self._exits.install_ipython()

    def close(self) -> None:
        """End every run: at exit, and after tests."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            with session.faults.guarded("session.close"):
                session.close()

    def forget(self) -> None:
        """In a forked child: the runs are the parent's."""
        # A new lock: the parent's may have been held by a thread that does not exist here.
        self._lock = threading.Lock()
        self._sessions = {}

    def _met_exception(self, met: Uncaught) -> None:
        for session in tuple(self._sessions.values()):
            with session.faults.guarded("session.met_exception"):
                session.met_exception(met)


RUNS: Final = RunsOfProcess()
"""Of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RUNS.forget)
