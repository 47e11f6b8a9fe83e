"""A segment's contents are read again, up to and around whatever was damaged."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmonitor_agent.wire.messages.fields import MAX_EVENT_BYTES
from kmonitor_agent.wire.spool.format import (
    RECORD_HEADER,
    SEGMENT_MAGIC,
    SpoolRecord,
    encode_record,
    first_seq_of,
    parse_segment,
    segment_head,
    segment_name,
    segments_in,
)
from tests.support.links import FACTS

HEAD = segment_head(FACTS)
BODIES = st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=8)


def _segment(bodies: list[bytes]) -> bytes:
    return HEAD + b"".join(encode_record(n, b) for n, b in enumerate(bodies, 1))


@given(BODIES)
def test_a_segment_is_read_as_it_was_written(bodies: list[bytes]):
    data = _segment(bodies)

    read = parse_segment(data)

    assert read.facts == FACTS
    assert read.records == tuple(SpoolRecord(n, b) for n, b in enumerate(bodies, 1))
    assert read.good_bytes == len(data)
    assert not read.is_damaged


@given(BODIES, st.data())
def test_a_torn_tail_costs_only_the_torn_record(bodies: list[bytes], data: st.DataObject):
    whole = _segment(bodies)
    before_last = len(_segment(bodies[:-1]))
    cut = data.draw(st.integers(before_last + 1, len(whole) - 1))

    read = parse_segment(whole[:cut])

    assert [r.body for r in read.records] == bodies[:-1]
    assert read.good_bytes == before_last
    assert not read.is_damaged


@given(BODIES, st.data())
@settings(max_examples=200)
def test_one_bad_byte_costs_only_the_record_that_it_lies_in(
    bodies: list[bytes], data: st.DataObject
):
    intact = [*bodies, b"the last one"]
    whole = bytearray(_segment(intact))
    at = data.draw(st.integers(len(HEAD), len(whole) - len(encode_record(1, intact[-1])) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))

    read = parse_segment(bytes(whole))

    assert read.is_damaged
    assert [r.seq for r in read.records][-1] == len(intact)
    assert len(read.records) == len(intact) - 1


@given(st.binary(max_size=400))
def test_any_bytes_can_be_parsed(data: bytes):
    assert parse_segment(data).records == ()
    assert parse_segment(SEGMENT_MAGIC + data).records == ()


@pytest.mark.parametrize("at", [0, 5, len(SEGMENT_MAGIC) + 2, len(HEAD) - 1])
def test_a_damaged_head_hides_the_boot_and_no_event(at: int):
    whole = bytearray(_segment([b"one", b"two"]))
    whole[at] ^= 0xFF

    read = parse_segment(bytes(whole))

    assert read.facts is None
    assert [r.body for r in read.records] == [b"one", b"two"]


def test_a_head_that_names_no_boot_hides_the_boot_and_no_event():
    whole = SEGMENT_MAGIC + encode_record(0, b"\xc1 no msgpack") + encode_record(1, b"one")

    read = parse_segment(whole)

    assert read.facts is None
    assert [r.body for r in read.records] == [b"one"]


def test_a_head_record_with_a_number_is_an_event():
    read = parse_segment(SEGMENT_MAGIC + encode_record(3, b"three"))

    assert read.facts is None
    assert read.records == (SpoolRecord(3, b"three"),)


def test_zeros_that_a_crash_left_at_the_end_are_no_records():
    data = _segment([b"one"])

    read = parse_segment(data + bytes(4096))

    assert len(read.records) == 1
    assert read.good_bytes == len(data)


def test_records_longer_than_an_event_are_not_believed():
    data = HEAD + encode_record(1, bytes(MAX_EVENT_BYTES + 1)) + encode_record(2, b"two")

    assert [r.seq for r in parse_segment(data).records] == [2]


def test_numbers_never_go_back_within_a_segment():
    data = HEAD + encode_record(5, b"five") + encode_record(4, b"four") + encode_record(6, b"six")

    assert [r.seq for r in parse_segment(data).records] == [5, 6]


def test_segments_are_named_and_listed_by_their_first_number(tmp_path: Path):
    for seq in (1000, 2, 1):
        (tmp_path / segment_name(seq)).touch()
    (tmp_path / "acked").touch()

    assert [first_seq_of(p.name) for p in segments_in(tmp_path)] == [1, 2, 1000]
    assert first_seq_of("acked") is None
    assert RECORD_HEADER.size == 16
