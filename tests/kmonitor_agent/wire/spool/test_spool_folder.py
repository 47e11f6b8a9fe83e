"""A run's spool as its owner reads, confirms and clears it."""

import os
from pathlib import Path
from typing import Never

import pytest

from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import LostEvents
from kmonitor_agent.wire.spool import folder as spool_folder
from kmonitor_agent.wire.spool.folder import (
    ACKED_NAME,
    KEEP_ACKED_S,
    RunSpool,
    SpooledEvent,
    event_time_s,
    spooled_runs,
)
from kmonitor_agent.wire.spool.format import (
    SessionFacts,
    encode_record,
    segment_head,
    segment_name,
)
from tests.support.links import FACTS, body, flip_byte

LATER = SessionFacts(run="run1", session="session2", host="here", pid=2, started_wall_s=1.9e9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run1"
    folder.mkdir(mode=0o700)
    return folder


def _write(folder: Path, first: int, last: int, facts: SessionFacts = FACTS) -> Path:
    path = folder / segment_name(first)
    records = (encode_record(seq, body(seq, float(seq))) for seq in range(first, last + 1))
    path.write_bytes(segment_head(facts) + b"".join(records))
    return path


def _own(folder: Path) -> RunSpool:
    spool = RunSpool.acquire(folder)
    assert spool is not None
    return spool


def _seqs(spool: RunSpool, after: int = 0) -> list[int]:
    return [event.seq for event in spool.events(after)]


def test_events_come_in_order_over_all_segments(folder: Path):
    _write(folder, 4, 6, LATER)
    _write(folder, 1, 3)

    with _own(folder) as spool:
        assert _seqs(spool) == [1, 2, 3, 4, 5, 6]
        assert next(spool.events(4)) == SpooledEvent(5, body(5, 5.0), LATER)
        assert _seqs(spool, after=6) == []
        assert spool.sessions() == [FACTS, LATER]
        assert (spool.run, spool.first_seq, spool.last_seq, spool.acked) == ("run1", 1, 6, 0)


def test_an_empty_folder_is_a_run_without_events(folder: Path):
    with _own(folder) as spool:
        assert _seqs(spool) == []
        assert (spool.first_seq, spool.last_seq) == (1, 0)
        assert spool.sessions() == []


def test_a_living_owner_keeps_others_out(folder: Path):
    with _own(folder):
        assert RunSpool.acquire(folder) is None

    _own(folder).close()


def test_a_torn_tail_is_cut_by_the_next_owner(folder: Path):
    path = _write(folder, 1, 3)
    whole = path.stat().st_size
    with path.open("ab") as segment:
        segment.write(encode_record(4, body(4))[:-3])

    with _own(folder) as spool:
        assert _seqs(spool) == [1, 2, 3]

    assert path.stat().st_size == whole


def test_damage_in_the_middle_is_a_lost_event_at_the_time_before(folder: Path):
    path = _write(folder, 1, 5)
    flip_byte(path, path.read_bytes().index(body(3, 3.0)) + 3)

    with _own(folder) as spool:
        events = list(spool.events())

    assert [e.seq for e in events] == [1, 2, 3, 4, 5]
    lost = decode_event(events[2].body)
    assert isinstance(lost, LostEvents)
    assert (lost.first, lost.last, lost.t_s) == (3, 3, 2.0)
    assert events[3].body == body(4, 4.0)


def test_damage_is_seen_also_when_reading_begins_right_behind_it(folder: Path):
    path = _write(folder, 1, 4)
    flip_byte(path, path.read_bytes().index(body(3, 3.0)) + 3)

    with _own(folder) as spool:
        first = next(spool.events(2))

    assert first.seq == 3
    assert isinstance(decode_event(first.body), LostEvents)


def test_a_missing_segment_is_lost_events_of_the_next_boot(folder: Path):
    _write(folder, 1, 2)
    _write(folder, 5, 6, LATER)

    with _own(folder) as spool:
        events = list(spool.events())

    assert [e.seq for e in events] == [1, 2, 3, 4, 5, 6]
    assert all(isinstance(decode_event(e.body), LostEvents) for e in events[2:4])
    assert [decode_event(e.body).t_s for e in events[2:4]] == [0.0, 0.0]
    assert events[2].facts == LATER


def test_what_is_gone_at_the_beginning_is_left_to_the_reader(folder: Path):
    _write(folder, 5, 6)

    with _own(folder) as spool:
        assert _seqs(spool, after=1) == [5, 6]
        assert spool.first_seq == 5


def test_the_confirmed_mark_is_kept_and_can_go_back(folder: Path):
    _write(folder, 1, 5)
    with _own(folder) as spool:
        spool.mark_acked(4)
    with _own(folder) as spool:
        assert spool.acked == 4
        spool.mark_acked(2)
    with _own(folder) as spool:
        assert spool.acked == 2


@pytest.mark.parametrize("damage", [b"", b"short", bytes(11) + b"x"])
def test_a_damaged_mark_means_that_nothing_is_confirmed(folder: Path, damage: bytes):
    (folder / ACKED_NAME).write_bytes(damage)

    with _own(folder) as spool:
        assert spool.acked == 0


def test_numbers_go_on_behind_the_mark_when_the_events_are_gone(folder: Path):
    _write(folder, 1, 5)
    with _own(folder) as spool:
        spool.mark_acked(5)
        assert spool.expire(2e12) > 0
        assert (spool.first_seq, spool.last_seq) == (6, 5)

    with _own(folder) as spool:
        assert spool.last_seq == 5


def test_confirmed_events_stay_for_a_day_from_their_confirmation(folder: Path):
    path = _write(folder, 1, 5)
    os.utime(path, (1e9, 1e9))
    _write(folder, 6, 8)
    with _own(folder) as spool:
        spool.mark_acked(6)
        now_s = path.stat().st_mtime

        assert now_s > 1.5e9
        assert spool.expire(now_s + KEEP_ACKED_S - 60) == 0
        assert spool.expire(now_s + KEEP_ACKED_S + 60) > 0
        assert _seqs(spool) == [6, 7, 8]


def test_the_segment_that_is_written_is_never_deleted(folder: Path):
    path = _write(folder, 1, 5)
    with _own(folder) as spool:
        spool.active = path
        spool.mark_acked(5)

        assert spool.expire(2e12) == 0
        assert spool.closed_segments() == []


def test_a_cleared_run_leaves_no_folder(folder: Path):
    _write(folder, 1, 5)
    spool = _own(folder)

    assert not spool.remove_if_empty()

    spool.mark_acked(5)
    spool.expire(2e12)
    assert spool.remove_if_empty()
    assert not folder.exists()


def test_where_open_files_cannot_be_deleted_the_lock_is_closed_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    _write(folder, 1, 5)
    spool = _own(folder)
    spool.mark_acked(5)
    spool.expire(2e12)
    unlink = Path.unlink

    def as_on_windows(path: Path, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002
        if path.name == "lock" and spool.is_locked():
            raise PermissionError(13, "it is open")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", as_on_windows)
    with pytest.raises(PermissionError):
        spool.remove_if_empty()
    monkeypatch.setattr(spool_folder, "OPEN_FILES_CAN_GO", False)

    assert spool.remove_if_empty()
    assert not folder.exists()


def test_files_of_ours_are_for_this_user_only(folder: Path):
    _write(folder, 1, 2)
    with _own(folder) as spool:
        spool.mark_acked(1)

    modes = {p.name: p.stat().st_mode & 0o777 for p in folder.iterdir()}
    assert modes["acked"] == modes["lock"] == 0o600


def test_an_unreadable_folder_frees_its_lock(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(_: object) -> Never:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(RunSpool, "_cut_torn_tail", refuse)
        with pytest.raises(OSError, match="Input/output"):
            RunSpool.acquire(folder)

    _own(folder).close()


def test_runs_are_the_folders_below_the_root(tmp_path: Path, folder: Path):
    (tmp_path / "a file").touch()
    (tmp_path / "link").symlink_to(folder)

    assert spooled_runs(tmp_path) == [folder]
    assert spooled_runs(tmp_path / "nowhere") == []


def test_the_time_of_no_event_is_zero():
    assert event_time_s(b"nonsense") == 0.0
