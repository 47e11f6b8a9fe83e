"""A network that is cut, goes silent, says no or loses packets, between an agent and its hub."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.host_identity import own_keys
from kmonitor_agent.wire.local.hub_address import parse_direct_address
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import Sample
from tests.support.cut_link import Cable, why_no_cable
from tests.support.direct_hub import ListeningHub
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.full

PER_S = 50.0
CUT_S = {"down": 6.0, "drop": 6.0, "reset": 30.0, "loss": 10.0}
"""Long enough for pauses between tries to have grown."""


@pytest.fixture
def cable() -> Iterator[Cable]:
    why = why_no_cable()
    if why:
        pytest.skip(why)
    with Cable() as cable:
        yield cable


@pytest.fixture
def hub(folders: Folders, cable: Cable) -> Iterator[ListeningHub]:
    live = LiveHub(folders)
    try:
        live.start("--bind", f"{cable.here}:0")
        with live.client() as client:
            yield ListeningHub(live, client, parse_direct_address(client.keys().address))
    finally:
        live.close()


@pytest.fixture
def source(cable: Cable, hub: ListeningHub, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A training at the other end of the cable."""
    home = tmp_path / "far"
    environ = {**os.environ, "KMONITOR_HOME": str(home)}
    home.mkdir(mode=0o700)
    hub.device("agent", own_keys(find_folders(environ), "agent"))
    words = [sys.executable, "-m", "tests.support.steady_source", hub.address.url, str(PER_S)]
    with subprocess.Popen(
        cable.command(*words),
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def steps_of(client: HubClient, run: str) -> list[int]:
    events = [decode_event(row.body) for row in client.all_rows(run)]
    return [event.step for event in events if isinstance(event, Sample)]


@pytest.mark.parametrize("how", ["down", "drop", "reset", "loss"])
def test_after_a_cut_the_training_is_seen_again_and_nothing_is_lost(
    cable: Cable, hub: ListeningHub, source: "subprocess.Popen[str]", how: str
):
    assert source.stdout is not None
    run = source.stdout.readline().strip()
    wait_until(lambda: hub.client.hub().rows > PER_S, what="it reports")
    cable.cut(how)
    wait_for_s(CUT_S[how] / 2)
    amid = hub.client.hub().rows
    wait_for_s(CUT_S[how] / 2)
    rows = hub.client.hub().rows
    cable.mend()
    wait_until(lambda: hub.client.hub().rows > rows, what="it is seen again")
    out, _ = source.communicate("end\n", timeout=DEADLINE_S)
    told = json.loads(out)

    assert steps_of(hub.client, run) == list(range(told["count"]))
    assert how == "loss" or rows == amid, "the cut is none"
    assert told["faults"] == {}


def wait_for_s(seconds: float) -> None:
    """Let the network be cut for so long: it is the length of the fault itself."""
    end_s = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() >= end_s)
