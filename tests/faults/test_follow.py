"""`kmonitor show --follow` outlives a cut of its way, and Ctrl+C ends it also while it waits."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import psutil
import pytest

from kmonitor.cli.common.terminal import INTERRUPTED
from kmonitor.connect.local_hub import ensure_hub
from kmonitor_agent.wire.local.folders import Folders
from tests.support.command_line import start_kmonitor
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.ssh_host import NAME, SshHost, live_ssh_host, ssh_host
from tests.support.waiting import DEADLINE_S, wait_until

if TYPE_CHECKING:
    from subprocess import Popen

__all__ = ["live_ssh_host", "ssh_host"]

pytestmark = pytest.mark.slow


class Following:
    """A `kmonitor show --follow` that runs, and what it has said so far."""

    def __init__(self, process: "Popen[str]") -> None:
        self.process = process
        self.out: list[str] = []
        self.err: list[str] = []
        self._readers = [
            threading.Thread(target=_read, args=(lines, into), daemon=True)
            for lines, into in ((process.stdout, self.out), (process.stderr, self.err))
        ]
        for reader in self._readers:
            reader.start()

    def wait_for(self, text: str, said: list[str], n: int = 1) -> None:
        wait_until(lambda: sum(text in line for line in said) >= n, what=f"{n} x {text!r}")

    def interrupt(self) -> int:
        """Ctrl+C; its exit status, once all that it said was read."""
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(DEADLINE_S)
        for reader in self._readers:
            reader.join(DEADLINE_S)
        return status


def _read(lines: IO[str], into: list[str]) -> None:
    for line in lines:
        into.append(line)  # noqa: PERF402 - each is to be seen at once


@contextmanager
def following(*arguments: str) -> Iterator[Following]:
    with start_kmonitor("show", "last", "--follow", *arguments) as process:
        try:
            yield Following(process)
        finally:
            process.terminate()


def test_ctrl_c_ends_it_in_the_same_way_while_it_tells_and_while_it_waits(
    live_hub: LiveHub, folders: Folders
) -> None:
    with SimulatedAgent(folders) as agent:
        agent.start_fit()
        agent.wait_acked()
        with following() as telling:
            telling.wait_for("State", telling.out)
            assert telling.interrupt() == INTERRUPTED
        with following() as waiting:
            waiting.wait_for("State", waiting.out)
            live_hub.stop()
            waiting.wait_for("Waiting", waiting.err)
            assert waiting.interrupt() == INTERRUPTED

    assert telling.err == []
    assert waiting.err == ["kmonitor: your hub was stopped. Waiting 60 s for another one.\n"]


@pytest.mark.ssh
@pytest.mark.full
def test_over_ssh_it_goes_on_after_a_cut_tells_nothing_twice_and_ends_while_it_waits(
    live_ssh_host: SshHost,
) -> None:
    ensure_hub(live_ssh_host.there)
    with SimulatedAgent(live_ssh_host.there) as agent:
        agent.start_fit()
        agent.end_epoch()
        agent.wait_acked()
        with following("--host", NAME) as follow:
            follow.wait_for("Fit 1 started", follow.out)
            for each in psutil.Process(follow.process.pid).children(recursive=True):
                each.kill()
            agent.end_epoch()
            agent.wait_acked()
            follow.wait_for("Epoch 2 of fit 1", follow.out)
            live_ssh_host.stop()
            follow.wait_for("Waiting", follow.err, 2)
            status = follow.interrupt()
        tunnels = [each for each in psutil.process_iter() if each.name() == "ssh"]

    assert status == INTERRUPTED
    assert ["Waiting for" in line for line in follow.err] == [True, False, True]
    assert "reconnected" in follow.err[1]
    assert sum("Epoch 2 of fit 1" in line for line in follow.out) == 1
    assert not tunnels
