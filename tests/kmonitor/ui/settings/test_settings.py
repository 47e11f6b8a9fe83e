"""Settings, their meaning, and messages on wrong input."""

from collections.abc import Iterator

import pytest

from kmonitor.ui.limits.limit_store import round_threshold
from kmonitor.ui.plots.axes import axis_between
from kmonitor.ui.settings.setting_values import (
    days_text,
    frame_ms,
    pace_text,
    pace_titles,
    parse_days_field,
    parse_size_field,
    size_text,
)
from kmonitor.ui.text.formats import (
    amount_text,
    bytes_change_text,
    bytes_text,
    rate_text,
    round_bytes_text,
    use_byte_units,
    with_plain_spaces,
)


@pytest.fixture
def decimal() -> Iterator[None]:
    use_byte_units("decimal")
    yield
    use_byte_units("binary")


@pytest.mark.parametrize(
    ("text", "days"), [("", 0), ("0", 0), ("90", 90), (" 1.5 ", 1.5), ("7d", 7)]
)
def test_days_are_read_as_they_are_typed(text: str, days: float):
    assert parse_days_field(text).value == days
    assert parse_days_field(text).why_not == ""


@pytest.mark.parametrize("text", ["many", "-3", "1e9", "200000", "3 GiB"])
def test_days_that_are_none_are_told(text: str):
    typed = parse_days_field(text)

    assert typed.value is None
    assert "days" in typed.why_not


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("", 0), ("0", 0), ("20GiB", 20 * 2**30), ("500 mb", 500e6), ("1.5 TiB", 1.5 * 2**40)],
)
def test_sizes_are_read_as_they_are_typed(text: str, n_bytes: float):
    assert parse_size_field(text).value == n_bytes


@pytest.mark.parametrize("text", ["20", "20 bananas", "-1 GiB", "0 GiB", "10 kB"])
def test_sizes_that_are_none_are_told(text: str):
    typed = parse_size_field(text)

    assert typed.value is None
    assert typed.why_not.startswith("Enter ")


def test_bounds_in_force_can_be_typed_again():
    assert (days_text(0), size_text(0)) == ("", "")
    assert parse_days_field(days_text(90.5)).value == 90.5
    assert size_text(20 * 2**30) == "20 GiB"
    assert parse_size_field(size_text(20 * 2**30)).value == 20 * 2**30


def test_a_pace_says_what_it_costs_and_the_slower_ones_draw_less():
    waits = [frame_ms(pace, is_busy=False) for pace in pace_titles()]

    assert waits == sorted(waits)
    assert frame_ms("lively", is_busy=True) == 33
    assert all(pace_text(pace) for pace in pace_titles())


@pytest.mark.usefixtures("decimal")
def test_sizes_are_decimal_everywhere_once_that_is_chosen():
    assert with_plain_spaces(bytes_text(1.4e9)) == "1.4 GB"
    assert with_plain_spaces(bytes_text(812.0)) == "812 B"
    assert with_plain_spaces(bytes_change_text(731e6, 598e6)) == "731 \u2192 598 MB"
    assert with_plain_spaces(amount_text(10.6e6, "bytes")) == "10.6 MB"
    assert with_plain_spaces(rate_text(10.6e6, "bytes", "epoch")) == "+10.6 MB / epoch"
    assert with_plain_spaces(round_bytes_text(72e9)) == "72 GB"
    axis = axis_between(0.0, 4e9, unit="bytes", height_px=200.0)
    assert axis.unit == "GB"
    assert 1e9 in axis.ticks
    assert round_threshold("ram", 12.3456e9) == 12.3e9
    assert parse_size_field(size_text(2 * 10**9)).value == 2e9


def test_sizes_are_binary_by_themselves():
    assert with_plain_spaces(bytes_text(1.4 * 2**30)) == "1.4 GiB"
    assert round_threshold("ram", 12.3456 * 2**30) == 12.3 * 2**30
