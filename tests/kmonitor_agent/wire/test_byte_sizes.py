"""Sizes for people."""

import pytest

from kmonitor_agent.wire.text import binary_size, round_binary_size


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1023.6, "1.0 KiB"),
        (1024, "1.0 KiB"),
        (1023.4 * 2**10, "1023.4 KiB"),
        (1023.6 * 2**10, "1.0 MiB"),
        (1.5 * 2**30, "1.5 GiB"),
        (2**60, "1048576.0 TiB"),
    ],
)
def test_sizes_are_in_binary_units(n_bytes: float, text: str):
    assert binary_size(n_bytes) == text


def test_compared_size_is_in_the_unit_of_the_other():
    assert binary_size(716.8 * 2**10, unit_of=26.9 * 2**20) == "0.7 MiB"


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (1023, "1023 B"),
        (1023.6, "1 KiB"),
        (512 * 2**10, "512 KiB"),
        (1023.6 * 2**10, "1 MiB"),
        (551 * 2**20, "551 MiB"),
        (12.3 * 2**20, "12.3 MiB"),
        (12 * 2**30, "12 GiB"),
        (1.5 * 2**30, "1.5 GiB"),
    ],
)
def test_chosen_sizes_have_no_empty_decimal(n_bytes: float, text: str):
    assert round_binary_size(n_bytes) == text
