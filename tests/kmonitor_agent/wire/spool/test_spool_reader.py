"""Spools of living processes are read without touching them; each event once."""

import os
import time
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folder_lock import FolderLock
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import LostEvents
from kmonitor_agent.wire.spool.folder import RunSpool
from kmonitor_agent.wire.spool.format import (
    encode_record,
    segment_head,
    segment_name,
    segments_in,
)
from kmonitor_agent.wire.spool.reader import LARGE_GAP, SETTLED_S, SpoolReader, spools_below
from tests.support.links import FACTS, body, flip_byte


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """An empty spool of a run."""
    folder = tmp_path / "spools" / "run1"
    folder.mkdir(parents=True)
    return folder


def write(run: Path, first: int, seqs: range | list[int]) -> Path:
    """A segment whose name promises `first`, with these numbers in it."""
    path = run / segment_name(first)
    path.write_bytes(segment_head(FACTS) + b"".join(encode_record(n, body(n)) for n in seqs))
    return path


def append(path: Path, seqs: range) -> None:
    with path.open("ab") as file:
        file.write(b"".join(encode_record(n, body(n)) for n in seqs))


def settle(path: Path) -> None:
    long_ago_s = time.time() - SETTLED_S - 1
    os.utime(path, (long_ago_s, long_ago_s))


def numbers(tail: SpoolReader, limit: int = 1024) -> list[int]:
    return [event.seq for event in tail.read(limit).events]


def test_what_was_appended_since_is_given_out_once(run: Path):
    path = write(run, 1, range(1, 6))
    tail = SpoolReader(run)

    assert numbers(tail) == [1, 2, 3, 4, 5]
    assert numbers(tail) == []
    append(path, range(6, 9))
    assert numbers(tail) == [6, 7, 8]
    write(run, 9, range(9, 12))
    assert numbers(tail) == [9, 10, 11]
    assert tail.facts == FACTS


def test_a_record_that_is_still_being_written_is_waited_for(run: Path):
    path = write(run, 1, range(1, 4))
    whole = encode_record(4, body(4))
    with path.open("ab") as file:
        file.write(whole[:-3])
    tail = SpoolReader(run)

    assert numbers(tail) == [1, 2, 3]
    with path.open("ab") as file:
        file.write(whole[-3:])
    assert numbers(tail) == [4]


def test_the_lock_of_a_living_process_is_not_asked_for(run: Path):
    write(run, 1, range(1, 4))
    lock = FolderLock.acquire(run)
    assert lock is not None
    before = sorted((p.name, p.stat().st_mtime_ns) for p in run.iterdir())

    assert numbers(SpoolReader(run)) == [1, 2, 3]
    assert sorted((p.name, p.stat().st_mtime_ns) for p in run.iterdir()) == before
    lock.release()


def test_many_events_come_in_pieces(run: Path):
    write(run, 1, range(1, 8))
    write(run, 8, range(8, 12))
    tail = SpoolReader(run)
    pieces = [numbers(tail, limit=3) for _ in range(5)]

    assert [n for piece in pieces for n in piece] == list(range(1, 12))
    assert max(map(len, pieces)) == 3


def test_it_goes_on_behind_what_a_hub_has(run: Path):
    write(run, 1, range(1, 6))
    write(run, 6, range(6, 9))
    tail = SpoolReader(run)
    tail.resume_after(6)

    assert numbers(tail) == [7, 8]
    tail.resume_after(3)
    assert numbers(tail) == [4, 5, 6, 7, 8]


def test_a_hole_that_may_still_fill_is_waited_for_and_else_told_as_lost(run: Path):
    path = write(run, 1, range(1, 6))
    flip_byte(path, len(segment_head(FACTS)) + len(encode_record(1, body(1))) + 20)
    tail = SpoolReader(run)

    assert numbers(tail) == []
    assert "yet" in tail.why_waiting
    settle(path)
    later = SpoolReader(run)
    found = later.read().events
    assert [event.seq for event in found] == [1, 2, 3, 4, 5]
    assert isinstance(decode_event(found[1].body), LostEvents)
    assert later.why_waiting == ""


def test_a_segment_that_was_thinned_meanwhile_is_read_anew(run: Path):
    path = write(run, 1, range(1, 6))
    tail = SpoolReader(run)
    assert numbers(tail) == [1, 2, 3, 4, 5]
    fresh = path.with_suffix(".thin")
    fresh.write_bytes(segment_head(FACTS) + encode_record(2, body(2)) + encode_record(6, body(6)))
    fresh.replace(path)

    assert numbers(tail) == [6]


def test_what_nobody_has_any_more_is_a_jump_when_it_is_much(run: Path):
    write(run, 41, range(41, 43))
    tail = SpoolReader(run)
    piece = tail.read()
    assert (piece.skipped, [e.seq for e in piece.events]) == (40, [41, 42])

    far = 43 + LARGE_GAP + 1
    write(run, far, [far])
    piece = tail.read()
    assert (piece.skipped, [e.seq for e in piece.events]) == (LARGE_GAP + 1, [far])


def test_it_reads_what_the_owner_of_the_spool_reads(run: Path):
    write(run, 1, [1, 2, 5])
    write(run, 8, range(8, 10))
    spool = RunSpool.acquire(run)
    assert spool is not None
    with spool:
        owned = [(event.seq, event.body) for event in spool.events()]

    read = [(event.seq, event.body) for event in SpoolReader(run).read().events]
    assert read == owned


def test_spools_are_found_however_deep_they_lie(tmp_path: Path):
    root = tmp_path / "shared"
    for place in ("ada@gpu-01.slurm-7.rank-0", "ada@gpu-02.slurm-7.rank-1"):
        folder = root / "jobs" / place / "run"
        folder.mkdir(parents=True)
        write(folder, 1, range(1, 3))
    (root / "empty").mkdir()
    (root / "loop").symlink_to(root)

    found = spools_below(root)

    assert [path.parent.name[-6:] for path in found] == ["rank-0", "rank-1"]
    assert spools_below(found[0]) == [found[0]]
    assert segments_in(found[0])
