"""A hub that was started on the way leaves when no one needs it; one that was requested stays."""

import pytest

from kmonitor_agent.wire.local.folders import Folders
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import wait_until


@pytest.mark.exposed
@pytest.mark.slow
def test_an_idle_hub_ends_by_itself_and_forgets_nothing(idle_hub: LiveHub, folders: Folders):
    with SimulatedAgent(folders) as agent:
        idle_hub.start("--idle-s", "2")
        agent.start_fit()
        agent.end_fit()
        agent.end_boot()
        agent.wait_acked()

    assert wait_until(lambda: idle_hub.process.poll() is not None)
    assert idle_hub.stop() == 0
    idle_hub.start()
    with idle_hub.client() as client:
        assert [run.state for run in client.runs()] == ["finished"]


@pytest.mark.slow
def test_a_hub_with_a_live_run_does_not_end(idle_hub: LiveHub, folders: Folders):
    with SimulatedAgent(folders) as agent:
        idle_hub.start("--idle-s", "2")
        agent.start_fit()
        agent.wait_acked()
        passed = agent.now_s() + 3.0
        wait_until(lambda: agent.now_s() > passed)

        assert idle_hub.process.poll() is None
