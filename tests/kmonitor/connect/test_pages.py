"""Pages of stored rows: the next is on its way while one is used, whatever else is requested."""

import pytest

from kmonitor.connect import hub_client
from kmonitor.connect.hub_client import HubClient
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent


@pytest.mark.parametrize("others", [0, 1, 3])
def test_every_row_comes_once_whatever_is_asked_in_between(
    live_hub: LiveHub, client: HubClient, monkeypatch: pytest.MonkeyPatch, others: int
):
    monkeypatch.setattr(hub_client, "_PAGE_ROWS", 10)
    monkeypatch.setattr(hub_client, "_RESEND_S", 0.05)
    with SimulatedAgent(live_hub.folders) as agent:
        for step in range(45):
            agent.sample(step=step)
        agent.wait_acked()
    seqs: list[int] = []
    for row in client.all_rows(agent.run):
        seqs.append(row.seq)
        for _ in range(others):
            assert client.hub().rows >= 45
        if others and len(seqs) == 20:
            assert len(list(client.all_rows(agent.run, ("sample",)))) == 45

    assert [seq for seq in seqs if seq] == list(range(1, len(agent.bodies) + 1))


def test_pages_that_nobody_wants_any_more_are_passed_over(
    live_hub: LiveHub, client: HubClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hub_client, "_PAGE_ROWS", 10)
    with SimulatedAgent(live_hub.folders) as agent:
        for step in range(45):
            agent.sample(step=step)
        agent.wait_acked()
    for _ in range(3):
        rows = client.all_rows(agent.run)
        next(rows)
        del rows

    assert len(list(client.all_rows(agent.run, ("sample",)))) == 45
