"""A team's database: what is acknowledged is durable, whatever happens to the connection."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.connection import StoreOutOfSync, StoreUnavailable
from kmonitor.hub.store.pages import PageRequest
from kmonitor.hub.store.postgresql import server
from kmonitor.hub.store.postgresql.server import BoundedConnection, TakenOver, WritingConnection
from kmonitor.hub.store.postgresql.team_database import TeamDatabase
from kmonitor_agent.wire.messages.events import Sample
from tests.support.hub_parts import HubParts
from tests.support.team_server import TeamServer, database_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.psycopg


@pytest.fixture
def team(tmp_path: Path, team_url: str) -> Iterator[HubParts]:
    """A hub's parts on a team's database."""
    parts = HubParts(tmp_path, team_url)
    yield parts
    parts.database.close()


def committed(parts: HubParts) -> None:
    """Commit as the hub's loop does, again and again until it succeeds."""

    def is_done() -> bool:
        parts.clock.move(2.0)
        return parts.event_log.commit()

    wait_until(is_done, what="the commit succeeds")


@contextmanager
def away() -> Iterator[None]:
    """The server is away for as long as this lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WritingConnection, "_current", lambda _self: raise_away())
        yield


def raise_away() -> None:
    raise StoreUnavailable("away")


def seqs(parts: HubParts, record: RunRecord) -> list[int]:
    """Numbers of a run's events as they are stored, in the order of their rows."""
    page = parts.database.page(PageRequest(0, 1000, (record.key,)))
    return [seq for _, _, seq, _, _ in page.rows]


@pytest.fixture
def answer_is_lost(
    team: HubParts, team_server: TeamServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """Have the next commit be made, and the connection break before its answer comes."""
    execute = BoundedConnection.execute
    is_due = [False]

    def losing(
        connection: BoundedConnection, statement: Any, *values: Any, **options: Any
    ) -> object:
        found = execute(connection, statement, *values, **options)
        if statement == "COMMIT" and is_due[0]:
            is_due[0] = False
            team_server.cut(database_of(team.store))
            execute(connection, "SELECT 1")
        return found

    monkeypatch.setattr(BoundedConnection, "execute", losing)

    def next_time() -> None:
        is_due[0] = True

    return next_time


def test_what_comes_while_the_server_is_away_is_kept_and_stored_once(
    team: HubParts, team_server: TeamServer, caplog: pytest.LogCaptureFixture
):
    record = team.started_run(pid=1)
    committed(team)
    team_server.stop(at_once=True)
    team.take(record, Sample(t_s=1.0))

    assert not team.event_log.commit()
    assert "cannot be reached" in team.event_log.trouble
    assert "cannot be reached" in team.database.lasting_trouble()
    assert team.event_log.confirmed(record) == 1
    team.take(record, Sample(t_s=2.0))
    team_server.start()
    committed(team)

    assert team.event_log.trouble == team.database.lasting_trouble() == ""
    assert team.event_log.confirmed(record) == 3
    assert seqs(team, record) == [1, 2, 3]
    caplog.clear()


def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    team: HubParts, answer_is_lost: Callable[[], None], caplog: pytest.LogCaptureFixture
):
    record = team.started_run(pid=1)
    committed(team)
    team.take(record, Sample(t_s=1.0))
    team.event_log.audit("me", "note", record.run, "net", "done")
    answer_is_lost()

    assert not team.event_log.commit()
    assert team.event_log.confirmed(record) == 1
    team.take(record, Sample(t_s=2.0))
    team.event_log.audit("me", "pin", record.run, "net", "done")
    committed(team)

    assert seqs(team, record) == [1, 2, 3]
    assert [row.what for row in team.database.audit_rows(0, 10)[0]] == ["pin", "note"]
    team.reopen()
    assert seqs(team, record) == [1, 2, 3]
    caplog.clear()


def test_a_deletion_that_was_told_as_refused_is_taken_back(
    team: HubParts, answer_is_lost: Callable[[], None], caplog: pytest.LogCaptureFixture
):
    record = team.started_run(pid=1)
    committed(team)
    registry = team.event_log.registry
    answer_is_lost()

    is_done = team.event_log.attempt(
        lambda: registry.delete(record),
        lambda: registry.restore(record),
        [("me", "delete", record.run, "net", "done")],
    )
    committed(team)
    while team.database.sweep():
        pass

    assert not is_done
    team.reopen()
    assert team.event_log.registry.get(record.run) is not None
    assert not team.event_log.registry.was_deleted(record.run)
    assert seqs(team, record) == [1]
    caplog.clear()


