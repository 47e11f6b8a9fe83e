"""A disk that is full, read-only or damaged: an event says so, and what can be kept is kept."""

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    AnyEvent,
    EpochEnded,
    Footprint,
    LimitCrossed,
    LostEvents,
    Notice,
    Sample,
    SessionEnded,
)
from kmonitor_agent.wire.spool.folder import RunSpool
from kmonitor_agent.wire.spool.format import parse_segment, segments_in
from kmonitor_agent.wire.spool.writer import RESERVE_BYTES
from tests.support.fake_hub import FakeHub
from tests.support.links import LinkUnderTest, body, epoch, flip_byte, sample, spooled_events
from tests.support.waiting import wait_until

CROSSED = LimitCrossed(t_s=3.0, metric="ram", value=2.0, threshold=1.0, action="notify")
ACTED = ActionRecord(
    t_s=4.0,
    action="save",
    ok=False,
    requested_by="script",
    fit=1,
    epoch=1,
    seconds=0.1,
    before=Footprint(),
    why="the disk is full",
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    made = _mount("-t", "tmpfs", "-o", "size=128k,mode=700", "tmpfs", str(place))
    if not made:
        pytest.skip("mounting a small tmpfs needs root")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)  # noqa: S607


def _mount(*arguments: str) -> bool:
    if os.geteuid() != 0:
        return False
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0  # noqa: S607


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def _codes(events: Sequence[AnyEvent]) -> list[str]:
    return [e.code for e in events if isinstance(e, Notice)]


@pytest.mark.slow
def test_a_full_disk_is_told_of_and_loses_nothing_that_memory_holds(
    folders: Folders, small_disk: Path
):
    filler = small_disk / "filler"
    folders = replace(folders, spool=small_disk / "spool")
    with FakeHub(ingest_socket_path(folders)) as hub, LinkUnderTest(folders) as test:
        hub.serve_until(lambda: hub.acked == 1)
        _fill(filler)
        for number in range(200):
            test.link.emit(epoch(number))
        hub.serve_until(lambda: hub.acked == 202)
        assert "No space" in test.link.status().degraded
        filler.unlink()
        test.link.emit(epoch(200))
        wait_until(lambda: not test.link.status().degraded)
        hub.serve_until(lambda: hub.acked == 204)

        assert _codes(hub.events) == ["spool_degraded", "spool_recovered"]
        epochs = [e.epoch for e in hub.events if isinstance(e, EpochEnded)]
        assert epochs == list(range(201))


@pytest.mark.slow
def test_a_disk_that_becomes_read_only_does_not_stop_delivery(folders: Folders, small_disk: Path):
    folders = replace(folders, spool=small_disk / "spool")
    with FakeHub(ingest_socket_path(folders)) as hub, LinkUnderTest(folders) as test:
        hub.serve_until(lambda: hub.acked == 1)
        # A descriptor open for writing keeps a mount from turning read-only; a new process's
        # first write is what meets such a disk.
        test.link.close()
        if not _mount("-o", "remount,ro", str(small_disk)):
            pytest.skip("cannot remount read-only here")
        with LinkUnderTest(folders, run="run2") as second:
            second.link.emit(epoch(1))
            hub.acked = 0
            hub.bodies.clear()
            hub.serve_until(lambda: hub.acked == 3)

        assert "Read-only" in second.link.status().degraded
        assert sorted(hub.kinds()) == ["EpochEnded", "Notice", "SessionStarted"]


@pytest.mark.promise(15)
@pytest.mark.parametrize("hub_is_there", [False, True])
def test_a_run_that_neither_disk_nor_hub_takes_is_told_once_on_standard_error(
    folders: Folders, capfd: pytest.CaptureFixture[str], *, hub_is_there: bool
):
    folders = replace(folders, spool=Path("/proc/kmonitor"))
    with FakeHub(ingest_socket_path(folders)) if hub_is_there else contextlib.nullcontext() as hub:
        with LinkUnderTest(folders) as test:
            if hub is not None:
                hub.serve_until(lambda: hub.acked >= 1)
            wait_until(lambda: test.link.status().degraded)
        assert test.faults.counts() == {}

    told = capfd.readouterr().err.splitlines()
    assert len(told) == (0 if hub_is_there else 1)
    for each in told:
        assert "/proc/kmonitor cannot be written to (No such file" in each
        assert "kmonitor doctor" in each


def test_a_spool_folder_open_to_others_is_not_used(
    folders: Folders, capfd: pytest.CaptureFixture[str]
):
    folders.spool.mkdir(parents=True)
    folders.spool.chmod(0o755)
    with LinkUnderTest(folders) as test:
        wait_until(lambda: test.link.status().degraded)
        assert "accessible to other users" in test.link.status().degraded
        wait_until(lambda: f"chmod 700 {folders.spool}" in capfd.readouterr().err)
        folders.spool.chmod(0o700)
        wait_until(lambda: not test.link.status().degraded)

    assert _codes(spooled_events(folders)) == ["spool_degraded", "spool_recovered"]


