"""Who is told as connected: desktops that are there, not commands that asked and went."""

import pytest

from kmonitor.connect.follower import HubFollower
from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.local.sockets import ipc, view_socket
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow


def test_who_asked_once_is_no_viewer(live_hub: LiveHub, client: HubClient):
    for _ in range(3):
        with live_hub.client() as passing:
            passing.runs()

    assert client.hub().viewers == 0


def test_a_desktop_is_a_viewer_until_it_leaves(live_hub: LiveHub, client: HubClient):
    follower = HubFollower(ipc(view_socket(live_hub.folders)), wake=lambda: None)
    follower.start()
    wait_until(lambda: client.hub().viewers == 1, what="a viewer")

    follower.stop()

    # One that went without a word is forgotten after ten seconds.
    wait_until(lambda: client.hub().viewers == 0, deadline_s=DEADLINE_S, what="it is forgotten")
