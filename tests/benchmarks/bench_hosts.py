"""Time to reach a hub on another host, and to reach it again after ssh was killed.

A real sshd on loopback: there is no network, and both ends share the cores. Run by `make bench`.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from kmonitor.connect.follower import Connected, Disconnected, News, RouteChanged
from kmonitor.connect.host_follower import HostFollower
from kmonitor.connect.local_hub import stop_hub
from kmonitor.connect.remembered_hosts import RememberedHost
from kmonitor.connect.ssh import make_socket_path
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.hub_address import view_socket_path
from tests.benchmarks.judging import Judge, Measured
from tests.support.capabilities import ssh_missing
from tests.support.ssh_host import NAME, SshHost
from tests.support.waiting import wait_until

TIMES = 5
FROZEN_S = 10.0
"""`ServerAliveInterval` times `ServerAliveCountMax`, from the last answer."""


def main() -> int:
    """Print medians beside their bounds; 1 if one is missed on a quiet machine."""
    if ssh_missing():
        print(f"NOT RUN: {ssh_missing()}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KMONITOR_HOME"] = f"{folder}/here"
        host = SshHost(Path(folder) / "host")
        os.environ["PATH"] = f"{host.folder / 'client'}:{os.environ['PATH']}"
        host.start()
        with Judge() as judge:
            try:
                judge.take(*_measure(host))
            finally:
                host.stop()
                stop_hub(host.there)
    return judge.status


def _measure(host: SshHost) -> list[Measured]:
    first_s = _Link("").close_after_connected()
    asked = [_Link("").close_after_connected() for _ in range(TIMES)]
    socket = str(view_socket_path(host.there))
    known = [_Link(socket).close_after_connected() for _ in range(TIMES)]
    link = _Link(socket)
    link.wait(Connected)
    again = [link.after_kill() for _ in range(TIMES)]
    host.freeze()
    noticed_s = link.wait(Disconnected)
    frozen_s = link.wait(Connected)
    link.stop()
    return [
        Measured("first time, the hub is started there", first_s, None, "s"),
        Measured("its hub runs, its socket is not known", statistics.median(asked), None, "s"),
        Measured("remembered", statistics.median(known), 0.4, "s"),
        Measured("again after `kill -9` of ssh", statistics.median(again), 0.7, "s"),
        Measured("a frozen connection is noticed", noticed_s, FROZEN_S, "s"),
        Measured("and another one made", frozen_s, None, "s"),
    ]


class _Link:
    """A host that is being connected to from now on."""

    def __init__(self, socket: str) -> None:
        self._began_s = time.monotonic()
        local = make_socket_path(find_folders())
        self._follower = HostFollower(
            RememberedHost(NAME, socket=socket), local, wake_reader=lambda: None
        )
        self._follower.start()

    def close_after_connected(self) -> float:
        """Wait until it is connected, then stop; seconds since it was made."""
        self.wait(Connected)
        passed_s = time.monotonic() - self._began_s
        self.stop()
        return passed_s

    def after_kill(self) -> float:
        """Kill ssh; seconds until the hub answers again."""
        for process in psutil.Process().children():
            if process.name() == "ssh":
                process.kill()
        began_s = time.monotonic()
        self._until(lambda news: isinstance(news, RouteChanged) and news.stage == "closed")
        self.wait(Connected)
        return time.monotonic() - began_s

    def wait(self, kind: type[News]) -> float:
        """Wait for news of a kind; seconds that it took."""
        began_s = time.monotonic()
        self._until(lambda news: isinstance(news, kind))
        return time.monotonic() - began_s

    def stop(self) -> None:
        """End it."""
        self._follower.stop()

    def _until(self, condition: Callable[[News], bool]) -> None:
        def found() -> bool:
            self._follower.drained()
            while self._follower.inbox:
                if condition(self._follower.inbox.popleft()):
                    return True
            return False

        wait_until(found)


if __name__ == "__main__":
    sys.exit(main())
