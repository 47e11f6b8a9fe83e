"""The files that a dead process left on disk reach the hub, and say how the run ended."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import Sample, SessionEnded
from tests.support.links import LinkUnderTest, sample
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow


def die_after(folders: Folders, count: int) -> str:
    out = subprocess.run(
        [sys.executable, "-m", "tests.support.event_source", str(count), "20000", "die"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "KMONITOR_HOME": str(folders.state)},
        stdout=subprocess.PIPE,
        check=False,
        text=True,
        timeout=2 * DEADLINE_S,
    ).stdout
    return json.loads(out)["run"]


def test_the_spool_of_a_process_that_died_without_a_hub_is_shipped(
    idle_hub: LiveHub, folders: Folders
):
    run = die_after(folders, 3000)
    idle_hub.start()
    with idle_hub.client() as client:
        wait_until(lambda: [one for one in client.runs() if one.state == "lost"], what="lost")
        # The hub stores a moment later what it has accepted.
        wait_until(lambda: client.runs()[0].step == 2999, what="its last step")
        events = [decode_event(row.body) for row in client.all_rows(run)]

    steps = [event.step for event in events if isinstance(event, Sample)]
    assert steps == list(range(3000))


def test_a_run_that_ended_without_a_hub_is_finished_not_lost(idle_hub: LiveHub, folders: Folders):
    with LinkUnderTest(folders) as link:
        for step in range(50):
            link.link.emit(sample(step))
        link.link.emit(SessionEnded(t_s=9.0, why="finished"))
    idle_hub.start()
    with idle_hub.client() as client:
        (run,) = wait_until(client.runs)
        wait_until(lambda: client.runs()[0].state == "finished")

    assert run.run == "run1"
    assert run.gaps == 0


def test_what_is_shipped_is_confirmed_in_the_spool(idle_hub: LiveHub, folders: Folders):
    run = die_after(folders, 10)
    idle_hub.start()

    wait_until((folders.spool / run / "acked").exists, what="acked")


def test_the_spool_of_a_living_process_is_left_to_it(live_hub: LiveHub, folders: Folders):
    with LinkUnderTest(folders) as link:
        for step in range(500):
            link.link.emit(sample(step))
        wait_until(lambda: link.link.status().acked == 501)
        with live_hub.client() as client:
            faults = client.hub().faults
            n_rows = client.hub().rows

    assert n_rows == 501
    assert not [where for where in faults if where.startswith("spools")]


def test_a_deleted_run_does_not_come_back_from_its_spool(idle_hub: LiveHub, folders: Folders):
    run = die_after(folders, 100)
    idle_hub.start()
    with idle_hub.client() as client:
        wait_until(lambda: client.runs() and client.runs()[0].state == "lost")
        client.edit(run, delete=True)
    idle_hub.restart()
    other = die_after(folders, 10)
    with idle_hub.client() as client:
        wait_until(lambda: other in {one.run for one in client.runs()}, what="a later spool")

        assert run not in {one.run for one in client.runs()}
