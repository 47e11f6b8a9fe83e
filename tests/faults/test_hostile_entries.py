"""Anything may lie where a file of ours is expected: nothing hangs, and no other file changes."""

import os
import shutil
from pathlib import Path

import pytest

from kmonitor_agent.reclaim.checkpoints import SaveRefused
from kmonitor_agent.reclaim.restart.fit_state import CannotResume
from kmonitor_agent.studies.carried_function import FoldsRefused
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.spool.writer import SpoolLocked
from tests.support.hostile_entries import KINDS, SECRET, Kind, Observer
from tests.support.hostile_places import PLACES, RAISED, Place, furnish

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/thread-self/io").exists(), reason="counts by procfs"),
]

HANDLED = (*RAISED, SpoolLocked, FoldsRefused, SaveRefused, CannotResume, ValueError)
MOST_OPENED = 60


def make_other(folder: Path) -> Path:
    """A file of another program, in a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "file"
    path.write_bytes(SECRET)
    path.chmod(0o640)
    return path


@pytest.mark.promise(7)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_nothing_hangs_floods_or_touches_another_file(
    place: Place, folders: Folders, tmp_path: Path
):
    wrong: list[str] = []
    for kind in KINDS:
        if kind.needs_root and os.getuid() != 0:
            continue
        if kind.name == "link to a folder" and place.is_folder:
            continue  # of this user's own: checkpoints may lie on another disk
        shutil.rmtree(folders.state, ignore_errors=True)
        furnish(folders)
        other = make_other(tmp_path / "other")
        wrong += [f"{kind.name}: {what}" for what in faults_of(place, kind, folders, other)]

    assert wrong == [], "\n".join(wrong)


def faults_of(place: Place, kind: Kind, folders: Folders, other: Path) -> list[str]:
    """Faults at a place with such an entry."""
    path = place.path(folders)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    kind.make(path, other)
    wrong: list[str] = []
    n_bytes = n_opened = 0
    for use in place.uses:
        is_strange = path.is_symlink() or (path.exists() and not path.is_file())
        work = Observer().run(lambda use=use: use(folders), unblock=path)
        n_bytes += work.read_bytes
        n_opened += len(work.opened)
        if work.error is not None and not isinstance(work.error, HANDLED):
            wrong.append(f"{work.error!r}")
        is_there = path.is_symlink() or (path.exists() and not path.is_file())
        if is_strange and is_there and not path.is_dir() and str(path) in work.opened:
            wrong.append("it was opened")
    if n_bytes > place.limit_bytes or n_opened > MOST_OPENED:
        wrong.append(f"{n_bytes} bytes of {n_opened} files were read")
    return wrong + changes(other)


def changes(other: Path) -> list[str]:
    """Changes to another program's file and folder."""
    facts = other.stat()
    is_same = (other.read_bytes(), facts.st_mode & 0o777, facts.st_uid) == (
        SECRET,
        0o640,
        os.getuid(),
    )
    beside = sorted(each.name for each in other.parent.iterdir())
    found = [] if is_same else ["another program's file was changed"]
    return found if beside == [other.name] else [*found, f"in another folder are now {beside}"]
