"""Whether the process behind a run still lives, as far as this host can tell."""

import socket
from pathlib import Path

import psutil

from kmonitor_agent.wire.local.host_mark import host_mark, read_salt
from kmonitor_agent.wire.local.spool_format import BootFacts

_START_SLACK_S = 30.0
"""A process that was created so much later than its boot said took over a free pid."""


def own_pid_namespace() -> int:
    """Inode of this process's PID namespace; 0 where there is none."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


class ProcessWatch:
    """Answers for processes of this host and PID namespace only.

    Attributes:
        host: This host's name.
    """

    def __init__(self, state: Path) -> None:
        """Find out where this is.

        Args:
            state: This user's state folder; by its salt the host of a private run is recognised.
        """
        self.host = socket.gethostname()
        self._namespace = own_pid_namespace()
        self._state = state

    def can_see(self, host: str, boot: str, pid_namespace: int) -> bool:
        """Whether a pid told from there by that boot means the same process here."""
        return self._is_here(host, boot) and pid_namespace in {0, self._namespace}

    def is_far(self, facts: BootFacts) -> bool:
        """Whether another host wrote this."""
        return not self._is_here(facts.host, facts.boot)

    def _is_here(self, host: str, boot: str) -> bool:
        return host == self.host or self._is_our_mark(host, boot)

    def _is_our_mark(self, host: str, boot: str) -> bool:
        # Read anew: a private training may have made the salt since, or a purge removed it.
        salt = read_salt(self._state)
        return salt is not None and host_mark(salt, boot) == host

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
