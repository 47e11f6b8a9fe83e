"""Whether the process behind a run still lives, as far as this host can tell."""

import socket
from pathlib import Path

import psutil

_START_SLACK_S = 30.0
"""A process that was created so much later than its boot said took over a free pid."""


def own_pid_namespace() -> int:
    """Inode of this process's PID namespace; 0 where there is none."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


class ProcessWatch:
    """Answers for processes of this host and PID namespace only."""

    def __init__(self) -> None:
        self.host = socket.gethostname()
        self._namespace = own_pid_namespace()

    def can_see(self, host: str, pid_namespace: int) -> bool:
        """Whether a pid told from there means the same process here."""
        return host == self.host and pid_namespace in {0, self._namespace}

    def is_alive(self, pid: int, started_wall_s: float) -> bool:
        """Whether process `pid` lives and is the one that started then; zombies are dead."""
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            return process.create_time() <= started_wall_s + _START_SLACK_S
        except psutil.NoSuchProcess:
            return False
        except psutil.Error:
            return True
