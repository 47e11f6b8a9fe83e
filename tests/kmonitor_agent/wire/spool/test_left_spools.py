"""A spool whose process is gone without a word differs from one that lives, rests or has ended."""

import shutil
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folder_lock import FolderLock, is_locked
from kmonitor_agent.wire.spool import reader as spool_reader
from kmonitor_agent.wire.spool.reader import is_left, lateness_s, spools_below
from tests.support.spooling import spooling


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return tmp_path / "shared"


@pytest.mark.parametrize(("order", "left"), [("die", True), ("end", False)])
def test_only_a_process_that_died_has_left_its_spool(
    shared: Path,
    order: str,
    left: bool,  # noqa: FBT001 - of the table
):
    with spooling({"KMONITOR_SPOOL": str(shared)}) as process:
        process.tell("20")
        assert not is_left(spools_below(shared)[0])
        process.tell(order)

    assert is_left(spools_below(shared)[0]) is left


def test_nothing_is_concluded_on_a_disk_that_other_machines_see(
    shared: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(spool_reader, "is_on_network_file_system", lambda _path: True)
    with spooling({"KMONITOR_SPOOL": str(shared)}) as process:
        process.tell("20")
        process.tell("die")

    assert not is_left(spools_below(shared)[0])
    assert lateness_s(shared) == 60.0


def test_a_folder_of_very_many_others_is_refused_instead_of_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(spool_reader, "MOST_FOLDERS", 5)
    for number in range(4):
        (tmp_path / str(number)).mkdir()
    assert spools_below(tmp_path) == []
    (tmp_path / "4").mkdir()

    with pytest.raises(OSError, match="more than 5 other folders"):
        spools_below(tmp_path)


def test_a_folder_that_is_gone_was_not_left(shared: Path):
    with spooling({"KMONITOR_SPOOL": str(shared)}) as process:
        process.tell("20")
        process.tell("die")
    (folder,) = spools_below(shared)
    shutil.rmtree(folder)

    assert not is_left(folder)


def test_looking_at_a_lock_lets_others_have_it(tmp_path: Path):
    assert not is_locked(tmp_path)
    lock = FolderLock.acquire(tmp_path)
    assert lock is not None
    assert is_locked(tmp_path)
    lock.release()
    assert not is_locked(tmp_path)
    assert FolderLock.acquire(tmp_path) is not None
