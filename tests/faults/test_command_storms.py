"""Commands while hubs and trainings are killed: each ran once, or is unknown; none ran twice."""

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.full

COMMANDS = 200
HUB_KILLS = 15
AGENT_KILLS = 15
HELD = 16
"""This many may be open at once."""


class Obedient:
    """One process after the other of the run `run1`, which obeys."""

    def __init__(self, started_file: Path, takes_s: float) -> None:
        self.started_file = started_file
        self._takes_s = takes_s
        self.start()

    def start(self) -> None:
        words = [sys.executable, "-m", "tests.support.obedient_agent", "run1"]
        self.process = subprocess.Popen(
            [*words, str(self.started_file), str(self._takes_s)], stdin=subprocess.PIPE
        )

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.communicate()

    def ran(self) -> Counter[str]:
        """Number of runs of each command."""
        return Counter(self.started_file.read_text(encoding="utf-8").split())

    def ran_of(self, ids: list[str]) -> int:
        """Number of these that ran."""
        return len(self.ran().keys() & set(ids))


@pytest.fixture
def obedient(
    tmp_path: Path, live_hub: LiveHub, request: pytest.FixtureRequest
) -> Iterator[Obedient]:
    (tmp_path / "ran").touch()
    found = Obedient(tmp_path / "ran", request.param)
    yield found
    found.kill()


def summary_of(client: HubClient) -> RunSummary:
    """The run once it can be commanded."""

    def one() -> RunSummary | None:
        return next((each for each in client.runs() if each.actions), None)

    found = wait_until(one, what="the run")
    assert found is not None
    return found


def states_of(client: HubClient, run: RunSummary, ids: list[str]) -> dict[str, str]:
    """State of each of these commands once all are at an end."""
    states: dict[str, str] = {}
    for one in ids:
        asked = client.command(run, "save", id=one)
        states[one] = client.wait_for(asked, timeout_s=DEADLINE_S).state
    return states


@pytest.mark.parametrize("obedient", [0.0], indirect=True)
def test_commands_amid_hub_kills_run_once_each(live_hub: LiveHub, obedient: Obedient):
    random_ = random.Random(1)  # noqa: S311 - the same moments each time
    kills = set(random_.sample(range(COMMANDS), HUB_KILLS))
    states: dict[str, str] = {}
    open_ids: list[str] = []
    client = live_hub.client()
    run = summary_of(client)
    for number in range(COMMANDS):
        open_ids.append(f"c{number}")
        client.command(run, "save", id=open_ids[-1])
        if number in kills:
            client.close()
            live_hub.restart()
            client = live_hub.client()
        if len(open_ids) == HELD // 2:
            states |= states_of(client, run, open_ids)
            open_ids = []
    states |= states_of(client, run, open_ids)
    client.close()

    assert Counter(states.values()) == {"done": COMMANDS}
    assert obedient.ran() == dict.fromkeys(states, 1)


@pytest.mark.parametrize("obedient", [0.05], indirect=True)
def test_commands_amid_kills_of_the_training_ran_once_or_are_unknown(
    live_hub: LiveHub, obedient: Obedient
):
    random_ = random.Random(2)  # noqa: S311 - the same moments each time
    states: dict[str, str] = {}
    with live_hub.client() as client:
        for life in range(AGENT_KILLS):
            run = booted(client, obedient)
            ids = [f"c{life}-{number}" for number in range(HELD // 2)]
            for one in ids:
                client.command(run, "save", id=one)
            some = random_.randrange(len(ids))
            wait_until(lambda ids=ids, some=some: obedient.ran_of(ids) >= some, what="some ran")
            obedient.kill()
            obedient.start()
            states |= states_of(client, run, ids)
    ran = obedient.ran()

    assert len(states) == AGENT_KILLS * HELD // 2
    assert set(states.values()) <= {"done", "unknown", "expired"}
    assert max(ran.values()) == 1, "none ran twice"
    assert [one for one, state in states.items() if state == "done" and not ran[one]] == []
    assert [one for one, state in states.items() if state == "expired" and ran[one]] == []
    assert Counter(states.values())["done"] > 0
    assert Counter(states.values())["unknown"] > 0


def booted(client: HubClient, obedient: Obedient) -> RunSummary:
    """The run once the hub knows of its newest process."""
    wait_until(lambda: summary_of(client).pid == obedient.process.pid, what="the next process")
    return summary_of(client)
