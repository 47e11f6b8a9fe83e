"""The agents' events reach the database once, in order, and are confirmed."""

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor.hub.runs.hub_event_log import COMMIT_INTERVAL_S
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import LostEvents, Notice
from tests.support.hub_parts import HubParts
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import MIB, SimulatedAgent
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


def test_a_run_is_told_with_its_metrics_and_sources(client: HubClient, folders: Folders):
    with SimulatedAgent(folders, name="digits") as agent:
        agent.start_fit(epochs=5, steps=20)
        agent.start_epoch()
        agent.sample(ram_bytes=700 * MIB, step=7)
        agent.graph(operations=420)
        agent.wait_acked()
        (run,) = client.runs()

    assert (run.run, run.name, run.state, run.model) == (agent.run, "digits", "training", "net")
    assert (run.epoch, run.epochs, run.step, run.steps) == (0, 5, 7, 20)
    assert (run.batch_size, run.optimizer, run.learning_rate) == (32, "Adam", 1e-3)
    assert run.ram.value == 700 * MIB
    assert run.ram.of == 16 * 1024 * MIB
    assert run.ram.source == "process: /proc/self/statm"
    assert run.graph.value == 420
    assert "reload" in run.actions


def test_every_event_is_stored_once_in_order(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        for step in range(3000):
            agent.sample(step=step)
        agent.wait_acked()
        rows = list(client.all_rows(agent.run))

    assert [row.seq for row in rows] == list(range(1, 3002))
    assert [row.body for row in rows] == agent.bodies
    assert [row.row for row in rows] == sorted({row.row for row in rows})


def test_rows_of_one_kind_are_told_without_the_others(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent, SimulatedAgent(folders) as other:
        for one in (agent, other):
            one.start_fit()
            for _ in range(4):
                one.sample()
                one.graph()
            one.wait_acked()
        of_one = list(client.all_rows(agent.run, ["graph", "fit_start"]))
        of_all = client.rows(kinds=["fit_start"])
        of_both = client.rows(runs=[agent.run, other.run], limit=5)

    assert [decode_event(row.body).__struct_config__.tag for row in of_one] == [
        "fit_start",
        *["graph"] * 4,
    ]
    assert {row.run for row in of_all.rows} == {agent.run, other.run}
    assert not of_all.more
    assert len(of_both.rows) == 5
    assert of_both.more


def test_an_event_of_a_newer_agent_is_kept_as_it_is(client: HubClient, folders: Folders):
    body = b"\x82\xa4type\xa7tensors\xa3t_s\x01"
    with SimulatedAgent(folders) as agent:
        agent.emit_bytes(body)
        agent.wait_acked()
        rows = list(client.all_rows(agent.run))

    assert rows[-1].body == body


def test_what_is_no_event_is_refused_and_the_stream_goes_on(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.sample()
        agent.emit_bytes(b"\xc1 rubbish")
        agent.sample()
        agent.wait_acked()
        rows = list(client.all_rows(agent.run))
        faults = client.hub().faults

    assert [row.seq for row in rows] == [1, 2, 3, 4]
    assert isinstance(decode_event(rows[2].body), LostEvents)
    assert faults["ingest: event"] >= 1


def test_what_no_spool_holds_any_more_leaves_a_gap_row(client: HubClient, folders: Folders):
    agent = SimulatedAgent(folders)
    for _ in range(99):
        agent.sample()
    agent.first_kept = 51
    with agent:
        agent.wait_acked()
        rows = list(client.all_rows(agent.run))
        (run,) = client.runs()

    gap = decode_event(rows[0].body)
    assert isinstance(gap, LostEvents)
    assert (gap.first, gap.last, run.gaps) == (1, 50, 50)
    assert [row.seq for row in rows] == [50, *range(51, 101)]


def test_an_agent_that_was_there_first_is_taken_when_the_hub_comes(
    idle_hub: LiveHub, folders: Folders
):
    with SimulatedAgent(folders) as agent:
        agent.sample()
        idle_hub.start()
        agent.wait_acked()

        with idle_hub.client() as client:
            assert [run.run for run in client.runs()] == [agent.run]


def test_a_later_boot_goes_on_in_run_time(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as first:
        first.sample(t_s=100.0)
        first.end_boot("restart")
        first.wait_acked()
        assert client.runs()[0].state == "starting"
    with SimulatedAgent(folders, after=first) as second:
        second.sample(t_s=5.0)
        second.wait_acked()
        rows = list(client.all_rows(first.run))
        (run,) = client.runs()

    assert rows[1].t_s == 100.0
    assert rows[-1].t_s >= 105.0
    assert run.session == second.session
    assert run.duration_s == rows[-1].t_s


def test_the_older_of_two_living_boots_is_told_that_it_is_superseded(
    live_hub: LiveHub, folders: Folders
):
    with SimulatedAgent(folders) as old:
        old.wait_acked()
        with SimulatedAgent(folders, after=old) as new:
            new.wait_acked()
            wait_until(lambda: old.errors, what="the old session hears of it")

    assert old.errors[0].code == "superseded"
    assert old.errors[0].fatal
    assert not new.errors


def test_an_agent_of_another_version_is_refused_for_good(client: HubClient, folders: Folders):
    agent = SimulatedAgent(folders)
    agent.proto = (7, 9)
    with agent:
        wait_until(lambda: agent.errors, what="refused")

    assert agent.errors[0].code == "unsupported"
    assert agent.errors[0].fatal
    assert "7 to 9" in agent.errors[0].text
    assert client.runs() == []


def test_a_lone_event_is_committed_at_once_and_the_next_ones_together(parts: HubParts):
    notice = Notice(t_s=1.0, level="info", code="x", text="y")
    clock, event_log = parts.clock, parts.event_log
    record = parts.started_run(pid=1)

    assert event_log.wait_s(clock.monotonic_s()) == 0.0
    assert event_log.commit()
    assert event_log.wait_s(clock.monotonic_s()) is None
    parts.take(record, notice)
    parts.take(record, notice)
    assert event_log.wait_s(clock.monotonic_s()) == pytest.approx(COMMIT_INTERVAL_S)
    clock.move(COMMIT_INTERVAL_S + 0.001)
    assert event_log.wait_s(clock.monotonic_s()) == 0.0


def test_a_desktop_that_was_closed_goes_on_at_its_cursor(live_hub: LiveHub, folders: Folders):
    seqs: list[int] = []
    cursor = 0
    with SimulatedAgent(folders) as agent:
        for visit in range(4):
            for _ in range(300):
                agent.sample()
            agent.wait_acked()
            if visit == 2:
                live_hub.restart()
            more = True
            with live_hub.client() as desktop:
                while more:
                    page = desktop.rows(cursor=cursor, limit=70)
                    seqs += [row.seq for row in page.rows]
                    cursor, more = page.cursor, page.more

    assert seqs == list(range(1, 1202))


def test_a_cursor_of_another_runs_row_is_understood(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as one, SimulatedAgent(folders) as other:
        for _ in range(20):
            one.sample()
            one.wait_acked()
            other.sample()
            other.wait_acked()
        rows = client.rows().rows
        for row in rows:
            expected = [r.row for r in rows if r.run == one.run and r.row > row.row]
            found = client.rows(cursor=row.row, runs=[one.run]).rows
            assert [r.row for r in found] == expected
