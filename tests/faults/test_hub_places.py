"""The hub's folder, lock and database: one hub, in a private place, also when it vanishes."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from kmonitor.connect.hub_client import HubUnreachable
from kmonitor.hub.service import EXIT_ANOTHER, EXIT_REFUSED
from kmonitor.hub.store.schema import SCHEMA_VERSION
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import view_socket_path
from tests.support.links import LinkUnderTest, sample
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow


def refusal_of(hub: LiveHub) -> tuple[int, str]:
    process = hub.spawn()
    _, said = process.communicate(timeout=DEADLINE_S)
    return process.returncode, said


def remove_at_once(folder: Path) -> None:
    """So that a hub that looks meanwhile puts nothing into what is being removed."""
    aside = folder.with_name(f"{folder.name}-removed")
    folder.rename(aside)
    shutil.rmtree(aside)


def test_a_second_hub_ends_with_a_clear_message_and_the_first_goes_on(
    live_hub: LiveHub, folders: Folders
):
    second = LiveHub(folders)

    status, said = refusal_of(second)

    assert status == EXIT_ANOTHER
    assert f"process {live_hub.process.pid}" in said
    assert "Traceback" not in said
    with live_hub.client() as client:
        assert client.hub().pid == live_hub.process.pid


@pytest.mark.promise(2)
def test_a_folder_open_to_others_is_refused_with_the_remedy(idle_hub: LiveHub, folders: Folders):
    folders.runtime.mkdir(parents=True)
    folders.runtime.chmod(0o750)

    status, said = refusal_of(idle_hub)

    assert status == EXIT_REFUSED
    assert f"chmod 700 {folders.runtime}" in said


def test_a_linked_folder_is_refused(idle_hub: LiveHub, folders: Folders):
    elsewhere = folders.state / "elsewhere"
    elsewhere.mkdir(parents=True)
    folders.runtime.symlink_to(elsewhere)

    status, said = refusal_of(idle_hub)

    assert status == EXIT_REFUSED
    assert "symbolic link" in said


def test_a_database_of_another_version_is_left_alone(idle_hub: LiveHub, folders: Folders):
    folders.database.mkdir(parents=True)
    path = folders.database / "hub.sqlite3"
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    database.execute("CREATE TABLE of_tomorrow (x)")
    database.close()
    before = path.read_bytes()

    status, said = refusal_of(idle_hub)

    assert status == EXIT_REFUSED
    assert "another version" in said
    assert path.read_bytes() == before


@pytest.mark.promise(2, 22)
def test_sockets_and_database_are_this_users_alone(live_hub: LiveHub, folders: Folders):
    for path in (*folders.runtime.iterdir(), *folders.database.iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_runtime_folder_that_was_cleaned_away_is_made_anew(live_hub: LiveHub, folders: Folders):
    with LinkUnderTest(folders) as link:
        wait_until(lambda: link.link.status().connected)
        remove_at_once(folders.runtime)
        link.link.emit(sample(1))
        wait_until(lambda: view_socket_path(folders).exists(), what="bound anew")
        with live_hub.client() as client:
            wait_until(lambda: client.runs() and client.runs()[0].step == 1)

            assert client.hub().pid == live_hub.process.pid


@pytest.mark.exposed
def test_the_end_on_request_leaves_nothing_uncommitted(live_hub: LiveHub, folders: Folders):
    with LinkUnderTest(folders) as link:
        for step in range(2000):
            link.link.emit(sample(step))
        wait_until(lambda: link.link.status().acked > 0)

        assert live_hub.stop() == 0

        acked = link.link.status().acked
    live_hub.start()
    with live_hub.client() as client:
        assert client.hub().rows >= acked


def test_a_hub_that_is_stopped_answers_no_more(live_hub: LiveHub, folders: Folders):
    with live_hub.client() as client:
        client.hub(stop=True)
    live_hub.process.wait(DEADLINE_S)

    with live_hub.client(timeout_s=0.5) as client, pytest.raises(HubUnreachable):
        client.hub()

    assert live_hub.process.returncode == 0


def test_a_hub_whose_whole_home_was_removed_ends(live_hub: LiveHub, folders: Folders):
    remove_at_once(folders.state)

    assert live_hub.process.wait(DEADLINE_S) == 0
    assert not folders.state.exists()
