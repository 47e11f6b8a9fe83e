"""Crash diagnosis: how a child process ended, and its record in the run's spool.

The kernel's counters of processes killed for lack of memory, read before and after, decide the
cause of a SIGKILL. The record is appended after the process is gone, unless its own last event
already reports the end. Folds are diagnosed here too (`studies.local_attempt`), runs that died
without a supervisor by the hub (`kmonitor.hub.ingest.liveness`).
"""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from kmonitor_agent.reclaim.restart.child_process import ScriptExit
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.control_groups import OomKillCounts
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.messages.codec import ProtocolError, decode_event, encode_event
from kmonitor_agent.wire.messages.events import SessionDied, SessionEnded
from kmonitor_agent.wire.spool.folder import RunSpool, event_time_s
from kmonitor_agent.wire.spool.format import SessionFacts, SpoolRecord
from kmonitor_agent.wire.spool.writer import SpoolLocked, SpoolWriter


@dataclass(frozen=True, slots=True)
class ProcessDeath:
    """Cause of a process's end, as far as known.

    Attributes:
        how: "memory": killed by the kernel for lack of memory; "signal"; "status": exited by
            itself.
        signal: Name of the signal, such as "SIGKILL"; empty if there was none.
        status: Exit status; 0 if a signal ended it.
        why: Text on the cause, with its source.
    """

    how: Literal["memory", "signal", "status"]
    signal: str = ""
    status: int = 0
    why: str = ""


def diagnose_exit(
    script_exit: ScriptExit, before: OomKillCounts, after: OomKillCounts
) -> ProcessDeath:
    """Cause of a child's end.

    Args:
        script_exit: End of the child as the system reported it.
        before: Counters from before the child was started.
    """
    if not script_exit.signal:
        return ProcessDeath(
            "status",
            status=script_exit.status,
            why=f"it exited with status {script_exit.status}",
        )
    name = signal_name(script_exit.signal)
    if script_exit.signal == signal.SIGKILL:
        return _killed(name, before, after)
    if script_exit.forwarded_signal == script_exit.signal:
        return ProcessDeath("signal", name, why=f"{name}, which was sent to kmonitor run")
    explanation = (
        _CAUSES.get(signal.Signals(script_exit.signal)) if _is_known(script_exit.signal) else None
    )
    return ProcessDeath("signal", name, why=f"{name}: {explanation}" if explanation else name)


_CAUSES: Final = {
    signal.SIGTERM: "it was asked to terminate, for example, by kill, systemd or a batch system",
    signal.SIGINT: "it was interrupted, for example, by Ctrl+C",
    signal.SIGHUP: "hangup, often because its terminal was closed",
    signal.SIGSEGV: "segmentation fault, often a bug in native code",
    signal.SIGABRT: "it aborted, often after native code failed a check or ran out of memory",
    signal.SIGBUS: "bus error, often because /dev/shm or a disk was full",
    signal.SIGILL: "illegal instruction, often one that this CPU does not support",
    signal.SIGFPE: "arithmetic error in native code, often a division by zero",
}


def _killed(name: str, before: OomKillCounts, after: OomKillCounts) -> ProcessDeath:
    if _rose(before.group, after.group):
        why = f"out of memory: the kernel killed it ({after.group_source}: oom_kill)"
        return ProcessDeath("memory", name, why=why)
    is_of_host = _rose(before.host, after.host)
    if is_of_host and after.group is None:
        why = "out of memory: the kernel killed a process on this host (oom_kill)"
        return ProcessDeath("memory", name, why=why)
    if is_of_host:
        # The group counts each kill of its processes, also where the host ran out of memory.
        explanation = (
            "killed; the kernel recorded no out-of-memory kill in its control group "
            f"({after.group_source}), but one elsewhere on this host"
        )
    elif after.group is None and after.host is None:
        explanation = "killed; kmonitor cannot tell whether it ran out of memory"
    else:
        explanation = (
            "killed by another process, not for lack of memory: the kernel recorded no "
            "out-of-memory kills"
        )
    return ProcessDeath("signal", name, why=f"{name}: {explanation}")


