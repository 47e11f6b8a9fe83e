"""Sizes for people."""

import pytest

from kmonitor_agent.wire.text import binary_size, round_binary_size


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1.5 * 2**30, "1.5 GiB"),
        (2**60, "1048576.0 TiB"),
    ],
)
def test_sizes_are_in_binary_units(n_bytes: float, text: str):
    assert binary_size(n_bytes) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (1023.6 * 2**10, "1 MiB"),
        (551 * 2**20, "551 MiB"),
        (12.3 * 2**20, "12.3 MiB"),
        (12 * 2**30, "12 GiB"),
        (1.5 * 2**30, "1.5 GiB"),
    ],
)
def test_chosen_sizes_have_no_empty_decimal(n_bytes: float, text: str):
    assert round_binary_size(n_bytes) == text
