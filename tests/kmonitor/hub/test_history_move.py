"""A SQLite history moved to a team's database is the same there, also after an interruption."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kmonitor.cli.hub.store import moved_to
from kmonitor.cli.main import main
from kmonitor.hub import history_move
from kmonitor.hub.lock import AnotherHub, HubLock
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.pages import PageRequest
from kmonitor.hub.store.sample_blocks import next_block
from kmonitor.hub.views.run_columns import RunColumns
from kmonitor_agent.wire.messages.events import Event, Sample, SessionEnded
from tests.support.hub_parts import HubParts
from tests.support.team_server import TeamServer, database_of

pytestmark = pytest.mark.psycopg

Told = list[tuple[int, float, bytes]]


@pytest.fixture
def here(tmp_path: Path) -> HubParts:
    """A history in a file: three runs with events, a packed block, a deletion and an audit."""
    parts = HubParts(tmp_path)
    for n in range(4):
        record = parts.started_run(pid=n + 1)
        events: list[Event] = [Sample(t_s=float(t), ram_bytes=1e9 + t) for t in range(30)]
        parts.take(record, *events, SessionEnded(t_s=30.0, why="finished"))
        assert parts.event_log.commit()
        reader = parts.database.open_reader()
        block = next_block(reader, record.key, 20)
        reader.close()
        assert block is not None
        parts.event_log.add_block(block)
    parts.event_log.audit("me", "note", "run", "net", "done")
    parts.event_log.registry.delete(next(parts.event_log.registry.all()))
    assert parts.event_log.commit()
    while parts.database.sweep():
        pass
    return parts


@pytest.fixture
def moved(here: HubParts, team_url: str) -> Iterator[Callable[[], HubParts]]:
    """Moves the history and opens the result."""
    opened: list[HubParts] = []

    def move() -> HubParts:
        here.database.close()
        moved_to(here.folders, team_url, lambda _number, _of: None)
        opened.append(HubParts(here.folders.database, team_url))
        return opened[-1]

    yield move
    for parts in opened:
        parts.database.close()


def told(parts: HubParts) -> dict[str, Told]:
    """All that is stored of each run."""
    found: dict[str, Told] = {}
    for record in parts.event_log.registry.all():
        page = parts.database.page(PageRequest(0, 1000, (record.key,)))
        found[record.run] = [(seq, t_s, body) for _, _, seq, t_s, body in page.rows]
    return found


def charted(parts: HubParts, record: RunRecord) -> list[float]:
    columns = RunColumns(record.key)
    reader = parts.database.open_reader()
    columns.update(reader, parts.database.head, ["ram_bytes"])
    reader.close()
    return columns.points("ram_bytes")[1].tolist()


def test_all_that_was_in_the_file_is_in_the_team_s_database(
    here: HubParts, moved: Callable[[], HubParts]
):
    before = told(here)
    records = {record.run: record for record in here.event_log.registry.all()}
    charts = {run: charted(here, record) for run, record in records.items()}
    deleted = here.database.deleted_runs()[0][0]

    there = moved()

    assert told(there) == before
    assert len(before) == 3
    for record in there.event_log.registry.all():
        assert charted(there, record) == charts[record.run]
        assert record.accepted == records[record.run].accepted
    assert there.event_log.registry.was_deleted(deleted)
    assert [row.what for row in there.database.audit_rows(0, 9)[0]] == ["note"]


def test_runs_go_on_where_they_were(here: HubParts, moved: Callable[[], HubParts]):
    run = next(here.event_log.registry.all()).run

    there = moved()
    record = there.event_log.registry.get(run)
    assert record is not None
    there.take(record, Sample(t_s=40.0))
    assert there.event_log.commit()
    there.reopen()

    assert [seq for seq, _, _ in told(there)[run]] == list(range(1, 34))
    page = there.database.page(PageRequest(0, 1000, kinds=("sample",)))
    assert page.more
    (last,) = there.database.page(PageRequest(page.cursor, 1000, kinds=("sample",))).rows
    assert last[2:4] == (33, 40.0)


def test_a_move_that_was_interrupted_is_gone_on_with(
    here: HubParts, moved: Callable[[], HubParts], team_url: str, monkeypatch: pytest.MonkeyPatch
):
    before = told(here)
    monkeypatch.setattr(history_move, "_ROWS_AT_ONCE", 7)
    put, puts = history_move.put_events, [0]

    def breaking(*arguments: object) -> None:
        puts[0] += 1
        if puts[0] == 8:
            raise KeyboardInterrupt
        put(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(history_move, "put_events", breaking)
    with pytest.raises(KeyboardInterrupt):
        moved()
    half = HubParts(here.folders.database, team_url)
    assert len(told(half)) == 1
    half.database.close()

    there = moved()

    assert told(there) == before
    again = moved_to(here.folders, team_url, lambda _number, _of: None)
    assert (again.runs, again.before, again.ahead) == (0, 3, 0)


def test_what_arrives_differently_is_not_shown(
    here: HubParts, team_url: str, monkeypatch: pytest.MonkeyPatch
):
    here.database.close()
    put = history_move.put_events
    monkeypatch.setattr(
        history_move,
        "put_events",
        lambda server, rows: put(server, [(*row[:6], row[6][:-1], row[7]) for row in rows]),
    )

    with pytest.raises(history_move.CannotMove, match="differs from the original"):
        moved_to(here.folders, team_url, lambda _number, _of: None)

    half = HubParts(here.folders.database, team_url)
    assert told(half) == {}
    half.database.close()


def test_what_was_deleted_since_does_not_come_back(
    here: HubParts, moved: Callable[[], HubParts], team_url: str
):
    there = moved()
    there.event_log.registry.delete(next(there.event_log.registry.all()))
    assert there.event_log.commit()

    again = moved_to(here.folders, team_url, lambda _number, _of: None)

    assert (again.runs, again.before) == (0, 3)


def test_a_run_that_went_on_in_the_team_s_database_keeps_what_it_has_there(
    here: HubParts, moved: Callable[[], HubParts], team_url: str
):
    run = next(here.event_log.registry.all()).run
    ahead = HubParts(here.folders.database, team_url)
    record = ahead.event_log.registry.get_or_add(run)
    ahead.take(record, Sample(t_s=1.0))
    assert ahead.event_log.commit()
    ahead.database.close()

    there = moved()

    assert len(told(there)) == 3
    assert len(told(there)[run]) == 1


def test_another_history_is_not_moved_to_the_same_place(
    here: HubParts, moved: Callable[[], HubParts], team_url: str
):
    moved()
    here.path.unlink()
    second = HubParts(here.folders.database)
    second.started_run(pid=1)
    assert second.event_log.commit()
    second.database.close()

    with pytest.raises(history_move.CannotMove, match="a different history"):
        moved_to(here.folders, team_url, lambda _number, _of: None)


def test_nothing_is_moved_under_a_hub_that_runs(here: HubParts, team_url: str):
    here.database.close()
    lock = HubLock(here.folders.database / "hub.lock")

    with pytest.raises(AnotherHub):
        moved_to(here.folders, team_url, lambda _number, _of: None)

    lock.release()


def test_a_history_is_moved_from_the_command_line(
    here: HubParts,
    team_url: str,
    team_server: TeamServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    here.database.close()
    home = tmp_path / "home" / "database"
    home.mkdir(parents=True)
    here.path.rename(home / "hub.sqlite3")

    assert main(["hub", "move-history"]) == 2
    assert main(["hub", "move-history", team_url]) == 0
    said = capsys.readouterr().out
    assert "Copied and verified: 3 runs, 96 events." in said
    assert "kmonitor hub store URL" in said
    count = "SELECT count(*) FROM kmonitor.events"
    assert team_server.ask(count, database_of(team_url)) == [(96,)]


def test_a_move_that_is_interrupted_says_how_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kmonitor.cli.hub.store.moved_to", interrupted)

    with pytest.raises(SystemExit) as ended:
        main(["hub", "move-history", "postgresql://db.example/team"])

    assert ended.value.code == 130
    assert "Run it again" in capsys.readouterr().err
