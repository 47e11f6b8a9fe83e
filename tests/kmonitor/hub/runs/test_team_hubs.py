"""Several hubs in one team's database: each writes its own runs, shows all, disturbs no other."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.hub.options import Keep
from kmonitor.hub.runs.hub_event_log import read_event_body
from kmonitor.hub.runs.retention import Retention
from kmonitor.hub.runs.team_runs import QUIET_AFTER_S, TeamRuns
from kmonitor.hub.store.pages import PageRequest
from kmonitor.hub.views.edits import EditService
from kmonitor_agent.wire.local.clock import WallClockCheck
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import Sample, SessionEnded
from kmonitor_agent.wire.messages.unions import EditRequest, ErrorMessage
from tests.support.hub_parts import HubParts
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import MIB, SimulatedAgent
from tests.support.team_server import TeamServer, database_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.psycopg


class Pair:
    """Two hubs' parts on one database; `look` is what the first one does every few seconds."""

    def __init__(self, folder: Path, url: str) -> None:
        self.one = HubParts(folder / "one", url)
        self.other = HubParts(folder / "other", url)
        self._watch = TeamRuns(self.one.event_log, self.one.clock, every_s=0.01)
        self._watch.start()

    def look(self) -> list[str]:
        """Names of the other hubs' runs that the first one shows."""
        self._watch.apply_found()
        return [record.name for record in self.one.event_log.registry.others()]

    def close(self) -> None:
        """Let go of both."""
        self._watch.stop()
        self.one.database.close()
        self.other.database.close()


@pytest.fixture
def pair(tmp_path: Path, team_url: str) -> Iterator[Pair]:
    """Two hubs on one database."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    pair = Pair(tmp_path, team_url)
    yield pair
    pair.close()


def test_a_hub_begins_with_its_own_runs_only(pair: Pair):
    for parts in (pair.one, pair.other):
        parts.started_run(pid=1)
        assert parts.event_log.commit()
    ours = {record.run for record in pair.one.event_log.registry.all()}

    pair.one.reopen()

    assert {record.run for record in pair.one.event_log.registry.all()} == ours
    assert pair.one.database.head != pair.other.database.head


def test_runs_of_another_hub_are_shown_and_cannot_be_changed(pair: Pair):
    theirs = pair.other.started_run(pid=1)
    assert pair.other.event_log.commit()
    wait_until(lambda: pair.look() == ["net"])
    registry = pair.one.event_log.registry

    told = EditService(pair.one.event_log, is_abandoned=lambda _: False).apply_edit(
        "me", EditRequest(request_id=1, run=theirs.run, delete=True)
    )

    assert isinstance(told, ErrorMessage)
    assert "another of the team's hubs" in told.text
    assert [record.run for record in registry.changed_since(0)[0]] == [theirs.run]
    assert registry.get(theirs.run) is None
    assert registry.live() == list(registry.all()) == []
    shown = registry.find(theirs.run)
    assert shown is not None
    assert shown.summary().actions == []
    page = pair.one.database.page(PageRequest(0, 10, (shown.key,)))
    assert [(seq, page.more) for _, _, seq, _, _ in page.rows] == [(1, False)]


def test_what_another_hub_changes_and_deletes_is_told(pair: Pair):
    theirs = pair.other.started_run(pid=1)
    assert pair.other.event_log.commit()
    wait_until(lambda: pair.look() == ["net"])
    registry = pair.one.event_log.registry
    change = registry.change
    theirs.name = "renamed"
    pair.other.event_log.registry.mark_changed(theirs)
    assert pair.other.event_log.commit()

    wait_until(lambda: pair.look() == ["renamed"])

    assert [record.name for record in registry.changed_since(change)[0]] == ["renamed"]
    pair.other.event_log.registry.delete(theirs)
    assert pair.other.event_log.commit()
    wait_until(lambda: not pair.look())
    assert registry.deleted_since(change) == [theirs.run]
    assert not registry.was_deleted(theirs.run)


def test_a_run_whose_hub_stores_nothing_more_is_silent(pair: Pair):
    pair.other.started_run(pid=1)
    assert pair.other.event_log.commit()
    wait_until(pair.look)
    (shown,) = pair.one.event_log.registry.others()
    assert shown.state == "starting"

    pair.one.clock.move(QUIET_AFTER_S + 1.0)
    pair.look()

    assert (shown.state, "its hub" in shown.liveness_why) == ("silent", True)


def test_a_run_that_goes_on_at_another_hub_is_kept_by_each_as_far_as_it_was_told(pair: Pair):
    theirs = pair.other.started_run(pid=1)
    pair.other.take(theirs, Sample(t_s=1.0))
    assert pair.other.event_log.commit()
    wait_until(pair.look)

    ours = pair.one.event_log.registry.get_or_add(theirs.run)
    pair.one.event_log.append(ours, [read_event_body(1, encode_event(Sample(t_s=2.0)))])
    assert pair.one.event_log.commit()
    pair.look()

    assert pair.one.event_log.registry.find(theirs.run) is ours
    assert not pair.one.event_log.registry.others()
    for parts, record, n in ((pair.one, ours, 1), (pair.other, theirs, 2)):
        assert len(parts.database.bodies(record.key, 1, 9)) == n


def test_retention_removes_runs_of_its_own_hub_only(pair: Pair):
    for parts in (pair.one, pair.other):
        record = parts.started_run(pid=1)
        parts.take(record, SessionEnded(t_s=1.0, why="finished"))
        assert parts.event_log.commit()
    log, clock = pair.one.event_log, pair.one.clock
    retention = Retention(log, Keep(n_bytes=1), clock, lambda _: False, WallClockCheck(clock))

    for _ in range(9):
        retention.step()
        assert pair.one.event_log.commit()
        pair.one.database.sweep()

    assert retention.removed == 1
    count = "SELECT count(*) FROM events"
    reader = pair.one.database.open_reader()
    assert reader.execute(count).fetchone() == (2,)
    reader.close()
    assert not pair.other.database.is_sweeping()


def test_rows_of_runs_of_several_hubs_are_paged_to_the_end(pair: Pair):
    keys: list[int] = []
    for parts in (pair.one, pair.other):
        record = parts.started_run(pid=1)
        parts.take(record, *(Sample(t_s=float(n)) for n in range(5)))
        assert parts.event_log.commit()
        keys.append(record.key)
    seen: list[tuple[int, int]] = []

    cursor, more = 0, True
    while more:
        page = pair.one.database.page(PageRequest(cursor, 4, tuple(reversed(keys))))
        seen += [(key, seq) for _, key, seq, _, _ in page.rows]
        cursor, more = page.cursor, page.more

    assert seen == [(key, seq) for key in keys for seq in range(1, 7)]


@pytest.fixture
def two_hubs(tmp_path: Path, team_url: str) -> Iterator[list[LiveHub]]:
    """Two hubs' processes, each in its own home, with one history."""
    hubs = [LiveHub(find_folders({"KMONITOR_HOME": str(tmp_path / name)})) for name in ("a", "b")]
    with ExitStack() as stack:
        for hub in hubs:
            hub.start("--store", team_url)
            stack.callback(hub.kill)
        yield hubs


