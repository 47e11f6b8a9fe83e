"""A training in its own PID namespace, as a container has: the hub's report on it."""

import pytest

from kmonitor_agent.wire.local.folders import Folders
from tests.support.live_hub import LiveHub
from tests.support.spooling import OTHER_NAMESPACE, can_unshare, spooling
from tests.support.waiting import wait_until

pytestmark = pytest.mark.full


@pytest.mark.skipif(not can_unshare(), reason="no PID namespace can be made here")
def test_a_killed_process_of_another_pid_namespace_is_silent_and_not_lost(
    live_hub: LiveHub, folders: Folders
):
    with spooling({"KMONITOR_HUB": ""}, *OTHER_NAMESPACE) as process, live_hub.client() as client:
        process.tell("20")
        wait_until(lambda: client.runs() and client.runs()[0].state == "starting")
        process.tell("die")
        (run,) = wait_until(lambda: [one for one in client.runs() if one.state == "silent"])

    assert "its process cannot be seen from here" in run.state_why
    assert run.cause == ""
