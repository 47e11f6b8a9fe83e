"""Many run names in one training process: a search that names a run for each of its trials."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import FitStarted
from tests.support.live_hub import LiveHub
from tests.support.running_tests import LONG
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.keras, pytest.mark.slow, LONG]

ROOT = Path(__file__).parents[2]


def train(count: int, how: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.named_runs", str(count), how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def states(client: HubClient, ids: list[str]) -> dict[str, int]:
    found = [run.state for run in client.runs() if run.run in ids]
    return {state: found.count(state) for state in set(found)}


@pytest.mark.promise(16)
@pytest.mark.parametrize(
    ("count", "how"),
    [
        (30, "kept"),
        pytest.param(100, "kept", marks=pytest.mark.full),
        pytest.param(100, "one", marks=pytest.mark.full),
    ],
)
def test_many_names_cost_the_threads_and_descriptors_of_one(
    count: int, how: str, live_hub: LiveHub, client: HubClient
):
    del live_hub
    figures = train(count, how)

    assert figures["sessions"] == (count if how == "kept" else 1)
    assert len(figures["ids"]) == count
    ended = {"finished": count}
    wait_until(lambda: states(client, figures["ids"]) == ended, what="all have ended")


def test_a_name_that_comes_again_goes_on_as_the_same_run(live_hub: LiveHub, client: HubClient):
    del live_hub
    figures = train(10, "again")

    assert len(figures["ids"]) == 2
    wait_until(lambda: states(client, figures["ids"]) == {"finished": 2}, what="both have ended")
    for run in figures["ids"]:
        events = [decode_event(row.body) for row in client.all_rows(run)]
        fits = [event.fit for event in events if isinstance(event, FitStarted)]
        assert fits == [1, 2, 3, 4, 5]
