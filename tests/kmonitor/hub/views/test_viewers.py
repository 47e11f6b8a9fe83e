"""Desktops count as connected, not commands that sent a request and left."""

from typing import Any

import pytest

from kmonitor.connect.follower import HubFollower
from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.local.hub_address import ipc_endpoint, view_socket_path
from kmonitor_agent.wire.messages.codec import pack
from kmonitor_agent.wire.messages.unions import Ping
from tests.support.hub_parts import HubParts
from tests.support.live_hub import LiveHub
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


def test_who_asked_once_is_no_viewer(live_hub: LiveHub, client: HubClient):
    for _ in range(3):
        with live_hub.client() as passing:
            passing.runs()

    assert client.hub().viewers == 0


def test_a_desktop_is_a_viewer_until_it_leaves(live_hub: LiveHub, client: HubClient):
    follower = HubFollower(
        ipc_endpoint(view_socket_path(live_hub.folders)), wake_reader=lambda: None
    )
    follower.start()
    wait_until(lambda: client.hub().viewers == 1, what="a viewer")

    follower.stop()

    wait_until(lambda: client.hub().viewers == 0, what="it is forgotten")


def test_a_desktop_that_cannot_be_reached_is_forgotten_at_once(parts: HubParts):
    gone: set[bytes] = set()
    nobody: Any = None
    views = parts.viewer_service(lambda who, _message: who not in gone, nobody, nobody)
    for who in (b"one", b"other"):
        views.handle([who, *pack(Ping(n=1))])
    assert views.count_desktops() == 2

    gone.add(b"one")

    assert views.count_desktops() == 1  # the clock stands still: not because it was silent
