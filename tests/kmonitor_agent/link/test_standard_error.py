"""Our line is written whole or lost; it never waits, and calls nothing of the script's."""

import contextlib
import logging
import os
import resource
import sys
from pathlib import Path

import pytest

from kmonitor_agent.link import run_stream
from kmonitor_agent.link.run_stream import LOGGER, LineLost, write_line


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch):
    reader, writer = os.pipe()
    monkeypatch.setattr(run_stream, "_DESCRIPTOR", writer)
    yield reader, writer
    for each in (reader, writer):
        os.close(each)


def test_a_line_is_written_with_our_name(ends: tuple[int, int]):
    write_line("this run is not recorded")

    assert os.read(ends[0], 100) == b"kmonitor: this run is not recorded\n"


def test_what_cannot_be_encoded_is_spelled_out(ends: tuple[int, int]):
    write_line("in /home/\udcff")

    assert os.read(ends[0], 100) == b"kmonitor: in /home/\\udcff\n"


def test_a_full_pipe_loses_the_line_at_once(ends: tuple[int, int]):
    os.set_blocking(ends[1], False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(ends[1], b"x" * 4096)
    os.set_blocking(ends[1], True)

    with pytest.raises(LineLost, match="cannot be written"):
        write_line("not now")


def test_a_pipe_without_a_reader_loses_the_line(monkeypatch: pytest.MonkeyPatch):
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(run_stream, "_DESCRIPTOR", writer)

    with pytest.raises(LineLost):
        write_line("to nobody")
    os.close(writer)


def test_a_full_disk_loses_the_line(monkeypatch: pytest.MonkeyPatch):
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(run_stream, "_DESCRIPTOR", full)

    with pytest.raises(LineLost, match="No space left"):
        write_line("no room")
    os.close(full)


def test_a_file_at_the_processs_limit_loses_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = os.open(tmp_path / "err", os.O_CREAT | os.O_WRONLY)
    monkeypatch.setattr(run_stream, "_DESCRIPTOR", file)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (8, 8))

    with pytest.raises(LineLost, match="File too large"):
        write_line("more than eight bytes")
    assert os.fstat(file).st_size == 0
    os.close(file)


def test_a_closed_stream_loses_the_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "__stderr__", None)

    with pytest.raises(LineLost, match="closed"):
        write_line("to nobody")


def test_a_script_that_silences_our_logger_reads_nothing(ends: tuple[int, int]):
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.ERROR)
    try:
        write_line("silenced")
    finally:
        logger.setLevel(logging.NOTSET)

    os.set_blocking(ends[0], False)
    with pytest.raises(BlockingIOError):
        os.read(ends[0], 1)
