"""A descriptor of ours is neither used nor closed once its number names something else."""

import os
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.own_descriptor import OwnDescriptor
from kmonitor_agent.wire.spool.format import (
    SessionFacts,
    SpoolRecord,
    parse_segment,
    read_segment,
    segments_in,
)
from kmonitor_agent.wire.spool.writer import SpoolWriter


@pytest.fixture
def own(tmp_path: Path) -> OwnDescriptor:
    return OwnDescriptor(os.open(tmp_path / "ours", os.O_CREAT | os.O_WRONLY))


def replaced(own: OwnDescriptor, path: Path) -> int:
    """The script closes our descriptor and opens its own file, which gets the number."""
    number = own.number
    os.close(number)
    scripts = os.open(path, os.O_CREAT | os.O_RDWR)
    if scripts != number:
        os.dup2(scripts, number)
        os.close(scripts)
    return number


def test_an_open_descriptor_is_ours_until_it_is_closed(own: OwnDescriptor):
    assert own.is_ours()
    number = own.number
    own.close()
    own.close()

    assert not own.is_ours()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_number_that_names_another_file_is_given_up_and_left_open(
    own: OwnDescriptor, tmp_path: Path
):
    number = replaced(own, tmp_path / "theirs")

    assert not own.is_ours()
    own.close()
    assert os.fstat(number).st_ino == (tmp_path / "theirs").stat().st_ino
    os.close(number)


def test_a_number_that_was_closed_is_given_up(own: OwnDescriptor):
    os.close(own.number)

    assert not own.is_ours()


def test_events_go_on_in_a_new_segment_and_no_byte_into_the_scripts_files(tmp_path: Path):
    facts = SessionFacts("run", "session", "host", os.getpid(), 0.0)
    writer = SpoolWriter(tmp_path / "spool", facts, SystemClock())
    spool = writer.open()
    writer.write([SpoolRecord(1, b"first")])
    descriptors = [
        int(name)
        for name in os.listdir("/proc/self/fd")  # noqa: PTH208 - numbers
        if _leads_into(name, spool.folder)
    ]
    for number in descriptors:
        os.close(number)
    theirs = [os.open(tmp_path / f"theirs-{n}", os.O_CREAT | os.O_RDWR) for n in range(3)]
    assert set(descriptors) & set(theirs)

    writer.write([SpoolRecord(2, b"second")])
    writer.close()

    records = [
        record
        for path in segments_in(spool.folder)
        for record in parse_segment(read_segment(path)).records
    ]
    assert [record.seq for record in records] == [1, 2]
    assert [os.fstat(each).st_size for each in theirs] == [0, 0, 0]
    for each in theirs:
        os.close(each)


def _leads_into(name: str, folder: Path) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{name}").startswith(str(folder))  # noqa: PTH115
    except OSError:
        return False
