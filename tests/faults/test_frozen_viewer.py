"""Desktops that send requests and never read: the hub stays small, no one else loses anything."""

import socket
import struct

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ipc_endpoint, view_socket_path
from kmonitor_agent.wire.messages.codec import pack
from kmonitor_agent.wire.messages.unions import RowsRequest
from tests.support.direct_hub import RawPeer, rss_bytes
from tests.support.live_hub import LiveHub
from tests.support.raw_zmtp import connect_raw, shake_hands
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import wait_until

pytestmark = pytest.mark.full

ASKED = 1000
MOST_GROWTH_BYTES = 64 * 2**20
CROWD = 600


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


def frame(data: bytes, *, more: bool) -> bytes:
    head = bytes([more, len(data)])
    return (head if len(data) < 256 else bytes([more | 2]) + struct.pack(">Q", len(data))) + data


def ask_rows(peer: socket.socket, number: int, run: str) -> None:
    magic, body = pack(RowsRequest(request_id=number, cursor=0, limit=1000, runs=[run]))
    peer.sendall(frame(magic, more=True) + frame(body, more=False))


def test_what_a_crowd_that_never_reads_held_is_given_back(live_hub: LiveHub, folders: Folders):
    pid = live_hub.process.pid
    with SimulatedAgent(folders) as agent, live_hub.client() as client:
        for step in range(1000):
            agent.sample(step=step)
        agent.wait_acked()
        assert len(list(client.all_rows(agent.run))) == len(agent.bodies)
        calm_bytes = rss_bytes(pid)
        crowd = [connect_raw(view_socket_path(folders)) for _ in range(CROWD)]
        for peer in crowd:
            shake_hands(peer)
        for number in range(5):
            for peer in crowd:
                ask_rows(peer, number, agent.run)
        rows = list(client.all_rows(agent.run))
        grown_bytes = rss_bytes(pid) - calm_bytes
        faults = client.hub().faults
        for peer in crowd:
            peer.close()
        wait_until(lambda: rss_bytes(pid) < 1.2 * calm_bytes, what="memory given back")

    assert [row.body for row in rows] == agent.bodies
    assert grown_bytes < MOST_GROWTH_BYTES
    assert "flood: memory" not in faults
