"""A desktop that asks and never reads: the hub stays small, and the desktop loses nothing."""

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ipc_endpoint, view_socket_path
from kmonitor_agent.wire.messages.unions import RowsRequest
from tests.support.direct_hub import RawPeer, rss_bytes
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent

pytestmark = pytest.mark.full

ASKED = 1000
MOST_GROWTH_BYTES = 64 * 2**20


def test_a_frozen_viewer_neither_fills_the_hub_nor_loses_anything(
    live_hub: LiveHub, folders: Folders
):
    with (
        SimulatedAgent(folders) as agent,
        RawPeer(ipc_endpoint(view_socket_path(folders))) as frozen,
        live_hub.client() as client,
    ):
        for step in range(1000):
            agent.sample(step=step)
        agent.wait_acked()
        assert len(list(client.all_rows(agent.run))) == len(agent.bodies)
        calm_bytes = rss_bytes(live_hub.process.pid)
        for number in range(ASKED):
            frozen.say(RowsRequest(request_id=number, cursor=0, limit=1000, runs=[agent.run]))
        for step in range(1000, 2000):
            agent.sample(step=step)
        agent.wait_acked()
        grown_bytes = rss_bytes(live_hub.process.pid) - calm_bytes
        rows = list(client.all_rows(agent.run))

    assert [row.body for row in rows] == agent.bodies
    assert grown_bytes < MOST_GROWTH_BYTES
