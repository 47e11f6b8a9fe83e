import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor.ui.text import formats
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.fields import MAX_WALL_S

MIB, GIB = 2.0**20, 2.0**30


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (1023.6, "1.0 KiB"),
        (10.6 * MIB, "10.6 MiB"),
        (99.97 * MIB, "100 MiB"),
        (598 * MIB, "598 MiB"),
        (1.44 * GIB, "1.4 GiB"),
        (73.4 * GIB, "73.4 GiB"),
        (3 * 2**60, "3 072.0 PiB"),
        (-2 * MIB, "\u22122.0 MiB"),
    ],
)
def test_sizes_have_the_decimals_that_suit_them(n: float, text: str):
    assert with_plain_spaces(formats.bytes_text(n)) == text


@given(st.floats(0, 2.0**70))
def test_a_size_is_never_written_with_more_than_four_digits_before_pib(n: float):
    text = with_plain_spaces(formats.bytes_text(n))
    if not text.endswith("PiB"):
        assert len(text.split(" ")[0].split(".")[0]) <= 4


def test_a_change_is_told_in_one_unit_and_with_a_decimal_more_where_it_would_vanish():
    change = formats.bytes_change_text
    assert with_plain_spaces(change(731 * MIB, 598 * MIB)) == "731 \u2192 598 MiB"
    assert with_plain_spaces(change(1.41 * GIB, 1.44 * GIB)) == "1.41 \u2192 1.44 GiB"
    assert with_plain_spaces(change(5, 5)) == "5 \u2192 5 B"
    assert with_plain_spaces(formats.count_change_text(27400, 28)) == "27 400 \u2192 28"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 \u00b5s"),
        (0.00085, "850 \u00b5s"),
        (0.272, "272 ms"),
        (1.42, "1.42 s"),
        (14.2, "14.2 s"),
    ],
)
def test_step_times_have_three_digits(seconds: float, text: str):
    assert with_plain_spaces(formats.seconds_text(seconds)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (3, "3 s"),
        (59.6, "1 min"),
        (240, "4 min"),
        (3599, "1 h"),
        (6720, "1 h 52 min"),
        (86400 * 3 + 4 * 3600, "3 d 4 h"),
    ],
)
def test_durations_have_two_units_at_most(seconds: float, text: str):
    assert with_plain_spaces(formats.duration_text(seconds)) == text


def test_moments_are_in_the_viewers_zone_and_name_the_day_when_it_is_another(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("TZ", "UTC")
    assert formats.clock_text(41_000) == "11:23:20"
    assert formats.clock_text(41_000, seconds=False) == "11:23"
    assert formats.day_text(41_000) == "1970-01-01"
    assert formats.day_clock_text(41_000).startswith("1970-01-01 11:23:20 ")
    assert formats.moment_text(41_000, now_wall_s=41_100) == "11:23"
    assert formats.moment_text(41_000, now_wall_s=941_100) == "1970-01-01 11:23"


def test_amounts_carry_their_metrics_unit():
    assert with_plain_spaces(formats.amount_text(GIB, "bytes")) == "1.0 GiB"
    assert with_plain_spaces(formats.amount_text(0.272, "seconds")) == "272 ms"
    assert with_plain_spaces(formats.amount_text(24374, "operations")) == "24 374 operations"
    assert with_plain_spaces(formats.amount_text(28, "functions")) == "28 functions"


def test_rates_have_a_sign_three_digits_and_what_they_count_by():
    rate = formats.rate_text
    assert with_plain_spaces(rate(10.6 * MIB, "bytes", "epoch")) == "+10.6 MiB / epoch"
    assert with_plain_spaces(rate(12, "bytes", "epoch")) == "+12 B / epoch"
    assert with_plain_spaces(rate(-0.0012, "seconds", "epoch")) == "\u22121.20 ms / epoch"
    assert with_plain_spaces(rate(420, "operations", "model")) == "+420 / model"
    assert with_plain_spaces(rate(1.25, "functions", "model")) == "+1.25 / model"


def test_parts_and_plain_numbers():
    assert formats.percent_text(0.64) == "64%"
    assert formats.number_text(-0.00012) == "\u22120.00012"
    assert formats.number_text(math.pi) == "3.142"


ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
OF_ONE_NUMBER = (
    formats.bytes_text,
    formats.round_bytes_text,
    formats.count_text,
    formats.percent_text,
    formats.number_text,
    formats.seconds_text,
    formats.duration_text,
    formats.clock_text,
    formats.day_text,
    formats.day_clock_text,
    formats.day_minute_text,
)


@given(ANY_FLOAT, ANY_FLOAT)
def test_no_number_is_too_strange_to_be_written(one: float, other: float):
    texts = [text(one) for text in OF_ONE_NUMBER]
    texts += [formats.moment_text(one, now_wall_s=other), formats.bytes_change_text(one, other)]
    for unit in get_args(formats.Unit):
        texts += [
            formats.amount_text(one, unit),
            formats.change_text(one, unit),
            formats.rate_text(one, unit, "epoch"),
        ]

    assert all(texts)


@pytest.mark.parametrize("wall_s", [-1.0, MAX_WALL_S + 1.0, 253402300800.0, math.nan, math.inf])
def test_a_moment_that_no_clock_shows_is_not_known(wall_s: float):
    assert (
        formats.clock_text(wall_s)
        == formats.day_text(wall_s)
        == formats.day_clock_text(wall_s)
        == formats.NOT_KNOWN
    )
