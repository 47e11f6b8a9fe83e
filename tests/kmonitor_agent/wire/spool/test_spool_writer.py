"""Events are on disk when `write` returns, whole or not at all."""

import os
from pathlib import Path
from typing import Never

import pytest

from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.spool.folder import RunSpool
from kmonitor_agent.wire.spool.format import (
    SEGMENT_BYTES,
    SEGMENT_S,
    SpoolRecord,
    segment_name,
    segments_in,
)
from kmonitor_agent.wire.spool.writer import SpoolLocked, SpoolWriter
from tests.support.clock import MovedClock
from tests.support.links import FACTS, body


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def _records(first: int, n: int = 1, size: int = 0) -> list[SpoolRecord]:
    return [SpoolRecord(seq, body(seq) + bytes(size)) for seq in range(first, first + n)]


def _seqs(root: Path) -> list[int]:
    spool = RunSpool.acquire(root / "run1")
    assert spool is not None
    with spool:
        return [event.seq for event in spool.events()]


def test_what_was_written_is_there_without_a_close(root: Path):
    writer = SpoolWriter(root, FACTS, MovedClock())
    spool = writer.open()
    writer.write(_records(1, 3))
    writer.write(_records(4))

    assert [e.seq for e in spool.events()] == [1, 2, 3, 4]
    assert spool.last_seq == 4
    assert writer.n_bytes == sum(p.stat().st_size for p in segments_in(spool.folder))
    writer.close()


def test_folders_and_files_are_for_this_user_only(root: Path):
    writer = SpoolWriter(root, FACTS, MovedClock())
    writer.open()
    writer.write(_records(1))
    writer.close()

    assert root.stat().st_mode & 0o777 == 0o700
    assert (root / "run1").stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in (root / "run1").iterdir()} == {0o600}


def test_a_folder_open_to_others_is_not_written_to(root: Path):
    root.mkdir(mode=0o755)
    writer = SpoolWriter(root, FACTS, MovedClock())

    with pytest.raises(NotPrivate):
        writer.open()
    with pytest.raises(OSError, match="not open"):
        writer.write(_records(1))
    writer.close()


def test_a_second_process_of_the_run_is_kept_out(root: Path):
    first = SpoolWriter(root, FACTS, MovedClock())
    first.open()
    second = SpoolWriter(root, FACTS, MovedClock())

    with pytest.raises(SpoolLocked):
        second.open()

    first.write(_records(1))
    first.close()
    with pytest.raises(SpoolLocked):
        second.open(last_seq=1)
    assert second.open().last_seq == 1
    second.close()


def test_a_folder_that_a_hub_clears_before_it_is_locked_is_made_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    real, cleared = RunSpool.acquire, []

    def take(folder: Path) -> RunSpool | None:
        if not cleared:
            cleared.append(folder)
            folder.rmdir()
        return real(folder)

    monkeypatch.setattr(RunSpool, "acquire", take)
    writer = SpoolWriter(root, FACTS, MovedClock())

    assert writer.open().last_seq == 0
    writer.close()


def test_segments_are_closed_by_size_and_by_age(root: Path):
    clock = MovedClock()
    writer = SpoolWriter(root, FACTS, clock)
    spool = writer.open()
    writer.write(_records(1, 20, size=60_000))
    assert spool.folder / segment_name(1) == spool.active
    writer.write(_records(21))
    clock.move(SEGMENT_S + 1)
    writer.write(_records(22))

    names = [p.name for p in segments_in(spool.folder)]
    assert names == [segment_name(n) for n in (1, 21, 22)]
    assert (spool.folder / segment_name(1)).stat().st_size > SEGMENT_BYTES
    writer.close()
    assert _seqs(root) == list(range(1, 23))


def test_a_new_process_goes_on_in_a_segment_of_its_own(root: Path):
    for first in (1, 4):
        writer = SpoolWriter(root, FACTS, MovedClock())
        assert writer.open().last_seq == first - 1
        writer.write(_records(first, 3))
        writer.close()

    assert _seqs(root) == [1, 2, 3, 4, 5, 6]
    assert len(segments_in(root / "run1")) == 2


def test_an_empty_segment_of_a_process_that_died_at_once_is_replaced(root: Path):
    writer = SpoolWriter(root, FACTS, MovedClock())
    spool = writer.open()
    (spool.folder / segment_name(1)).write_bytes(b"KMSP")
    writer.write(_records(1))
    writer.close()

    assert _seqs(root) == [1]


class _ShortDisk:
    """`os.write` on a disk with this many bytes left."""

    def __init__(self, left: int) -> None:
        self.left = left
        self._write = os.write

    def __call__(self, descriptor: int, data: bytes) -> int:
        n = min(len(data), self.left)
        if n == 0:
            raise OSError(28, "No space left on device")
        self.left -= n
        return self._write(descriptor, data[:n])


def test_a_full_disk_leaves_whole_records_only(root: Path, monkeypatch: pytest.MonkeyPatch):
    writer = SpoolWriter(root, FACTS, MovedClock())
    writer.open()
    writer.write(_records(1, 3))
    path = root / "run1" / segment_name(1)
    whole = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", _ShortDisk(50))
        with pytest.raises(OSError, match="No space"):
            writer.write(_records(4, 3))
        assert path.read_bytes() == whole

    writer.write(_records(4, 3))
    writer.close()
    assert _seqs(root) == [1, 2, 3, 4, 5, 6]


def test_a_disk_too_full_for_a_new_segment_is_tried_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    writer = SpoolWriter(root, FACTS, MovedClock())
    writer.open()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", _ShortDisk(5))
        with pytest.raises(OSError, match="No space"):
            writer.write(_records(1))

    writer.write(_records(1))
    writer.close()
    assert _seqs(root) == [1]


def test_a_segment_that_cannot_be_cut_back_is_left_behind(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> Never:
        raise OSError(30, "Read-only file system")

    writer = SpoolWriter(root, FACTS, MovedClock())
    writer.open()
    writer.write(_records(1, 2))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", _ShortDisk(20))
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(OSError, match="No space"):
            writer.write(_records(3))

    writer.write(_records(3))
    writer.close()
    assert _seqs(root) == [1, 2, 3]
    assert len(segments_in(root / "run1")) == 2


def test_a_child_leaves_the_lock_to_its_parent(root: Path):
    writer = SpoolWriter(root, FACTS, MovedClock())
    writer.open()
    writer.write(_records(1))
    pid = os.fork()
    if pid == 0:
        writer.forget_in_child()
        os._exit(0)
    os.waitpid(pid, 0)

    assert RunSpool.acquire(root / "run1") is None
    writer.write(_records(2))
    writer.close()
    SpoolWriter(root, FACTS, MovedClock()).forget_in_child()
