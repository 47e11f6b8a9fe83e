"""A stored event that is damaged is never taken for what it was."""

import random
from typing import Any

import pytest

from kmonitor.hub.store.row_checks import checksum, is_sound, repaired_body
from kmonitor_agent.wire.messages.codec import encode_event
from tests.support.links import sample

EVENT = (7, 3, 5, 12.5, 1.8e9, "sample", encode_event(sample(4)))


@pytest.mark.parametrize("seed", range(3))
def test_any_flipped_bit_of_a_body_is_noticed_and_turned_back(seed: int):
    bit = random.Random(seed).randrange(8 * len(EVENT[6]))  # noqa: S311 - no secret
    body = bytearray(EVENT[6])
    body[bit // 8] ^= 1 << bit % 8
    row = (*EVENT[:6], bytes(body), checksum(EVENT))

    assert not is_sound(row)
    assert repaired_body(row) == EVENT


@pytest.mark.parametrize(
    "cells",
    [
        (7, 2, 5, 12.5, 1.8e9, "sample"),
        (7, 3, 4, 12.5, 1.8e9, "sample"),
        (7, 3, 5, 12.5, 1.8e9, "samqle"),
        (7, 3, 5, -12.5, 1.8e9, "sample"),
    ],
)
def test_a_flipped_bit_of_any_other_cell_is_turned_back(cells: tuple[Any, ...]):
    row = (*cells, EVENT[6], checksum(EVENT))

    assert not is_sound(row)
    assert repaired_body(row) == EVENT


def test_a_flipped_sum_harms_nothing():
    row = (*EVENT, checksum(EVENT) ^ 64)

    assert not is_sound(row)
    assert repaired_body(row) == EVENT


@pytest.mark.parametrize("cell", range(8))
@pytest.mark.parametrize("bad", ["a text", b"", 2**70, float("inf")])
def test_a_row_with_a_cell_of_another_kind_is_not_mended(cell: int, bad: Any):
    row = [*EVENT, checksum(EVENT)]
    row[cell] = bad

    assert not is_sound(tuple(row))
    assert repaired_body(tuple(row)) is None


def test_a_row_moved_to_another_hubs_stretch_keeps_its_sum():
    moved = (EVENT[0] + (5 << 40), EVENT[1] + (5 << 40), *EVENT[2:])

    assert checksum(moved) == checksum(EVENT)
