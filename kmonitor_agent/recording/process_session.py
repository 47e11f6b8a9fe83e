"""One process of a run: link, first and last event, clock, tasks."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from kmonitor_agent.frameworks.base import Framework
from kmonitor_agent.guard import FaultLog, exception_message
from kmonitor_agent.link.hub_choice import parse_hub
from kmonitor_agent.link.link import Link
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.process_facts import possible_actions, session_started
from kmonitor_agent.recording.settings import Settings
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.commands import Command, SetLimits
from kmonitor_agent.wire.messages.events import Event, Fault, SessionEnded, SessionStarted
from kmonitor_agent.wire.messages.fields import MAX_TEXT, new_id


@dataclass(frozen=True, slots=True)
class UncaughtException:
    """An uncaught exception.

    Attributes:
        thread: Ident of its thread; None if unknown.
        is_last: True if the process ends with it.
    """

    exc: BaseException
    thread: int | None
    is_last: bool


def how_ended(exc: BaseException) -> Literal["failed", "interrupted"]:
    """Kind of end of a fit or process that this exception left."""
    return "interrupted" if isinstance(exc, KeyboardInterrupt | GeneratorExit) else "failed"


@dataclass(frozen=True, slots=True)
class ClosedRun:
    """State kept of a closed run, in case a callback names it again.

    Attributes:
        fits: Number of its fits.
        last_epoch: Index of the last epoch of its last fit.
        steps_done: Number of steps in the epochs that ended.
        limits: Limits set in the app; None if there were none.
        release_spool: Makes its session release the spool at once.
    """

    run_id: str
    fits: int = 0
    last_epoch: int = 0
    steps_done: int = 0
    limits: SetLimits | None = None
    release_spool: Callable[[], None] = lambda: None


class ProcessSession:
    """Opens the link at the first fit and closes it at exit; silent before, after and in forks.

    `emit` and `now_s` may be called from any thread.

    Attributes:
        faults: Our own faults in this run; once started, they are reported as events.
        is_started: True if the link was opened.
        link: Link to the hub; None before the start.
        unavailable: Capability to the reason why the framework lacks it; filled at the start.
    """

    def __init__(
        self,
        *,
        run: str,
        name: str,
        settings: Settings,
        folders: Folders,
        privacy: Privacy,
        why_not_restart: str,
    ) -> None:
        """No thread is started and no file is created yet.

        Args:
            settings: Settings of the run's first callback.
            folders: Folders of spool and logs.
            privacy: Hides private names and texts.
            why_not_restart: Reason why the process cannot be restarted; empty if it can.
        """
        self.is_started = False
        self.unavailable: dict[str, str] = {}
        self._run = run
        self._name = name
        self._settings = settings
        self._folders = folders
        self.faults: Final = FaultLog(
            folders.logs / "agent.log", private=settings.private, on_fault=self._report_fault
        )
        self._privacy = privacy
        self._why_not_restart = why_not_restart
        self._pid = os.getpid()
        self.link: Link | None = None

    @property
    def is_ours(self) -> bool:
        """True in the process that the run began in, False in a fork of it."""
        return os.getpid() == self._pid

    def emit(self, event: Event) -> None:
        link = self.link
        if link is not None and self.is_ours:
            link.emit(event)
            if not link.is_started:
                link.start()  # no thread could be had before

    def now_s(self) -> float:
        """Seconds since the session started; 0 before it started."""
        return 0.0 if self.link is None else self.link.now_s()

    def start(
        self,
        framework: Framework,
        on_command: Callable[[Command], None],
        *,
        rebuilds: bool = False,
    ) -> None:
        """Open the link and report the session; a second call does nothing.

        Args:
            framework: Framework of the first model.
            on_command: Called on the agent's thread for each command.
            rebuilds: True if the first fit builds a new model for a reload, whatever the
                framework.
        """
        if self.is_started:
            return
        self.is_started = True
        self.unavailable = dict(framework.info().unavailable)
        if rebuilds:
            self.unavailable.pop("reload", None)
        if self._why_not_restart:
            self.unavailable.setdefault("restart", self._why_not_restart)
        session_id = new_id()
        link = Link(
            run=self._run,
            session_id=session_id,
            folders=self._folders,
            started=self._started_event(session_id, framework),
            hub=parse_hub(self._settings.hub, os.environ),
            on_command=on_command,
            faults=self.faults,
        )
        link.start()
        self.link = link

    def every(
        self, interval_s: float, task: Callable[[], None], *, while_idle: bool = False
    ) -> None:
        """Run a task on the agent's thread from now on."""
        if self.link is not None:
            self.link.every(interval_s, task, while_idle=while_idle)

    def set_idle(self, *, is_idle: bool) -> None:
        """Set if this run is idle while another run of the process is active."""
        if self.link is not None and self.is_ours:
            self.link.set_idle(is_idle=is_idle)

    def release_spool(self) -> None:
        """Release the spool now: the run continues in another session of this process."""
        if self.link is not None and self.is_ours:
            self.link.end(timeout_s=0.0)

    def end(self, *, left_by: BaseException | None, stopped: bool, within_s: float) -> None:
        """Report the end and leave; returns at once, `AGENT.close` waits.

        Args:
            left_by: Exception that ended the process; None if none did.
            stopped: True if an action of ours stopped the last fit.
            within_s: Maximum time for the hub, seconds.
        """
        if self.link is None or not self.is_ours:
            return
        how: Literal["finished", "failed", "interrupted", "stopped"]
        how = "stopped" if stopped else "finished"
        ended = SessionEnded(t_s=self.now_s(), why=how)
        if left_by is not None:
            ended = SessionEnded(
                t_s=self.now_s(),
                why=how_ended(left_by),
                error_type=type(left_by).__name__[:200],
                message=self._privacy.text(exception_message(left_by))[:MAX_TEXT],
            )
        self.emit(ended)
        self.link.end(timeout_s=within_s)

    def restart(self, supervisor: int) -> None:
        """Report that another process follows, write all events and leave.

        Args:
            supervisor: Process id of the supervisor that starts it.
        """
        if self.link is not None and self.is_ours:
            self.emit(SessionEnded(t_s=self.now_s(), why="restart", supervisor=supervisor))
            self.link.close()

    def _started_event(self, session_id: str, framework: Framework) -> SessionStarted:
        probed = framework.info()
        started = session_started(
            session_id=session_id,
            name=self._name,
            wall_s=SystemClock().wall_s(),
            interval_s=self._settings.sample_interval_s,
            privacy=self._privacy,
            state=self._folders.state,
        )
        return msgspec.structs.replace(
            started,
            versions={**started.versions, **probed.versions},
            backend=probed.backend,
            unavailable=self.unavailable,
            actions=possible_actions(self.unavailable) if self._settings.commands else [],
        )

    def _report_fault(self, where: str, count: int, text: str) -> None:
        self.emit(Fault(t_s=self.now_s(), where=where, count=count, text=text))
