"""A training that is killed is called lost, and commands to it are refused."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def source(live_hub: LiveHub, folders: Folders) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.event_source", "100000", "100"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "KMONITOR_HOME": str(folders.state)},
        stdout=subprocess.DEVNULL,
    )
    yield process
    process.kill()
    process.wait(DEADLINE_S)


def heard_run(client: HubClient) -> RunSummary:
    (run,) = wait_until(client.runs, what="the training is heard")
    assert run.state == "starting"
    return run


@pytest.mark.exposed
@pytest.mark.parametrize("is_reaped", [True, False], ids=["reaped", "zombie"])
def test_a_run_whose_process_was_killed_is_lost_by_a_look_at_the_process(
    client: HubClient, source: "subprocess.Popen[bytes]", *, is_reaped: bool
):
    heard_run(client)
    source.kill()
    if is_reaped:
        source.wait(DEADLINE_S)

    wait_until(lambda: client.runs()[0].state == "lost", what="lost")

    # A session that went silent gives another reason after its minute.
    # The kernel's count follows if the hub had checked the process while it lived.
    assert client.runs()[0].state_why.startswith("its process ended unexpectedly")
    assert client.hub().agents == 0


@pytest.mark.parametrize("is_reaped", [True, False], ids=["reaped", "zombie"])
def test_a_command_to_a_killed_process_is_refused_at_once(
    client: HubClient, source: "subprocess.Popen[bytes]", *, is_reaped: bool
):
    run = heard_run(client)
    source.kill()
    if is_reaped:
        source.wait(DEADLINE_S)
    else:
        # Polls without reaping.
        os.waitid(os.P_PID, source.pid, os.WEXITED | os.WNOWAIT)

    status = client.command(run, "save")

    assert (status.state, status.why) == ("refused", "the training process has ended")


def test_a_process_that_hangs_is_silent_until_it_goes_on(
    client: HubClient, source: "subprocess.Popen[bytes]"
):
    heard_run(client)
    source.send_signal(signal.SIGSTOP)

    def silent() -> list[RunSummary]:
        return [run for run in client.runs() if run.state == "silent"]

    (run,) = wait_until(silent, what="silent")
    source.send_signal(signal.SIGCONT)
    wait_until(lambda: client.runs()[0].state == "starting", what="heard again")

    # The duration depends on when the hub came to look.
    assert re.fullmatch("no data for \\d+ s; its process is alive", run.state_why)
