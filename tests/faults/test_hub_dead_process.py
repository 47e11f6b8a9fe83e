"""A training that is killed is called lost within seconds, and commands to it are refused."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.local.folders import Folders
from kmonitor_agent.protocol.messages import RunSummary
from tests.support.live_hub import LiveHub
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

LOST_WITHIN_S = 5.0


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
    process.wait(10)


def heard_run(client: HubClient) -> RunSummary:
    (run,) = wait_until(client.runs, what="the training is heard")
    assert run.state == "starting"
    return run


@pytest.mark.parametrize("is_reaped", [True, False], ids=["reaped", "zombie"])
def test_a_run_whose_process_was_killed_is_lost_within_seconds(
    client: HubClient, source: "subprocess.Popen[bytes]", *, is_reaped: bool
):
    heard_run(client)
    source.kill()
    if is_reaped:
        source.wait(10)
    killed_s = time.monotonic()

    wait_until(lambda: client.runs()[0].state == "lost", what="lost")

    assert time.monotonic() - killed_s < LOST_WITHIN_S
    assert client.runs()[0].state_why == "its process is gone without a word"
    assert client.hub().agents == 0


@pytest.mark.parametrize("is_reaped", [True, False], ids=["reaped", "zombie"])
def test_a_command_to_a_killed_process_is_refused_at_once(
    client: HubClient, source: "subprocess.Popen[bytes]", *, is_reaped: bool
):
    run = heard_run(client)
    source.kill()
    if is_reaped:
        source.wait(10)
    else:
        # Asks without reaping.
        os.waitid(os.P_PID, source.pid, os.WEXITED | os.WNOWAIT)

    status = client.command(run, "save")

    assert (status.state, status.why) == ("refused", "the training's process is gone")


def test_a_process_that_hangs_is_silent_until_it_goes_on(
    client: HubClient, source: "subprocess.Popen[bytes]"
):
    heard_run(client)
    source.send_signal(signal.SIGSTOP)
    stopped_s = time.monotonic()

    wait_until(lambda: client.runs()[0].state == "silent", what="silent")
    silent_s = time.monotonic() - stopped_s
    why = client.runs()[0].state_why
    source.send_signal(signal.SIGCONT)
    wait_until(lambda: client.runs()[0].state == "starting", what="heard again")

    assert 2.0 < silent_s < LOST_WITHIN_S
    assert why == "no data for 3 s; its process lives"
