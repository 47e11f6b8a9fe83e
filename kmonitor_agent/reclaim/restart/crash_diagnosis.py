"""Appends how a process ended to its run's spool, where it could not say so itself."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from kmonitor_agent.reclaim.restart.death import Death
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.local.spool_folder import RunSpool, time_of
from kmonitor_agent.wire.local.spool_format import BootFacts, Record
from kmonitor_agent.wire.local.spool_writer import SpoolHeld, SpoolWriter
from kmonitor_agent.wire.messages.codec import decode_event, encode_event
from kmonitor_agent.wire.messages.errors import ProtocolError
from kmonitor_agent.wire.messages.events import BootDied, BootEnded

_LOCK_WAIT_S: Final = 3.0
_LOCK_AGAIN_S: Final = 0.05
_LOOKED_AT: Final = 64
"""So many of the last events are looked through for the process's own last word."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Last:
    """What the spool of a run ends with."""

    facts: BootFacts
    seq: int
    t_s: float
    ended: BootEnded | None
    died: BootDied | None


def tell_death(folders: Folders, run: str, death: Death, *, asked: bool, supervisor: int) -> bool:
    """Append a process's cause of death to its run, unless its own last word says all.

    Args:
        folders: Where the spool lies.
        run: Run id.
        death: What is known.
        asked: Whether the signal had been sent to us.
        supervisor: Our process id when another process follows, else 0.

    Returns:
        Whether something was appended; also False where the disk or its lock forbids it.
    """
    try:
        last = _retried(lambda: _read_last(folders, run))
        if last is None or not _adds(death, last, supervisor):
            return False
        event = BootDied(
            t_s=max(last.t_s, time.time() - last.facts.started_wall_s),
            boot=last.facts.boot,
            how=death.how,
            signal=death.signal,
            status=death.status,
            why=death.why,
            asked=asked,
            supervisor=supervisor,
        )
        return _retried(lambda: _append(folders, last, event)) is not None
    except (OSError, NotPrivate):
        return False


def _adds(death: Death, last: _Last, supervisor: int) -> bool:
    if last.died is not None:
        return False  # a process that never reached a fit: its run ended before
    if last.ended is None:
        return True
    if last.ended.why == "restart":
        return not supervisor  # announced, but no process follows
    if last.ended.why == "interrupted" and death.signal == "SIGINT" and not supervisor:
        return False  # Python tells of Ctrl+C, and then dies of the same signal
    if supervisor or death.how != "status":
        return True
    return death.status != 0 and last.ended.why in {"finished", "stopped"}


def _read_last(folders: Folders, run: str) -> _Last | None:
    spool = RunSpool.take(folders.spool / run)
    if spool is None:
        raise SpoolHeld
    facts: BootFacts | None = None
    t_s, ended, died = 0.0, None, None
    with spool:
        seq = spool.last_seq
        for each in spool.events(after=max(0, seq - _LOOKED_AT)):
            if each.facts is not None and each.facts != facts:
                facts, ended, died = each.facts, None, None
            t_s = time_of(each.body)
            ended, died = _words(each.body, ended, died)
    return None if facts is None else _Last(facts, seq, t_s, ended, died)


def _words(
    body: bytes, ended: BootEnded | None, died: BootDied | None
) -> tuple[BootEnded | None, BootDied | None]:
    try:
        event = decode_event(body)
    except ProtocolError:
        return ended, died
    if isinstance(event, BootEnded):
        return event, died
    return (ended, event) if isinstance(event, BootDied) else (ended, died)


def _append(folders: Folders, last: _Last, event: BootDied) -> bool | None:
    writer = SpoolWriter(folders.spool, last.facts, SystemClock(), state=folders.state)
    spool = writer.open()
    try:
        # Since it was read a hub may have shipped it, but nobody else writes there.
        writer.write([Record(spool.last_seq + 1, encode_event(event))])
    finally:
        writer.close()
    return True


def _retried(act: Callable[[], T]) -> T | None:
    """The result, or None when a hub that reads the spool holds it for too long."""
    end_s = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return act()
        except FileNotFoundError:
            return None  # the run never told anything
        except SpoolHeld:
            if time.monotonic() > end_s:
                return None
            time.sleep(_LOCK_AGAIN_S)
