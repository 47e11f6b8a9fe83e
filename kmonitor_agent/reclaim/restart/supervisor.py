"""Starts a script, and again when it leaves for that or crashed, until it has ended."""

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
    "Each fit with MonitorCallback goes on where it was, exactly, if the script's fits come in"
    " the same order; what the script does before a fit happens again; state of generators of"
    " your own is not kept."
)
"""Said before the first restart."""

CANNOT_START: Final = 126
NOT_FOUND: Final = 127


class CannotSupervise(Exception):
    """The folder that the script and we share cannot be made.

    Attributes:
        why: The reason.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ScriptCannotStart(Exception):
    """The script cannot be started.

    Attributes:
        why: The reason.
        status: The status to leave with, as shells do.
    """

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why)
        self.why = why
        self.status = status


@dataclass(frozen=True, slots=True)
class SupervisorOptions:
    """What is asked of a supervisor.

    Attributes:
        argv: Program and arguments.
        resumes: How often it is started again after a crash, at most.
        leave_within_s: How long a script may take to leave, seconds.
    """

    argv: Sequence[str]
    resumes: int = 0
    leave_within_s: float = LEAVE_WITHIN_S


class Supervisor:
    """Owns the main thread until the script has ended.

    It needs no hub and does not wait for one: what it tells waits in the spool.
    """

    def __init__(
        self,
        wanted: SupervisorOptions,
        *,
        folders: Folders,
        environ: Mapping[str, str],
        tell: Callable[[str], None],
    ) -> None:
        """Make the shared folder.

        Args:
            wanted: What to run.
            folders: Where kmonitor's files lie.
            environ: Environment of the script.
            tell: Takes a line for the user.

        Raises:
            CannotSupervise: The folder cannot be made.
        """
        self._wanted = wanted
        self._folders = folders
        self._tell = tell
        self._resumes_left = wanted.resumes
        self._restarts = 0
        try:
            self._supervision = new_supervision(folders)
            # While we live: a later `kmonitor run` knows by it what is left over.
            self._lock = FolderLock.take(self._supervision.folder)
            self._supervision.set_terms(_terms(wanted))
        except (OSError, NotPrivate) as exc:
            raise CannotSupervise(str(exc)) from exc
        self._environ = {**environ, SUPERVISED_VARIABLE: str(self._supervision.folder)}

    def run(self) -> ScriptExit:
        """Run the script to its end; how it ended at last.

        Raises:
            CannotStart: It cannot be started.
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
        ended = self._start().wait()
        leaving = self._supervision.leaving()
        if leaving is not None and ended.asked and not ended.signal:
            # It was on its way to be started again when it was told to end.
            ended = ScriptExit(signal=ended.asked, asked=ended.asked)
            leaving = None
        death = diagnose_exit(ended, before, read_oom_kills())
        goes_on = self._goes_on(ended, leaving)
        self._tell_runs(death, ended, goes_on=goes_on)
        self._say(death, leaving, goes_on=goes_on)
        return None if goes_on else ended

    def _start(self) -> ScriptProcess:
        argv = self._wanted.argv
        try:
            return ScriptProcess(argv, self._environ)
        except FileNotFoundError as exc:
            raise ScriptCannotStart(f"{argv[0]}: there is no such program", NOT_FOUND) from exc
        except OSError as exc:
            raise ScriptCannotStart(f"{argv[0]}: {exc.strerror}", CANNOT_START) from exc

    def _goes_on(self, ended: ScriptExit, leaving: RestartRequest | None) -> bool:
        if ended.asked or not self._supervision.has_state():
            return False
        if leaving is not None and not ended.signal:
            return True
        is_crash = bool(ended.signal or ended.status)
        if not is_crash or self._resumes_left <= 0:
            return False
        self._resumes_left -= 1
        return True

    def _tell_runs(self, death: ProcessDeath, ended: ScriptExit, *, goes_on: bool) -> None:
        for run in self._supervision.runs().values():
            record_death(
                self._folders,
                run,
                death,
                asked=bool(ended.asked),
                supervisor=os.getpid() if goes_on else 0,
            )

    def _say(self, death: ProcessDeath, leaving: RestartRequest | None, *, goes_on: bool) -> None:
        if goes_on:
            self._restarts += 1
            self._tell(self._restart_line(death, leaving))
            if self._restarts == 1:
                self._tell(f"kmonitor: {LIMITS_OF_RESUMING}")
        elif death.signal == "SIGKILL":
            self._tell(f"kmonitor: the script was killed. {_sentence(death.why)}")

    def _restart_line(self, death: ProcessDeath, leaving: RestartRequest | None) -> str:
        if leaving is not None:
            by = f", asked by {leaving.asked_by}" if leaving.asked_by else ""
            return f"kmonitor: starting the script again (restart {self._restarts}{by})."
        left = f"{self._resumes_left} of {self._wanted.resumes} resumes left"
        return f"kmonitor: the script crashed: {death.why}. Starting it again; {left}."

    def _clean_up(self) -> None:
        if self._lock is not None:
            self._lock.release()
        shutil.rmtree(self._supervision.folder, ignore_errors=True)


def _terms(wanted: SupervisorOptions) -> SupervisorSettings:
    return SupervisorSettings(os.getpid(), wanted.resumes > 0, wanted.leave_within_s)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
