"""A full disk still takes the weightiest events, in the room that was kept back for them."""

import errno
import os
from pathlib import Path
from typing import Never

import pytest

from kmonitor_agent.wire.spool.format import (
    RESERVE_NAME,
    SpoolRecord,
    parse_segment,
    segment_name,
    segments_in,
)
from kmonitor_agent.wire.spool.writer import RESERVE_BYTES, DiskReserve
from tests.support.links import FACTS, body, epoch, sample, session_started


class FullDisk:
    """`os.write` on a disk where only what the reserve gives up is free."""

    def __init__(self, folder: Path) -> None:
        self._reserve = folder / RESERVE_NAME
        self._written = 0
        self._write = os.write

    def __call__(self, descriptor: int, data: bytes) -> int:
        free = RESERVE_BYTES - self._reserve.stat().st_size - self._written
        if free <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._written += len(data[:free])
        return self._write(descriptor, data[:free])


@pytest.fixture
def reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskReserve:
    """One in `tmp_path`, on a disk that became full after it was taken."""
    held = DiskReserve(FACTS)
    held.hold(tmp_path)
    monkeypatch.setattr(os, "write", FullDisk(tmp_path))
    return held


def _saved(folder: Path) -> list[int]:
    return [r.seq for p in segments_in(folder) for r in parse_segment(p.read_bytes()).records]


def test_its_blocks_are_really_taken(tmp_path: Path):
    DiskReserve(FACTS).hold(tmp_path)

    found = (tmp_path / RESERVE_NAME).stat()

    assert found.st_blocks * 512 >= RESERVE_BYTES
    assert found.st_mode & 0o777 == 0o600


def test_it_is_given_up_step_by_step_until_nothing_is_left(reserve: DiskReserve, tmp_path: Path):
    while (tmp_path / RESERVE_NAME).stat().st_size:
        reserve.save([SpoolRecord(5 + len(reserve.saved), body() + bytes(1000))])
    with pytest.raises(OSError, match="No space"):
        reserve.save([SpoolRecord(100 + n, bytes(1000)) for n in range(10)])

    assert _saved(tmp_path) == reserve.saved == list(range(5, 5 + len(reserve.saved)))
    assert len(reserve.saved) >= 50


def test_epochs_get_its_first_half_only_and_samples_nothing(reserve: DiskReserve):
    assert not reserve.takes(sample(1))
    assert reserve.takes(epoch(1))

    while reserve.takes(epoch(1)):
        reserve.save([SpoolRecord(len(reserve.saved) + 1, bytes(1000))])

    assert reserve.takes(session_started())
    reserve.save([SpoolRecord(len(reserve.saved) + 1, bytes(1000))])


def test_what_was_saved_comes_back_when_the_disk_refuses_once_more(
    reserve: DiskReserve, tmp_path: Path
):
    reserve.save([SpoolRecord(3, body(3))])

    def refuse() -> Never:
        assert segments_in(tmp_path) == []
        (tmp_path / segment_name(3)).touch()
        raise OSError(errno.ENOSPC, "still full")

    with pytest.raises(OSError, match="still full"), reserve.set_aside():
        refuse()
    assert _saved(tmp_path) == [3]

    with reserve.set_aside():
        pass
    assert segments_in(tmp_path) == []


def test_a_disk_without_room_for_it_leaves_a_run_without(tmp_path: Path):
    without = DiskReserve(FACTS)
    without.hold(tmp_path / "missing")

    with pytest.raises(OSError, match="No such file"):
        without.save([SpoolRecord(1, body(1))])
