"""A hub that holds its lock and does not answer: seen, told, and ended on request."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Final

import psutil

from kmonitor.base.errors import Expected
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.plain_files import KEY_BYTES, read_own
from kmonitor_agent.wire.local.sockets import hub_lock

_TERM_S: Final = 5.0
_KILL_S: Final = 5.0
_LOOK_S: Final = 0.02


class HubSilent(Expected):
    """A hub is there, so that no other can start, and it does not answer.

    Attributes:
        pid: Its process.
    """

    def __init__(self, pid: int, lock: Path, remedy: str = "") -> None:
        super().__init__(
            f"The hub of process {pid} holds {lock} and does not answer: it hangs, or is stopped.",
            remedy or "End it with: kmonitor hub stop   Trainings go on and lose nothing.",
        )
        self.pid = pid


def lock_holder(folders: Folders) -> int | None:
    """The process that is provably this user's hub: named in the lock, which it has open.

    None: nobody, or nobody that can be seen from here.
    """
    path = hub_lock(folders)
    try:
        pid = int(read_own(path, KEY_BYTES).decode("ascii").strip())
        process = psutil.Process(pid)
        is_ours = process.username() == psutil.Process().username()
        opened = [each.path for each in process.open_files()]
    except (OSError, ValueError, psutil.Error):
        return None
    return pid if is_ours and os.path.realpath(path) in map(os.path.realpath, opened) else None


def silence(folders: Folders) -> HubSilent | None:
    """What is to be told where no hub answered; None if nobody holds its place either."""
    pid = lock_holder(folders)
    return None if pid is None else HubSilent(pid, hub_lock(folders))


def end_silent_hub(folders: Folders, *, term_s: float = _TERM_S) -> int | None:
    """End a hub that does not answer; None if nobody holds the lock any more.

    It may still commit what it has taken; only if it is there after `term_s` seconds it is killed.

    Returns:
        Its process, which is gone.

    Raises:
        HubSilent: It could not be ended.
    """
    pid = lock_holder(folders)
    if pid is None:
        return None
    for number, wait_s in ((signal.SIGTERM, term_s), (getattr(signal, "SIGKILL", 9), _KILL_S)):
        if lock_holder(folders) == pid:
            _signal(pid, number)
        end_s = time.monotonic() + wait_s
        while time.monotonic() < end_s:
            if lock_holder(folders) != pid:
                return pid
            threading.Event().wait(_LOOK_S)
    raise HubSilent(pid, hub_lock(folders), f"It could not be ended. Try: kill -9 {pid}")


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
        if hasattr(signal, "SIGCONT"):
            os.kill(pid, signal.SIGCONT)  # a stopped process does not hear the other one
    except OSError:
        pass  # gone meanwhile, or not ours to end: the caller sees which
