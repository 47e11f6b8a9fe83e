"""A real hub process in the test's own home, which tests kill and start again."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.local_hub import request_local_hub
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.unions import HubReply
from tests.support.waiting import DEADLINE_S, wait_until


class LiveHub:
    """One hub process after the other, all in the same folders."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self._process: subprocess.Popen[str] | None = None

    @property
    def process(self) -> "subprocess.Popen[str]":
        """The process that was started last."""
        assert self._process is not None, "start the hub first"
        return self._process

    def spawn(self, *options: str) -> "subprocess.Popen[str]":
        """Start a hub process and do not wait for it."""
        environ = {**os.environ, "KMONITOR_HOME": str(self.folders.state)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kmonitor.hub", *options],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self._process

    def start(self, *options: str) -> HubReply:
        """Start a hub and wait until it answers."""
        process = self.spawn(*options)

        def answer() -> HubReply | None:
            told = request_local_hub(self.folders, timeout_s=5.0)
            return told if told is not None and told.pid == process.pid else None

        told = wait_until(answer, what="hub answers")
        assert told is not None
        return told

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End what was started, if anything was."""
        if self._process is not None:
            self.kill()

    def stop(self) -> int:
        """End it with SIGTERM; its exit status."""
        return self._end(signal.SIGTERM)

    def restart(self) -> HubReply:
        """SIGKILL, then a new process."""
        self.kill()
        return self.start()

    def client(self, timeout_s: float = DEADLINE_S) -> HubClient:
        """A client of this hub; close it."""
        return HubClient(folders=self.folders, timeout_s=timeout_s)

    def _end(self, number: signal.Signals) -> int:
        process = self.process
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(number)
        status = process.wait(DEADLINE_S)
        assert process.stderr is not None
        process.stderr.close()
        return status


@pytest.fixture
def idle_hub(folders: Folders) -> Iterator[LiveHub]:
    """A hub that is not started yet; whatever the test started is ended."""
    hub = LiveHub(folders)
    yield hub
    hub.close()


@pytest.fixture
def live_hub(idle_hub: LiveHub) -> LiveHub:
    """A hub that answers."""
    idle_hub.start()
    return idle_hub


@pytest.fixture
def client(live_hub: LiveHub) -> Iterator[HubClient]:
    """A client of the hub that answers."""
    with live_hub.client() as client:
        yield client
