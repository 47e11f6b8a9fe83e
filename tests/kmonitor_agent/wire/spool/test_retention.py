"""All spools of a host together stay within their bound; what is confirmed goes first."""

import os
from pathlib import Path
from typing import Never

import pytest

from kmonitor_agent.wire.messages.codec import decode_event, encode_event
from kmonitor_agent.wire.messages.events import EpochEnded, LostEvents
from kmonitor_agent.wire.spool.folder import RunSpool, spooled_bytes, trim_root
from kmonitor_agent.wire.spool.format import encode_record, segment_head, segment_name
from tests.support.links import FACTS, body, epoch


def _spool(root: Path, run: str, *, acked: int, mtime: float, n: int = 20) -> RunSpool:
    folder = root / run
    folder.mkdir()
    for first in (1, n + 1):
        path = folder / segment_name(first)
        records = (encode_record(s, _body(s)) for s in range(first, first + n))
        path.write_bytes(segment_head(FACTS) + b"".join(records))
    spool = RunSpool.acquire(folder)
    assert spool is not None
    spool.mark_acked(acked)
    for path in spool.closed_segments():
        os.utime(path, (mtime, mtime))
    return spool


def _body(seq: int) -> bytes:
    return encode_event(epoch(seq)) if seq % 10 == 0 else body(seq)


def _segments(root: Path) -> list[str]:
    return sorted(f"{p.parent.name}/{int(p.stem)}" for p in root.glob("*/*.events"))


def test_within_the_bound_nothing_is_touched(tmp_path: Path):
    with _spool(tmp_path, "a", acked=40, mtime=1e9) as own:
        assert trim_root(tmp_path, own=own) == 0

    assert _segments(tmp_path) == ["a/1", "a/21"]


def test_the_oldest_confirmed_segments_of_dead_runs_and_own_go_first(tmp_path: Path):
    _spool(tmp_path, "dead", acked=40, mtime=2e9).close()
    _spool(tmp_path, "unsent", acked=0, mtime=1e8).close()
    with (
        _spool(tmp_path, "alive", acked=40, mtime=1e8),
        _spool(tmp_path, "own", acked=20, mtime=1e9) as own,
    ):
        limit = spooled_bytes(tmp_path) - 1

        assert trim_root(tmp_path, own=own, limit_bytes=limit) > 0
        assert "own/1" not in _segments(tmp_path)
        assert trim_root(tmp_path, own=own, limit_bytes=spooled_bytes(tmp_path) - 1) > 0

    left = _segments(tmp_path)
    assert left == ["alive/1", "alive/21", "dead/21", "own/21", "unsent/1", "unsent/21"]


def test_a_hub_trims_without_a_spool_of_its_own(tmp_path: Path):
    _spool(tmp_path, "dead", acked=20, mtime=1e9).close()

    assert trim_root(tmp_path, limit_bytes=0) > 0
    assert _segments(tmp_path) == ["dead/21"]


def test_with_nothing_confirmed_own_samples_go_and_epochs_stay(tmp_path: Path):
    with _spool(tmp_path, "own", acked=0, mtime=1e9) as own:
        freed = trim_root(tmp_path, own=own, limit_bytes=spooled_bytes(tmp_path) - 1)
        events = [decode_event(e.body) for e in own.events()]

        assert freed > 0
        assert len(events) == 40
        assert [e.epoch for e in events if isinstance(e, EpochEnded)] == [10, 20, 30, 40]
        assert sum(isinstance(e, LostEvents) for e in events) == 18
        assert trim_root(tmp_path, own=own, limit_bytes=0) > 0
        assert trim_root(tmp_path, own=own, limit_bytes=0) == 0


def test_a_segment_of_unknown_boot_is_left_as_it_is(tmp_path: Path):
    with _spool(tmp_path, "own", acked=0, mtime=1e9) as own:
        for path in own.closed_segments():
            path.write_bytes(b"\0" + path.read_bytes())

        assert trim_root(tmp_path, own=own, limit_bytes=0) == 0


def test_bodies_that_cannot_be_read_are_not_taken_for_samples(tmp_path: Path):
    folder = tmp_path / "own"
    folder.mkdir()
    path = folder / segment_name(1)
    path.write_bytes(segment_head(FACTS) + encode_record(1, b"\xc1") + encode_record(2, body()))
    own = RunSpool.acquire(folder)
    assert own is not None
    with own:
        assert trim_root(tmp_path, own=own, limit_bytes=0) > 0
        assert next(own.events()).body == b"\xc1"


def test_files_that_vanish_meanwhile_count_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _spool(tmp_path, "dead", acked=0, mtime=1e9).close()

    def gone(_: Path) -> Never:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "lstat", gone)

    assert spooled_bytes(tmp_path) == 0
