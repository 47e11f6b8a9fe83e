"""`kmonitor doctor --verify` compares every stored event with its checksum."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kmonitor.cli.doctor.command import verify_store
from kmonitor.cli.main import main
from kmonitor.hub.store.database import DATABASE_NAME
from kmonitor.hub.store.store_choice import write_store
from kmonitor_agent.wire.local.folders import Folders, find_folders
from tests.support.hub_parts import HubParts, on_both_stores
from tests.support.links import flip_byte, sample


@pytest.fixture
def stored(parts: HubParts, tmp_path: Path) -> Folders:
    """Folders whose hub stored a hundred samples."""
    folders = replace(parts.folders, settings=tmp_path / "settings")
    write_store(folders, parts.store) if parts.store else None
    record = parts.started_run(pid=os.getpid())
    parts.take(record, *(sample(n) for n in range(100)))
    assert parts.event_log.commit()
    return folders


@on_both_stores
def test_sound_events_are_counted(stored: Folders):
    found = verify_store(stored)

    assert (found.state, found.found) == ("ok", "101 are intact")


@on_both_stores
def test_damaged_events_are_counted(parts: HubParts, stored: Folders):
    parts.spoil("UPDATE events SET t_s = t_s + 1 WHERE seq IN (7, 8)")

    found = verify_store(stored)

    assert (found.state, found.found) == ("bad", "2 are damaged; 99 are intact")
    assert "kmonitor hub status" in found.remedy


def test_a_damaged_page_is_named(parts: HubParts, stored: Folders, tmp_path: Path):
    copy = tmp_path / "copy"
    parts.database.close()
    shutil.copytree(stored.database, copy, ignore=shutil.ignore_patterns("copy"))
    parts.open()
    flip_byte(copy / DATABASE_NAME, 3 * 4096 + 3)

    found = verify_store(replace(stored, database=copy))

    assert found.state == "bad"
    assert "malformed" in found.found or "damaged" in found.found


def test_without_history_there_is_nothing_to_verify(capsys: pytest.CaptureFixture[str]):
    assert main(["doctor", "--verify"]) == 0
    assert "none yet" in capsys.readouterr().out
    assert not find_folders().database.exists()