def test_a_failing_write_in_the_middle_leaves_no_half_record(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    real = os.write
    broken = threading.Event()

    def write(descriptor: int, data: bytes) -> int:
        if broken.is_set() and len(data) > 8:
            if len(data) < 40:
                raise OSError(28, "No space left on device")
            return real(descriptor, data[:20])
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    with LinkUnderTest(folders) as test:
        wait_until(lambda: test.link.status().last_seq == 1)
        broken.set()
        test.link.emit(sample(1))
        wait_until(lambda: test.link.status().degraded)
        broken.clear()
        wait_until(lambda: not test.link.status().degraded)

    events = spooled_events(folders)
    assert _codes(events) == ["spool_degraded", "spool_recovered"]
    assert not any(isinstance(e, LostEvents) for e in events)


def test_damage_in_a_spool_reaches_the_hub_as_a_gap(folders: Folders):
    with LinkUnderTest(folders) as first:
        for number in range(1, 11):
            first.link.emit(sample(number, t_s=float(number)))
        wait_until(lambda: first.link.status().last_seq == 11)
    path = segments_in(folders.spool / "run1")[0]
    flip_byte(path, path.read_bytes().index(body(5, 5.0)) + 4)
    with (
        FakeHub(ingest_socket_path(folders)) as hub,
        LinkUnderTest(folders, session="session2"),
    ):
        hub.serve_until(lambda: hub.acked == 12)

        lost = decode_event(hub.bodies[6])
        assert isinstance(lost, LostEvents)
        assert (lost.first, lost.last, lost.t_s) == (6, 6, 4.0)
        assert sum(isinstance(e, LostEvents) for e in hub.events) == 1


def test_a_spool_folder_that_vanishes_is_made_anew(folders: Folders):
    with LinkUnderTest(folders) as test:
        test.link.emit(epoch(1))
        wait_until(lambda: test.link.status().last_seq == 2)
        for path in (folders.spool / "run1").iterdir():
            path.unlink()
        test.link.emit(epoch(2))
        wait_until(lambda: test.link.status().last_seq >= 3)

    spool = RunSpool.acquire(folders.spool / "run1")
    assert spool is not None
    spool.close()


def _emit_until_lost(test: LinkUnderTest) -> None:
    """Samples, an epoch, a crossing and an action, on a disk that is full."""
    for step in range(100):  # more than what is left of the segment's last block
        test.link.emit(sample(step, t_s=1.0))
    wait_until(lambda: test.link.status().degraded)
    for event in (sample(100, t_s=2.0), epoch(3), CROSSED, sample(101, t_s=4.0), ACTED):
        test.link.emit(event)
    wait_until(lambda: test.link.status().last_seq == 107)


@pytest.mark.slow
def test_on_a_full_disk_with_no_hub_the_weighty_events_and_the_end_are_kept(
    folders: Folders, small_disk: Path
):
    folders = replace(folders, spool=small_disk / "spool")
    with LinkUnderTest(folders) as test:
        wait_until(lambda: test.link.status().last_seq == 1)
        _fill(small_disk / "filler")
        _emit_until_lost(test)
        test.link.emit(SessionEnded(t_s=5.0, why="finished"))

    events = spooled_events(folders)
    kinds = [type(e).__name__ for e in events if not isinstance(e, LostEvents | Sample)]
    lost = [e for e in events if isinstance(e, LostEvents)]
    assert sorted(kind for kind in kinds if kind != "Notice") == sorted(
        ["SessionStarted", "EpochEnded", "LimitCrossed", "ActionRecord", "SessionEnded"]
    )
    assert _codes(events) == ["spool_degraded", "disk_full"]
    last = [e for e in events if isinstance(e, Notice)][-1]
    assert "No space left" in last.text
    assert f"{len(lost)} events" in last.text
    assert len(lost) >= 3
    assert all("lack of space" in e.why for e in lost)
    assert not (folders.spool / "run1" / "reserve").exists()


@pytest.mark.slow
def test_on_a_full_disk_a_process_that_is_killed_leaves_its_weighty_events(
    folders: Folders, small_disk: Path
):
    folders = replace(folders, spool=small_disk / "spool")
    with LinkUnderTest(folders) as test:
        wait_until(lambda: test.link.status().last_seq == 1)
        _fill(small_disk / "filler")
        _emit_until_lost(test)
        left = [
            decode_event(record.body)
            for path in segments_in(folders.spool / "run1")
            for record in parse_segment(path.read_bytes()).records
        ]

    assert [type(e).__name__ for e in left if not isinstance(e, Notice | Sample)] == [
        "SessionStarted",
        "EpochEnded",
        "LimitCrossed",
        "ActionRecord",
    ]
    assert _codes(left) == ["spool_degraded"]


@pytest.mark.slow
def test_a_disk_that_has_room_again_gets_everything_in_order(folders: Folders, small_disk: Path):
    folders = replace(folders, spool=small_disk / "spool")
    with LinkUnderTest(folders) as test:
        wait_until(lambda: test.link.status().last_seq == 1)
        _fill(small_disk / "filler")
        _emit_until_lost(test)
        (small_disk / "filler").unlink()
        wait_until(lambda: not test.link.status().degraded)
        assert (folders.spool / "run1" / "reserve").stat().st_size == RESERVE_BYTES
        test.link.emit(sample(200, t_s=9.0))

    events = spooled_events(folders)
    assert not any(isinstance(e, LostEvents) for e in events)
    assert [e.step for e in events if isinstance(e, Sample)] == [*range(102), 200]
    assert _codes(events) == ["spool_degraded", "spool_recovered"]
