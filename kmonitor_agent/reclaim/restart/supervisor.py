"""Supervisor of a script: starts it, and restarts it on request or after a crash."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor_agent.reclaim.restart.child_process import ScriptExit, ScriptProcess
from kmonitor_agent.reclaim.restart.crash_diagnosis import (
    ProcessDeath,
    diagnose_exit,
    record_death,
)
from kmonitor_agent.wire.local.control_groups import read_oom_kills
from kmonitor_agent.wire.local.folder_lock import FolderLock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.local.supervision import (
    LEAVE_WITHIN_S,
    SUPERVISED_VARIABLE,
    RestartRequest,
    SupervisorSettings,
    new_supervision,
)

LIMITS_OF_RESUMING: Final = (
    "Each fit with MonitorCallback continues exactly where it left off, provided that the"
    " script's fits run in the same order. Code before a fit runs again. The state of your own"
    " generators is not kept."
)
"""Text printed before the first restart."""

CANNOT_START: Final = 126
NOT_FOUND: Final = 127


class CannotSupervise(Exception):
    """The folder shared by script and supervisor cannot be created."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ScriptCannotStart(Exception):
    """The script cannot be started.

    Attributes:
        status: Exit status, as shells use it.
    """

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why)
        self.why = why
        self.status = status


@dataclass(frozen=True, slots=True)
class SupervisorOptions:
    """Options of a supervisor.

    Attributes:
        argv: Program and arguments.
        resumes: Maximum number of restarts after a crash.
        leave_within_s: Maximum time that a script may take to exit, seconds.
    """

    argv: Sequence[str]
    resumes: int = 0
    leave_within_s: float = LEAVE_WITHIN_S


class Supervisor:
    """Runs a script and restarts it; owns the main thread until the script has ended.

    It needs no hub and does not wait for one: its reports wait in the spool.
    """

    def __init__(
        self,
        options: SupervisorOptions,
        *,
        folders: Folders,
        environ: Mapping[str, str],
        print_line: Callable[[str], None],
    ) -> None:
        """Create the shared folder.

        Args:
            folders: Folders of kmonitor's files.
            environ: Environment of the script.
            print_line: Prints a line for the user.

        Raises:
            CannotSupervise: The folder cannot be created.
        """
        self._supervisor_options = options
        self._folders = folders
        self._print_line = print_line
        self._resumes_left = options.resumes
        self._restarts = 0
        try:
            self._supervision = new_supervision(folders)
            # While we live: a later `kmonitor run` knows by it what is left over.
            self._lock = FolderLock.acquire(self._supervision.folder)
            self._supervision.set_settings(_supervisor_settings(options))
        except (OSError, NotPrivate) as exc:
            raise CannotSupervise(str(exc)) from exc
        self._environ = {**environ, SUPERVISED_VARIABLE: str(self._supervision.folder)}

    def run(self) -> ScriptExit:
        """Run the script to its end; return the end of its last process.

        Raises:
            ScriptCannotStart: The script cannot be started.
        """
        try:
            while True:
                ended = self._run_once()
                if ended is not None:
                    return ended
        finally:
            self._clean_up()

    def _run_once(self) -> ScriptExit | None:
        before = read_oom_kills()
        self._supervision.begin_next()
        script_exit = self._start().wait()
        leaving = self._supervision.request()
        if leaving is not None and script_exit.forwarded_signal and not script_exit.signal:
            # It was on its way to be started again when the signal to end came.
            script_exit = ScriptExit(
                signal=script_exit.forwarded_signal, forwarded_signal=script_exit.forwarded_signal
            )
            leaving = None
        death = diagnose_exit(script_exit, before, read_oom_kills())
        goes_on = self._goes_on(script_exit, leaving)
        self._record_deaths(death, script_exit, goes_on=goes_on)
        self._report_death(death, leaving, goes_on=goes_on)
        return None if goes_on else script_exit

    def _start(self) -> ScriptProcess:
        argv = self._supervisor_options.argv
        try:
            return ScriptProcess(argv, self._environ)
        except FileNotFoundError as exc:
            raise ScriptCannotStart(f"{argv[0]}: program not found", NOT_FOUND) from exc
        except OSError as exc:
            raise ScriptCannotStart(f"{argv[0]}: {exc.strerror}", CANNOT_START) from exc

    def _goes_on(self, script_exit: ScriptExit, request: RestartRequest | None) -> bool:
        if script_exit.forwarded_signal or not self._supervision.has_state():
            return False
        if request is not None and not script_exit.signal:
            return True
        is_crash = bool(script_exit.signal or script_exit.status)
        if not is_crash or self._resumes_left <= 0:
            return False
        self._resumes_left -= 1
        return True

    def _record_deaths(
        self, death: ProcessDeath, script_exit: ScriptExit, *, goes_on: bool
    ) -> None:
        for run in self._supervision.runs().values():
            record_death(
                self._folders,
                run,
                death,
                is_requested=bool(script_exit.forwarded_signal),
                supervisor=os.getpid() if goes_on else 0,
            )

    def _report_death(
        self, death: ProcessDeath, request: RestartRequest | None, *, goes_on: bool
    ) -> None:
        if goes_on:
            self._restarts += 1
            self._print_line(self._restart_line(death, request))
            if self._restarts == 1:
                self._print_line(f"kmonitor: {LIMITS_OF_RESUMING}")
        elif death.signal == "SIGKILL":
            self._print_line(f"kmonitor: the script was killed. {_as_sentence(death.why)}")

    def _restart_line(self, death: ProcessDeath, request: RestartRequest | None) -> str:
        if request is not None:
            by = f", requested by {request.requested_by}" if request.requested_by else ""
            return f"kmonitor: restarting the script (restart {self._restarts}{by})."
        left = f"{self._resumes_left} of {self._supervisor_options.resumes} restarts left"
        return f"kmonitor: the script crashed: {death.why}. Restarting it; {left}."

    def _clean_up(self) -> None:
        if self._lock is not None:
            self._lock.release()
        shutil.rmtree(self._supervision.folder, ignore_errors=True)


def _supervisor_settings(options: SupervisorOptions) -> SupervisorSettings:
    return SupervisorSettings(os.getpid(), options.resumes > 0, options.leave_within_s)


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