def test_a_server_that_hangs_holds_the_hub_up_for_a_bounded_time(
    team: HubParts,
    team_server: TeamServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    record = team.started_run(pid=1)
    committed(team)
    assert isinstance(team.database, TeamDatabase)
    with team.database.server.in_use() as connection:
        connection.within_s = 0.2
    team.take(record, Sample(t_s=1.0))
    team_server.freeze()
    try:
        assert not team.event_log.commit()
        assert "did not respond within" in team.event_log.trouble
    finally:
        team_server.thaw()
    committed(team)

    assert seqs(team, record) == [1, 2]
    caplog.clear()


def test_a_commit_that_a_hanging_server_makes_late_is_not_made_twice(
    team: HubParts,
    team_server: TeamServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    record = team.started_run(pid=1)
    committed(team)
    execute, look_again = BoundedConnection.execute, TeamDatabase.check_commit
    hanging: list[psutil.Process] = []

    def hangs_at_commit(
        connection: BoundedConnection, statement: Any, *values: Any, **options: Any
    ) -> object:
        if statement == "COMMIT" and not hanging:
            hanging.append(psutil.Process(connection.info.backend_pid))
            hanging[0].suspend()
            connection.within_s = 0.2
        return execute(connection, statement, *values, **options)

    def goes_on_meanwhile(*arguments: Any) -> None:
        threading.Timer(0.3, hanging[0].resume).start()
        look_again(*arguments)

    monkeypatch.setattr(BoundedConnection, "execute", hangs_at_commit)
    monkeypatch.setattr(TeamDatabase, "check_commit", goes_on_meanwhile)
    team.take(record, Sample(t_s=1.0))

    assert not team.event_log.commit()
    team.take(record, Sample(t_s=2.0))
    committed(team)

    assert seqs(team, record) == [1, 2, 3]
    caplog.clear()


def test_no_more_is_taken_than_can_be_kept(
    team: HubParts,
    team_server: TeamServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    monkeypatch.setattr("kmonitor.hub.runs.hub_event_log.MAX_PENDING_BYTES", 2000)
    record = team.started_run(pid=1)
    committed(team)
    team_server.cut(database_of(team.store))
    for n in range(20):
        team.take(record, Sample(t_s=float(n)))
    team.event_log.commit()

    assert team.event_log.is_full
    committed(team)
    assert not team.event_log.is_full
    assert seqs(team, record) == list(range(1, 22))
    caplog.clear()


def test_a_hub_tells_of_itself_while_the_server_is_away(
    team: HubParts, team_server: TeamServer, caplog: pytest.LogCaptureFixture
):
    team_server.cut(database_of(team.store))

    assert team.database.size_bytes() == 0
    with away():
        assert team.database.size_bytes() == 0
    caplog.clear()


def test_hours_without_the_server_take_no_more_memory_than_the_runs(
    team: HubParts, caplog: pytest.LogCaptureFixture
):
    record = team.started_run(pid=1)
    committed(team)
    for _ in range(50):
        team.event_log.registry.mark_changed(record)
        with away():
            assert not team.event_log.commit()
        team.clock.move(2.0)

    assert len(team.event_log.pending.runs) == 1
    caplog.clear()


def test_questions_are_answered_again_once_the_server_is_back(
    team: HubParts, team_server: TeamServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server, "_AGAIN_S", 0.0)
    team.started_run(pid=1)
    committed(team)
    reader = team.database.open_reader()
    assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
    team_server.cut(database_of(team.store))

    def answer() -> object:
        try:
            return reader.execute("SELECT count(*) FROM events").fetchone()
        except StoreUnavailable:
            return None

    assert wait_until(answer, what="an answer") == (1,)
    reader.close()


def test_a_hub_with_a_copied_identity_takes_over_and_the_other_one_ends(
    team: HubParts, tmp_path: Path
):
    record = team.started_run(pid=1)
    committed(team)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "team-hub-id").write_bytes((tmp_path / "team-hub-id").read_bytes())
    second = HubParts(copy, team.store)
    team.take(record, Sample(t_s=1.0))

    with pytest.raises(TakenOver, match="team-hub-id"):
        team.event_log.commit()

    again = second.event_log.registry.get(record.run)
    assert again is not None
    second.take(again, Sample(t_s=1.0))
    assert second.event_log.commit()
    second.database.close()


def test_a_database_put_back_to_an_older_state_is_read_anew(
    team: HubParts, team_server: TeamServer, caplog: pytest.LogCaptureFixture
):
    record = team.started_run(pid=1)
    committed(team)
    name = database_of(team.store)
    team_server.ask("UPDATE kmonitor.hubs SET commits = commits - 1", name)
    team_server.cut(name)
    team.take(record, Sample(t_s=1.0))

    with pytest.raises(StoreOutOfSync):
        committed(team)
    caplog.clear()


def test_a_name_that_a_server_cannot_hold_is_still_written_down(team: HubParts):
    team.event_log.audit("me", "rename", "run", "a\0b", "done")
    committed(team)

    (row,) = team.database.audit_rows(0, 10)[0]
    assert row.subject == "a\ufffdb"