@pytest.mark.slow
def test_a_window_at_one_hub_sees_the_runs_of_both(two_hubs: list[LiveHub]):
    a, b = two_hubs
    with SimulatedAgent(b.folders, name="theirs") as agent:
        agent.start_fit()
        for second in range(30):
            agent.sample(t_s=float(second), ram_bytes=(100 + second) * MIB)
        agent.end_boot()
        agent.wait_acked()
        with a.client() as client:
            told = wait_until(client.runs, what="the run of the other hub")
            wait_until(lambda: [r for r in client.runs() if r.state == "finished"])
            assert [(run.run, run.name, run.is_elsewhere) for run in told] == [
                (agent.run, "theirs", True)
            ]
            assert not told[0].actions
            values = client.series(agent.run, ["ram_bytes"]).columns[0].values
            assert np.frombuffer(values, "<f8")[-1] == 129 * MIB
            assert [row.body for row in client.all_rows(agent.run)] == agent.bodies
            refuses_to_delete(client, agent.run)


def refuses_to_delete(client: HubClient, run: str) -> None:
    """A run of another hub stays."""
    with pytest.raises(HubRefused, match="another of the team's hubs"):
        client.edit(run, delete=True)


@pytest.mark.slow
@pytest.mark.full
def test_nothing_is_lost_when_hub_and_server_die(
    idle_hub: LiveHub, team_url: str, team_server: TeamServer
):
    idle_hub.start("--store", team_url)
    with SimulatedAgent(idle_hub.folders) as agent:
        for _ in range(3):
            for _ in range(300):
                agent.sample()
            team_server.stop(at_once=True)
            for _ in range(300):
                agent.sample()
            idle_hub.kill()
            team_server.start()
            idle_hub.start("--store", team_url)
        agent.wait_acked()
        with idle_hub.client() as client:
            rows = list(client.all_rows(agent.run))

    assert [row.seq for row in rows] == list(range(1, len(agent.bodies) + 1))
    assert [row.body for row in rows] == agent.bodies


@pytest.mark.slow
@pytest.mark.full
def test_nothing_is_lost_while_the_server_comes_and_goes(
    idle_hub: LiveHub, team_url: str, team_server: TeamServer
):
    idle_hub.start("--store", team_url)
    with SimulatedAgent(idle_hub.folders) as agent:
        for turn in range(8):
            for _ in range(200):
                agent.sample()
            match turn % 4:
                case 0:
                    team_server.cut(database_of(team_url))
                case 1:
                    team_server.stop(at_once=True)
                case 2:
                    team_server.freeze()
                case _:
                    team_server.stop()
            for _ in range(200):
                agent.sample()
            if turn % 2:
                team_server.start()
            team_server.thaw()
            agent.wait_acked()
        with idle_hub.client() as client:
            rows = list(client.all_rows(agent.run))
            wait_until(lambda: client.hub().troubles == [], what="no trouble any more")

    assert [row.body for row in rows] == agent.bodies
