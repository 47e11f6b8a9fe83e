"""Traces of a window that ends badly, and their use at the next start."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.ui.shell.crash_reports import CrashReportHandler, find_crash_reports

FAULT = 'Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  File "a"\n'


@pytest.fixture
def trail(tmp_path: Path) -> Iterator[CrashReportHandler]:
    made = CrashReportHandler(tmp_path)
    yield made
    made.close()


def say(trail: CrashReportHandler, text: str) -> None:
    trail.handle(logging.LogRecord("kmonitor", logging.INFO, "x", 1, text, (), None))


def left_by_a_dead_one(folder: Path, *, fault: str) -> Path:
    path = folder / "window-20261122-100000-1.trail"
    path.write_text(f"kmonitor crash report\n\nWhat:\nWhen:  now\n  a line\n\n{fault}")
    return path


def test_a_window_that_is_closed_leaves_nothing(tmp_path: Path, trail: CrashReportHandler):
    say(trail, "all is well")
    trail.close()

    assert list(tmp_path.iterdir()) == []
    assert find_crash_reports(tmp_path) == []


def test_the_trail_of_a_living_window_is_left_alone(tmp_path: Path, trail: CrashReportHandler):
    assert find_crash_reports(tmp_path) == []
    assert len(list(tmp_path.glob("*.trail"))) == 1


def test_a_trail_holds_the_last_lines_only(tmp_path: Path, trail: CrashReportHandler):
    for n in range(100):
        say(trail, f"line {n}.")
    (path,) = tmp_path.glob("*.trail")
    text = path.read_text()

    assert "line 99." in text
    assert "line 59." not in text
    assert text.startswith("kmonitor crash report")
    assert path.stat().st_mode & 0o077 == 0


def test_a_dead_window_with_a_fault_is_told_once(tmp_path: Path):
    path = left_by_a_dead_one(tmp_path, fault=FAULT)
    (crash,) = find_crash_reports(tmp_path)

    assert crash.is_fatal
    assert "What:      Fatal Python error: Aborted" in crash.text
    assert "a line" in crash.text
    assert not path.exists()
    assert [again.path for again in find_crash_reports(tmp_path)] == [crash.path]
    crash.discard()
    assert find_crash_reports(tmp_path) == []


def test_a_dead_window_without_a_fault_is_no_crash(tmp_path: Path):
    path = left_by_a_dead_one(tmp_path, fault="")

    assert find_crash_reports(tmp_path) == []
    assert not path.exists()


def test_an_exception_is_reported_once_however_often_it_comes(
    tmp_path: Path, trail: CrashReportHandler
):
    say(trail, "before it")
    for _ in range(5):
        trail.report(KeyError, KeyError("resnet"), None)
    (crash,) = find_crash_reports(tmp_path)

    assert not crash.is_fatal
    assert "KeyError in part of the window" in crash.text
    assert "before it" in crash.text
    assert "resnet" not in crash.text


def test_few_reports_are_kept(tmp_path: Path):
    for n in range(9):
        path = tmp_path / f"crash-20261122-10000{n}-1-1.txt"
        path.write_text("report")
        os.utime(path, (n, n))

    found = find_crash_reports(tmp_path)

    assert [crash.wall_s for crash in found] == [8, 7, 6, 5, 4]
    assert len(list(tmp_path.iterdir())) == 5


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path):
    with pytest.raises(OSError, match="absent"):
        CrashReportHandler(tmp_path / "absent")
