"""Whatever kills the hub: every event is stored once, in order."""

import shutil
import sqlite3
import time

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.local_hub import request_local_hub
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import Sample
from tests.support.links import LinkUnderTest, sample
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

DATABASE_FILES = ("hub.sqlite3", "hub.sqlite3-wal", "hub.sqlite3-shm")


def stored_steps(client: HubClient) -> list[int]:
    events = [decode_event(row.body) for row in client.all_rows("run1")]
    return [event.step for event in events if isinstance(event, Sample)]


def wait_confirmed(link: LinkUnderTest, steps: int, deadline_s: float = DEADLINE_S) -> None:
    """Wait until this many samples, and the session's own event, are confirmed."""
    wait_until(lambda: link.link.status().acked > steps, deadline_s, f"{steps} confirmed")


def emit(link: LinkUnderTest, first: int, count: int) -> None:
    for step in range(first, first + count):
        link.link.emit(sample(step))


def test_five_kills_during_20_000_events_lose_and_repeat_nothing(
    live_hub: LiveHub, folders: Folders
):
    with LinkUnderTest(folders) as link:
        for number in range(5):
            emit(link, number * 4000, 2000)
            before = link.link.status().acked
            wait_until(lambda before=before: link.link.status().acked > before)
            emit(link, number * 4000 + 2000, 2000)
            live_hub.restart()
        wait_confirmed(link, 20_000)
        with live_hub.client() as client:
            steps = stored_steps(client)
            (run,) = client.runs()

    assert steps == list(range(20_000))
    assert run.gaps == 0


def test_a_deleted_database_is_filled_again_from_what_the_agent_keeps(
    live_hub: LiveHub, folders: Folders
):
    with LinkUnderTest(folders) as link:
        emit(link, 0, 3000)
        wait_confirmed(link, 3000)
        live_hub.kill()
        for path in folders.database.iterdir():
            path.unlink()
        live_hub.start()
        emit(link, 3000, 100)
        with live_hub.client() as client:
            wait_until(lambda: 3099 in stored_steps(client))
            steps = stored_steps(client)

    assert steps == list(range(3100))


@pytest.mark.exposed
def test_a_run_whose_home_was_removed_under_it_is_seen_again_with_a_gap(
    live_hub: LiveHub, folders: Folders
):
    with LinkUnderTest(folders) as link:
        emit(link, 0, 100)
        wait_confirmed(link, 100)
        live_hub.kill()
        shutil.rmtree(folders.state)
        live_hub.start()
        emit(link, 100, 1)
        anew = folders.spool.rglob
        wait_until(lambda: any(one.is_file() for one in anew("*")), what="a new spool")
        emit(link, 101, 1)
        with live_hub.client() as client:
            wait_until(lambda: [one.name for one in client.runs()], what="the run")
            wait_until(lambda: {100, 101} <= set(stored_steps(client)))
            (run,) = client.runs()
        assert link.faults.counts() == {}

    assert run.name
    assert run.state == "starting"


def test_a_database_deleted_under_a_living_hub_is_noticed(live_hub: LiveHub, folders: Folders):
    with LinkUnderTest(folders) as link:
        emit(link, 0, 100)
        wait_confirmed(link, 100)
        with live_hub.client() as client:
            before = client.hub().hub
            for name in DATABASE_FILES:
                (folders.database / name).unlink(missing_ok=True)
            wait_until(lambda: client.hub().hub != before, what="a new database")
            emit(link, 100, 1)
            wait_until(lambda: 100 in stored_steps(client))
            steps = stored_steps(client)

    assert steps == list(range(101))


def test_a_database_put_back_from_a_backup_is_filled_up(live_hub: LiveHub, folders: Folders):
    backup = folders.state / "backup"
    with LinkUnderTest(folders) as link:
        emit(link, 0, 500)
        wait_confirmed(link, 500)
        live_hub.stop()
        shutil.copytree(folders.database, backup)
        live_hub.start()
        emit(link, 500, 500)
        wait_confirmed(link, 1000)
        live_hub.kill()
        shutil.rmtree(folders.database)
        shutil.copytree(backup, folders.database)
        live_hub.start()
        emit(link, 1000, 1)
        with live_hub.client() as client:
            wait_until(lambda: 1000 in stored_steps(client))
            steps = stored_steps(client)

    assert steps == list(range(1001))


def test_a_write_ahead_log_cut_in_half_is_filled_up(live_hub: LiveHub, folders: Folders):
    with LinkUnderTest(folders) as link:
        emit(link, 0, 500)
        wait_confirmed(link, 500)
        live_hub.kill()
        log = folders.database / "hub.sqlite3-wal"
        with log.open("r+b") as file:
            file.truncate(log.stat().st_size // 2)
        live_hub.start()
        emit(link, 500, 1)
        with live_hub.client() as client:
            wait_until(lambda: 500 in stored_steps(client))
            steps = stored_steps(client)

    assert steps == list(range(501))


def test_a_damaged_database_is_put_aside_and_filled_again(live_hub: LiveHub, folders: Folders):
    with LinkUnderTest(folders) as link:
        emit(link, 0, 100)
        wait_confirmed(link, 100)
        live_hub.kill()
        for name in DATABASE_FILES[1:]:
            (folders.database / name).unlink(missing_ok=True)
        (folders.database / DATABASE_FILES[0]).write_bytes(b"no database at all" * 500)
        live_hub.start()
        emit(link, 100, 1)
        with live_hub.client() as client:
            wait_until(lambda: 100 in stored_steps(client))
            steps = stored_steps(client)

        told = request_local_hub(folders)
    assert steps == list(range(101))
    (aside,) = folders.database.glob("hub.sqlite3.damaged-*")
    assert told is not None
    assert [str(aside) in trouble for trouble in told.troubles] == [True]
    assert time.strftime("on %Y-%m-%d", time.localtime()) in told.troubles[0]


def test_a_database_damaged_in_its_middle_is_put_aside_and_filled_again(
    live_hub: LiveHub, folders: Folders
):
    with LinkUnderTest(folders) as link:
        emit(link, 0, 3000)
        wait_confirmed(link, 3000)
        live_hub.stop()
        path = folders.database / DATABASE_FILES[0]
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xa5" * (path.stat().st_size - 4096))
        live_hub.start()
        with live_hub.client() as client:
            wait_until(lambda: 2999 in stored_steps(client), what="filled again")
            steps = stored_steps(client)

    assert steps == list(range(3000))
    assert list(folders.database.glob("hub.sqlite3.damaged-*"))


def test_a_row_that_the_hub_does_not_know_of_makes_it_read_all_again(
    live_hub: LiveHub, folders: Folders
):
    with LinkUnderTest(folders) as link:
        emit(link, 0, 10)
        wait_confirmed(link, 10)
        stranger = sqlite3.connect(folders.database / DATABASE_FILES[0])
        with stranger:
            stranger.execute(
                "INSERT INTO events"
                " SELECT row + 1, run_key, seq + 1, t_s, wall_s, kind, body, 0"
                " FROM events ORDER BY row DESC LIMIT 1"
            )
        stranger.close()
        emit(link, 10, 10)
        wait_confirmed(link, 20)
        with live_hub.client() as client:
            rows = list(client.all_rows("run1"))
            pid = client.hub().pid

    assert [row.seq for row in rows] == list(range(1, 22))
    assert pid == live_hub.process.pid