def _rose(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before


def signal_name(number: int) -> str:
    """A signal's name: "SIGKILL", or "signal 77" for one without."""
    return signal.Signals(number).name if _is_known(number) else f"signal {number}"


def _is_known(number: int) -> bool:
    return number in {int(each) for each in signal.Signals}


_LOCK_WAIT_S: Final = 3.0

_LOCK_AGAIN_S: Final = 0.05

_EVENTS_SEARCHED: Final = 64
"""Number of last events that are searched for the process's own report of its end."""


def record_death(
    folders: Folders, run: str, death: ProcessDeath, *, is_requested: bool, supervisor: int
) -> bool:
    """Append a process's cause of death to its run, unless its own last event reports it.

    Args:
        folders: Folder of the spool.
        is_requested: True if the signal had been sent to us.
        supervisor: Our process id if another process follows, else 0.

    Returns:
        True if a record was appended; also False if the disk or its lock forbids it.
    """
    try:
        last = _retried(lambda: _read_last(folders, run))
        if last is None or not _adds(death, last, supervisor):
            return False
        event = SessionDied(
            t_s=max(last.t_s, time.time() - last.facts.started_wall_s),
            session=last.facts.session,
            how=death.how,
            signal=death.signal,
            status=death.status,
            why=death.why,
            is_requested=is_requested,
            supervisor=supervisor,
        )
        return _retried(lambda: _append(folders, last, event)) is not None
    except (OSError, NotPrivate):
        return False


@dataclass(frozen=True, slots=True)
class _Last:
    """Facts, last number and ending events in the spool of a run."""

    facts: SessionFacts
    seq: int
    t_s: float
    ended: SessionEnded | None
    died: SessionDied | None


T = TypeVar("T")


def _adds(death: ProcessDeath, last: _Last, supervisor: int) -> bool:
    if last.died is not None:
        return False  # a process that never reached a fit: its run ended before
    if last.ended is None:
        return True
    if last.ended.why == "restart":
        return not supervisor  # announced, but no process follows
    if last.ended.why == "interrupted" and death.signal == "SIGINT" and not supervisor:
        return False  # Python reports Ctrl+C, and then dies of the same signal
    if supervisor or death.how != "status":
        return True
    return death.status != 0 and last.ended.why in {"finished", "stopped"}


def _read_last(folders: Folders, run: str) -> _Last | None:
    spool = RunSpool.acquire(folders.spool / run)
    if spool is None:
        raise SpoolLocked
    facts: SessionFacts | None = None
    t_s = 0.0
    ended = None
    died = None
    with spool:
        seq = spool.last_seq
        for event in spool.events(after=max(0, seq - _EVENTS_SEARCHED)):
            if event.facts is not None and event.facts != facts:
                facts = event.facts
                ended = None
                died = None
            t_s = event_time_s(event.body)
            ended, died = _latest_endings(event.body, ended, died)
    return None if facts is None else _Last(facts, seq, t_s, ended, died)


def _latest_endings(
    body: bytes, ended: SessionEnded | None, died: SessionDied | None
) -> tuple[SessionEnded | None, SessionDied | None]:
    try:
        event = decode_event(body)
    except ProtocolError:
        return ended, died
    if isinstance(event, SessionEnded):
        return event, died
    return (ended, event) if isinstance(event, SessionDied) else (ended, died)


def _append(folders: Folders, last: _Last, event: SessionDied) -> bool | None:
    writer = SpoolWriter(folders.spool, last.facts, SystemClock(), state=folders.state)
    spool = writer.open()
    try:
        # Since it was read a hub may have shipped it, but nobody else writes there.
        writer.write([SpoolRecord(spool.last_seq + 1, encode_event(event))])
    finally:
        writer.close()
    return True


def _retried(act: Callable[[], T]) -> T | None:
    """Result of `act`; None if a hub that reads the spool holds it for too long."""
    end_s = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return act()
        except FileNotFoundError:
            return None  # the run never recorded anything
        except SpoolLocked:
            if time.monotonic() > end_s:
                return None
            time.sleep(_LOCK_AGAIN_S)
