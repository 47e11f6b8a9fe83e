"""Starting, finding and ending this user's hub."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from kmonitor.connect import local_hub
from kmonitor.connect import local_hub as connect_local_hub
from kmonitor.connect.hub_client import HubClient, HubRefused, HubUnreachable
from kmonitor.connect.local_hub import (
    HomeUnusable,
    HubDidNotStart,
    disk_space_problem,
    ensure_hub,
    make_hub_folders,
    request_local_hub,
    stop_hub,
)
from kmonitor.hub.lock import HubLock
from kmonitor.hub.service import EXIT_ANOTHER
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import hub_lock_path
from tests.support.waiting import DEADLINE_S

pytestmark = pytest.mark.slow


@pytest.fixture
def folders_left_without_hub(folders: Folders) -> Iterator[Folders]:
    yield folders
    stop_hub(folders)


def test_a_hub_is_started_once_and_found_again(folders_left_without_hub: Folders):
    folders = folders_left_without_hub
    assert request_local_hub(folders) is None

    first = ensure_hub(folders)
    second = ensure_hub(folders)

    assert first.pid == second.pid
    assert first.hub == second.hub
    if os.name == "posix":
        assert folders.logs.stat().st_mode & 0o077 == 0


def test_stop_waits_until_the_process_is_gone(folders: Folders):
    pid = ensure_hub(folders).pid

    assert stop_hub(folders)
    assert request_local_hub(folders) is None
    assert not psutil.pid_exists(pid)


def test_stop_without_a_hub_says_so(folders: Folders):
    assert not stop_hub(folders)


def test_a_folder_that_others_may_enter_is_refused_with_the_remedy(folders: Folders):
    folders.runtime.mkdir(parents=True)
    folders.runtime.chmod(0o755)

    with pytest.raises(HomeUnusable, match="chmod 700"):
        ensure_hub(folders)


def test_what_keeps_a_hub_from_starting_is_passed_on(folders: Folders):
    folders.state.mkdir(parents=True)
    folders.database.write_text("in the way")

    with pytest.raises(HubDidNotStart, match="database"):
        ensure_hub(folders)


def test_a_full_disk_is_told_with_what_to_do(folders: Folders, monkeypatch: pytest.MonkeyPatch):
    folders.state.mkdir(parents=True)
    folders.database.write_text("in the way")
    monkeypatch.setattr(connect_local_hub, "_NEEDED_BYTES", 1 << 62)

    with pytest.raises(HubDidNotStart) as caught:
        ensure_hub(folders)

    assert f"The disk that holds {folders.state} is full" in caught.value.what
    assert "Free some space" in caught.value.remedy


def test_a_log_is_only_named_when_it_tells_something(folders: Folders):
    folders.logs.mkdir(parents=True)
    (folders.logs / "hub.log").symlink_to("/dev/full")

    with pytest.raises(HubDidNotStart, match=r"hub\.log is a symbolic link") as caught:
        ensure_hub(folders)

    assert "hub.log" not in caught.value.remedy


def test_a_disk_with_room_lacks_none(folders: Folders):
    folders.runtime.mkdir(parents=True)

    assert disk_space_problem(folders) == ""


def test_a_folder_that_cannot_be_written_is_named(folders: Folders):
    assert f"{folders.state} is not writable" in disk_space_problem(folders)


@pytest.mark.parametrize("below", ["", "a/b"])
def test_a_home_that_is_a_file_is_named(tmp_path: Path, below: str):
    file = tmp_path / "file"
    file.write_text("")
    folders = find_folders({"KMONITOR_HOME": str(file / below)})

    with pytest.raises(HomeUnusable) as caught:
        ensure_hub(folders)

    assert caught.value.what.startswith(f"{file} is a file;")
    assert "KMONITOR_HOME" in caught.value.remedy


def test_a_home_that_cannot_be_made_is_named():
    with pytest.raises(HomeUnusable, match=r"/proc/kmonitor.* cannot be created"):
        ensure_hub(find_folders({"KMONITOR_HOME": "/proc/kmonitor"}))


def test_no_hub_is_told_as_unreachable(folders: Folders):
    with HubClient(folders=folders, timeout_s=0.2) as one, pytest.raises(HubUnreachable) as caught:
        one.runs()

    assert str(folders.runtime) in caught.value.what


def test_a_refusal_carries_the_hubs_words(folders_left_without_hub: Folders):
    ensure_hub(folders_left_without_hub)
    with (
        HubClient(folders=folders_left_without_hub) as client,
        pytest.raises(HubRefused) as caught,
    ):
        client.series("nobody", ["ram_bytes"])

    assert caught.value.code == "not_found"


def test_two_who_start_it_at_once_get_the_same_hub(folders_left_without_hub: Folders):
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(ensure_hub, [folders_left_without_hub] * 4))

    assert len({one.pid for one in told}) == 1
    hubs = [p for p in psutil.process_iter(["cmdline"]) if _is_hub_of(p, folders_left_without_hub)]
    assert [hub.pid for hub in hubs] == [told[0].pid]


@pytest.mark.exposed
def test_a_hub_that_was_killed_is_replaced(folders_left_without_hub: Folders):
    first = ensure_hub(folders_left_without_hub)
    psutil.Process(first.pid).kill()

    second = ensure_hub(folders_left_without_hub)

    assert second.pid != first.pid
    assert second.hub == first.hub


def test_a_hub_that_still_ends_is_waited_for_and_replaced(
    folders_left_without_hub: Folders, monkeypatch: pytest.MonkeyPatch
):
    folders = folders_left_without_hub
    make_hub_folders(folders)
    ending = HubLock(hub_lock_path(folders))
    start, started = local_hub.start_hub_process, list[int]()

    def start_and_see_it_refused(folders: Folders) -> Any:
        process = start(folders)
        started.append(process.pid)
        if len(started) == 1:
            assert process.wait(DEADLINE_S) == EXIT_ANOTHER
            ending.release()
        return process

    monkeypatch.setattr(local_hub, "start_hub_process", start_and_see_it_refused)

    assert ensure_hub(folders, timeout_s=DEADLINE_S).pid == started[-1]


def _is_hub_of(process: psutil.Process, folders: Folders) -> bool:
    try:
        is_hub = "kmonitor.hub" in process.cmdline()
        return is_hub and process.environ().get("KMONITOR_HOME") == str(folders.state)
    except psutil.Error:
        return False
