"""How a process died, in words and as an event."""

import signal
from dataclasses import dataclass
from typing import Final, Literal

from kmonitor_agent.reclaim.restart.child_process import Ended
from kmonitor_agent.wire.local.memory_kills import MemoryKills

_NAMED: Final = {
    signal.SIGTERM: "it was asked to end, as kill, a service manager or a batch system does",
    signal.SIGINT: "it was interrupted, as by Ctrl+C",
    signal.SIGHUP: "its terminal was closed",
    signal.SIGSEGV: "it reached for memory that is not its own; often a fault in native code",
    signal.SIGABRT: "it gave up by itself; often a failed check or no memory in native code",
    signal.SIGBUS: "memory behind a file was gone; often a full /dev/shm or disk",
    signal.SIGILL: "an instruction that this processor lacks",
    signal.SIGFPE: "a division by zero in native code",
}


@dataclass(frozen=True, slots=True)
class Death:
    """What is known of how a process ended.

    Attributes:
        how: "memory": killed by the kernel for want of memory; "signal"; "status": by itself.
        signal: "SIGKILL", or empty.
        status: Exit status; 0 when a signal ended it.
        why: In words: what is known and where from.
    """

    how: Literal["memory", "signal", "status"]
    signal: str = ""
    status: int = 0
    why: str = ""


def cause_of(ended: Ended, before: MemoryKills, after: MemoryKills) -> Death:
    """Tell how a child ended.

    Args:
        ended: What the system said.
        before: Counters before it was started.
        after: Counters now.
    """
    if not ended.signal:
        return Death("status", status=ended.status, why=f"it left with exit status {ended.status}")
    name = signal_name(ended.signal)
    if ended.signal == signal.SIGKILL:
        return _killed(name, before, after)
    if ended.asked == ended.signal:
        return Death("signal", name, why=f"{name}, which was sent to kmonitor run")
    told = _NAMED.get(signal.Signals(ended.signal)) if _is_known(ended.signal) else None
    return Death("signal", name, why=f"{name}: {told}" if told else name)


def signal_name(number: int) -> str:
    """A signal's name: "SIGKILL", or "signal 77" for one without."""
    return signal.Signals(number).name if _is_known(number) else f"signal {number}"


def _is_known(number: int) -> bool:
    return number in {int(each) for each in signal.Signals}


def _killed(name: str, before: MemoryKills, after: MemoryKills) -> Death:
    if _rose(before.group, after.group):
        why = f"out of memory: the kernel killed it ({after.group_source}: oom_kill)"
        return Death("memory", name, why=why)
    if _rose(before.host, after.host):
        why = "out of memory: the kernel killed for want of memory on this host (oom_kill)"
        return Death("memory", name, why=why)
    if after.group is None and after.host is None:
        told = "killed; no counter here tells whether for want of memory"
    else:
        told = "killed by a process, not for want of memory: no such kill was counted"
    return Death("signal", name, why=f"{name}: {told}")


def _rose(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before
