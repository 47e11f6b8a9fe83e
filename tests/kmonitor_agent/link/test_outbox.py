"""Every number is given once and can be sent again, from memory or disk, or as `Lost`."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

import pytest

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link import outbox as module
from kmonitor_agent.link.outbox import MemoryBuffer, Outbox
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.commands import LimitSpec
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    Event,
    LimitsInForce,
    LostEvents,
    Notice,
    Sample,
    SessionStarted,
)
from kmonitor_agent.wire.spool import folder as spool_folder
from kmonitor_agent.wire.spool.folder import RunSpool
from kmonitor_agent.wire.spool.format import segment_name, segments_in
from kmonitor_agent.wire.spool.writer import SpoolLocked, SpoolWriter
from tests.support.clock import MovedClock
from tests.support.links import FACTS, epoch, flip_byte, sample

LOTS = 10**9


class _Case:
    """An outbox in its own folder, and its messages."""

    def __init__(self, root: Path, ring: MemoryBuffer | None = None) -> None:
        self.told: list[Event] = []
        self.faults = FaultLog()
        self.clock = MovedClock(wall_s=time.time())
        self.folder = root / "run1"
        self.outbox = Outbox(
            SpoolWriter(root, FACTS, self.clock),
            emit=self.told.append,
            now_s=lambda: 7.0,
            faults=self.faults,
            clock=self.clock,
            buffer=ring,
        )

    def events(self, first: int = 1, limit: int = 10_000) -> list[AnyEvent]:
        return [decode_event(b) for b in self.outbox.read(first, limit, LOTS)]

    def steps(self, first: int = 1) -> list[int | str]:
        return [e.step if isinstance(e, Sample) else type(e).__name__ for e in self.events(first)]

    def codes(self) -> list[str]:
        return [e.code for e in self.told if isinstance(e, Notice)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def _opened(root: Path, ring: MemoryBuffer | None = None) -> _Case:
    case = _Case(root, ring)
    assert case.outbox.open()
    return case


def _full(*_: object) -> Never:
    raise OSError(28, "No space left on device")


def _raising(error: OSError) -> Callable[..., Never]:
    def refuse(*_: object, **__: object) -> Never:
        raise error

    return refuse


def test_numbers_begin_at_one_and_have_no_holes(root: Path):
    case = _opened(root)
    case.outbox.append([sample(1), epoch(1)])
    case.outbox.append([])
    case.outbox.append([sample(2)])

    assert (case.outbox.first_seq, case.outbox.last_seq) == (1, 3)
    assert case.steps() == [1, "EpochEnded", 2]
    assert case.steps(first=3) == [2]
    assert case.steps(first=4) == []
    case.outbox.close()


def test_a_batch_is_bounded_by_number_and_by_bytes(root: Path):
    case = _opened(root)
    case.outbox.append([sample(n) for n in range(1, 11)])
    one = len(case.outbox.read(1, 1, LOTS)[0])

    assert len(case.outbox.read(1, 4, LOTS)) == 4
    assert len(case.outbox.read(1, 10, 3 * one)) == 3
    assert len(case.outbox.read(1, 10, 1)) == 1
    case.outbox.close()


def test_old_events_are_read_from_disk_and_new_ones_from_memory(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "HOT_EVENTS", 3)
    case = _opened(root)
    case.outbox.append([sample(n) for n in range(1, 11)])

    assert case.steps() == list(range(1, 11))
    assert case.steps(first=5) == list(range(5, 11))
    case.outbox.close()


def test_a_new_process_goes_on_and_can_send_what_the_old_one_left(root: Path):
    first = _opened(root)
    first.outbox.append([sample(1), sample(2)])
    first.outbox.set_acked(1)
    first.outbox.close()
    second = _opened(root)
    second.outbox.append([sample(3)])

    assert (second.outbox.acked, second.outbox.last_seq) == (1, 3)
    assert second.steps() == [1, 2, 3]
    second.outbox.close()


def test_what_is_unreadable_on_disk_is_sent_as_lost(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "HOT_EVENTS", 0)
    case = _opened(root)
    case.outbox.append([sample(n, t_s=float(n)) for n in range(1, 6)])
    path = segments_in(case.folder)[0]
    data = path.read_bytes()
    flip_byte(path, data.index(case.outbox.read(3, 1, LOTS)[0]) + 2)
    case.outbox.close()
    case = _opened(root)

    assert case.steps() == [1, 2, "LostEvents", 4, 5]
    assert case.steps(first=3) == ["LostEvents", 4, 5]
    case.outbox.close()


def test_what_was_deleted_is_sent_as_lost(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "HOT_EVENTS", 0)
    case = _opened(root)
    case.outbox.append([sample(1), sample(2)])
    (case.folder / segment_name(1)).unlink()

    lost = case.events()
    assert [(e.first, e.last) for e in lost if isinstance(e, LostEvents)] == [(1, 1), (2, 2)]
    case.outbox.close()


def test_a_disk_that_gives_nothing_back_is_asked_again_before_it_counts_as_lost(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "HOT_EVENTS", 0)
    case = _opened(root)
    case.outbox.append([sample(1), sample(2)])
    with monkeypatch.context() as patch:
        patch.setattr(spool_folder, "read_segment", _full)
        for _ in range(module.UNREAD_LIMIT - 1):
            with pytest.raises(OSError, match="No space"):
                case.outbox.read(1, 1, LOTS)
        assert case.steps() == ["LostEvents", "LostEvents"]

    assert case.steps() == [1, 2]
    case.outbox.close()


def test_an_event_that_cannot_be_encoded_keeps_its_place_as_lost(root: Path):
    case = _opened(root)
    odd: Any = object()
    huge = LimitsInForce(t_s=0.0, limits=[LimitSpec(metric="ram", set_by="x" * 70_000)])
    case.outbox.append([sample(1), huge, Sample(t_s=0.0, step=odd), sample(2)])

    assert case.steps() == [1, "LostEvents", "LostEvents", 2]
    assert case.faults.counts() == {"link.outbox.encode": 2}
    case.outbox.close()


def test_a_first_event_that_is_too_large_still_says_which_run_it_is(root: Path):
    case = _opened(root)
    case.outbox.append(
        [SessionStarted(0.0, "b", "run", "host", 1, 5.0, versions={"v": "x" * 70_000}), sample(1)]
    )

    first = case.events()[0]
    assert first == SessionStarted(0.0, "b", "run", "host", 1, 5.0)
    case.outbox.close()


def test_a_refused_event_is_sent_as_lost_with_the_hubs_reason(root: Path):
    case = _opened(root)
    case.outbox.append([sample(1), sample(2)])
    case.outbox.replace(2, "poison")

    lost = case.events()[1]
    assert isinstance(lost, LostEvents)
    assert (lost.first, lost.why) == (2, "poison")
    case.outbox.close()


def test_memory_of_refused_events_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "REPLACED_LIMIT", 1)
    case = _opened(root)
    case.outbox.append([sample(1), sample(2)])
    case.outbox.replace(1, "poison")
    case.outbox.replace(2, "poison")

    assert case.steps() == [1, "LostEvents"]
    case.outbox.close()


def test_a_full_disk_degrades_to_memory_says_so_once_and_recovers(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    case = _opened(root)
    case.outbox.append([sample(1)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", _full)
        case.outbox.append([sample(2)])
        case.outbox.append([epoch(1)])
        case.outbox.retry()
        case.outbox.save_mark()

        assert case.outbox.degraded == "No space left on device"
        assert case.codes() == ["spool_degraded"]
        assert case.steps() == [1, 2, "EpochEnded"]

    case.outbox.retry()
    case.outbox.append([sample(3)])
    assert case.outbox.degraded == ""
    assert case.codes() == ["spool_degraded", "spool_recovered"]
    case.outbox.close()
    again = _opened(root)
    assert again.steps() == [1, 2, "EpochEnded", 3]
    again.outbox.close()


def test_when_memory_is_full_too_samples_are_lost_and_epochs_are_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    case = _opened(root, MemoryBuffer(limit_bytes=200))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", _full)
        case.outbox.append([epoch(1)])
        case.outbox.append([sample(n) for n in range(20)])
        case.outbox.append([epoch(2)])
    case.outbox.retry()
    told = case.told[-1]

    assert isinstance(told, Notice)
    assert "dropped" in told.text
    steps = case.steps()
    assert len(steps) == 22
    assert steps[0] == steps[-1] == "EpochEnded"
    assert steps[1] == "LostEvents"
    assert steps[-2] == 19
    case.outbox.close()


def test_lost_samples_at_the_very_end_are_lost_events(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "write", _full)
    case = _opened(root, MemoryBuffer(limit_bytes=0))
    case.outbox.append([sample(1), sample(2)])

    assert case.steps() == ["LostEvents", "LostEvents"]
    case.outbox.close()


def test_what_a_hub_confirmed_needs_no_memory_any_more(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    ring = MemoryBuffer()
    monkeypatch.setattr(os, "write", _full)
    case = _opened(root, ring)
    case.outbox.append([sample(1), sample(2)])
    case.outbox.set_acked(1)

    assert len(ring) == 1
    assert case.outbox.first_seq == 2
    case.outbox.close()


def test_a_folder_that_cannot_be_made_leaves_memory_until_it_can(tmp_path: Path):
    root = tmp_path / "spool"
    root.write_text("in the way")
    case = _opened(root)
    case.outbox.append([sample(1)])
    case.outbox.tidy()
    case.outbox.save_mark()

    assert case.outbox.folder is None
    assert case.steps() == [1]
    assert case.outbox.spooled_bytes == 0

    case.outbox.retry()
    assert case.outbox.degraded
    root.unlink()
    case.outbox.retry()
    assert case.outbox.folder == root / "run1"
    case.outbox.append([sample(2)])
    case.outbox.close()

    again = _opened(root)
    assert again.steps() == [1, 2]
    again.outbox.close()


def test_numbers_are_not_mixed_with_those_of_a_process_that_holds_the_spool(root: Path):
    first = _opened(root)
    first.outbox.append([sample(1)])
    second = _Case(root)
    assert not second.outbox.open()
    second.outbox.open_without_disk(SpoolLocked("held"))
    second.outbox.append([sample(9)])
    first.outbox.close()
    second.outbox.retry()

    assert second.outbox.degraded == "held"
    assert second.steps() == [9]
    second.outbox.close()
    spool = RunSpool.acquire(root / "run1")
    assert spool is not None
    with spool:
        assert spool.last_seq == 1


def test_a_disk_that_lets_nothing_go_is_told_once_and_is_no_fault_of_ours(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    case = _opened(root)

    for error in (OSError(30, "Read-only file system"), OSError(5, "Input/output error")):
        monkeypatch.setattr(module, "trim_root", _raising(error))
        case.outbox.tidy()
        case.outbox.tidy()
    assert case.codes() == ["spool_kept", "spool_kept"]
    assert [error in str(case.told[-1]) for error in ("Input/output", str(root))] == [True, False]

    monkeypatch.setattr(module, "trim_root", lambda *_, **__: 0)
    case.outbox.tidy()
    monkeypatch.setattr(module, "trim_root", _raising(OSError(5, "Input/output error")))
    case.outbox.tidy()

    assert case.codes() == ["spool_kept"] * 3
    assert not case.faults.counts()
    case.outbox.close()


def test_a_disk_that_refuses_the_spool_is_not_told_of_twice(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    case = _opened(root)
    monkeypatch.setattr(SpoolWriter, "write", _raising(OSError(30, "Read-only file system")))
    case.outbox.append([sample(1)])
    monkeypatch.setattr(module, "trim_root", _raising(OSError(30, "Read-only file system")))
    case.outbox.tidy()

    assert case.codes() == ["spool_degraded"]
    assert not case.faults.counts()
    case.outbox.close()


def test_confirmed_events_are_cleared_after_a_day_but_for_the_open_segment(root: Path):
    first = _opened(root)
    first.outbox.append([sample(1), sample(2)])
    first.outbox.close()
    case = _opened(root)
    case.outbox.append([sample(3)])
    case.outbox.set_acked(3)
    case.outbox.tidy()
    assert case.outbox.first_seq == 1
    written = case.outbox.spooled_bytes

    case.clock.jump_wall(1e9)
    case.outbox.tidy()
    assert case.outbox.first_seq == 1, "a clock that stepped is not believed at once"
    for _ in range(49):
        case.clock.move(1800.0)
        case.outbox.tidy()

    assert case.outbox.first_seq == 3
    assert case.outbox.spooled_bytes < written
    case.outbox.close()


def _broken(*_: object) -> Never:
    raise OSError(9, "Bad file descriptor")


@pytest.mark.parametrize(
    ("write", "faults"),
    [(_full, {}), (_broken, {"link.outbox.close": 1})],
    ids=["full-disk", "fault"],
)
def test_a_mark_that_cannot_be_written_is_a_fault_only_where_the_disk_did_not_refuse(
    root: Path, monkeypatch: pytest.MonkeyPatch, write: object, faults: dict[str, int]
):
    case = _opened(root)
    case.outbox.append([sample(1)])
    case.outbox.set_acked(1)
    monkeypatch.setattr(os, "write", write)
    case.outbox.close()

    assert case.faults.counts() == faults
