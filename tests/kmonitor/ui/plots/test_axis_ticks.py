import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor.ui.charts.series import MOST_CHARTED
from kmonitor.ui.plots.axes import AIR_PX, axis_between, log_axis, value_axis, x_axis
from kmonitor.ui.plots.chart_state import XKind
from kmonitor.ui.text.formats import Unit

GIB = 2.0**30
MIB = 2.0**20
UNITS: list[Unit] = ["bytes", "seconds", "operations", "functions"]


def texts(lowest: float, highest: float, unit: Unit, limit: float | None = None) -> tuple:
    axis = value_axis(lowest, highest, unit=unit, height_px=200, limit=limit)
    return axis.texts, axis.unit


def test_bytes_have_one_unit_and_few_digits():
    assert texts(0, 50.7 * GIB, "bytes", 72 * GIB) == (("0", "20", "40", "60", "80"), "GiB")


def test_counts_carry_k_m_g_or_t():
    assert texts(600, 24_374, "operations")[0] == ("0", "5k", "10k", "15k", "20k", "25k")
    assert texts(0, 12, "functions") == (("0", "5", "10"), "")
    assert texts(0, 7.3e12, "operations")[0][1] == "2T"
    assert texts(0, 2.2e6, "operations")[0][1].endswith("k")
    assert texts(0, 9e6, "operations")[0][1] == "2M"
    assert texts(0, 9e9, "operations")[0][1] == "2G"


def test_step_times_are_in_the_unit_that_suits_the_largest():
    assert texts(0, 0.4, "seconds", 0.4) == (("0", "100", "200", "300", "400"), "ms")
    assert texts(0, 3e-4, "seconds")[1] == "\u00b5s"
    assert texts(0, 14.0, "seconds")[1] == "s"


def test_values_that_move_only_at_the_top_get_an_axis_that_starts_below_them():
    axis = value_axis(600 * MIB, 750 * MIB, unit="bytes", height_px=200)

    assert 0 < axis.lo < 600 * MIB


def test_values_that_move_from_low_start_at_zero():
    assert value_axis(300 * MIB, 750 * MIB, unit="bytes", height_px=200).lo == 0.0


def test_values_below_zero_are_inside():
    assert value_axis(-5.0, 10.0, unit="operations", height_px=200).lo == -5.0


def test_nothing_measured_still_gives_a_scale():
    for unit in UNITS:
        axis = value_axis(0.0, 0.0, unit=unit, height_px=200)
        assert axis.hi > axis.lo
        assert len(axis.ticks) >= 2


def test_values_next_to_nothing_count_as_nothing():
    for lowest, highest in ((5e-324, 5e-324), (0.0, 5e-324), (-1e-300, 0.0)):
        assert value_axis(lowest, highest, unit="bytes", height_px=20).hi == pytest.approx(4 * MIB)


def test_one_constant_value_is_inside_the_axis():
    axis = value_axis(3 * GIB, 3 * GIB, unit="bytes", height_px=200)

    assert axis.lo < 3 * GIB < axis.hi


def test_fractions_of_a_unit_get_as_many_decimals_as_they_need():
    assert axis_between(0.0, GIB, unit="bytes", height_px=160).texts[1] in {"0.2", "0.25"}
    assert axis_between(0.0, 10.0, unit="seconds", height_px=160).texts[:2] == ("0", "2.5")


@given(
    lowest=st.floats(0, 1e12),
    span=st.floats(0, 1e12),
    limit=st.none() | st.floats(1, 2e12),
    unit=st.sampled_from(UNITS),
    height=st.floats(20, 900),
)
def test_every_value_and_the_limit_lie_inside_with_air_above(
    lowest: float, span: float, limit: float | None, unit: Unit, height: float
):
    highest = lowest + span
    axis = value_axis(lowest, highest, unit=unit, height_px=height, limit=limit)

    assert axis.lo <= lowest
    assert axis.hi >= highest
    if limit is not None and height >= 4 * AIR_PX:
        assert (axis.hi - limit) / (axis.hi - axis.lo) * height >= AIR_PX - 1e-6
    assert list(axis.ticks) == sorted(axis.ticks)
    assert len(set(axis.texts)) == len(axis.ticks)
    assert len(axis.ticks) <= height / 16 + 4
    assert axis.quantum > 0


@pytest.mark.parametrize(
    ("hi", "expected"),
    [
        (64.0, ("0", "epoch 20", "40", "60")),
        (1.0, ("0", "epoch 1")),
        (0.3, ("0",)),
        (9_000.0, ("0", "epoch 2\u202f000", "4\u202f000", "6\u202f000", "8\u202f000")),
    ],
)
def test_epoch_axis_says_its_unit_once(hi: float, expected: tuple[str, ...]):
    assert x_axis("epochs", 0.0, hi, width_px=380).texts == expected


@pytest.mark.parametrize(
    ("hi", "expected"),
    [
        (50.0, ("0", "10\u202fs", "20", "30", "40", "50")),
        (200.0, ("0", "1\u202fmin", "2", "3")),
        (4_000.0, ("0", "15\u202fmin", "30", "45", "60")),
        (9_000.0, ("0", "0:30\u202fh", "1:00", "1:30", "2:00", "2:30")),
        (90_000.0, ("0", "6\u202fh", "12", "18", "24")),
        (9e6, ("0", "600\u202fh", "1\u202f200", "1\u202f800", "2\u202f400")),
    ],
)
def test_time_axis_is_in_seconds_minutes_or_hours(hi: float, expected: tuple[str, ...]):
    assert x_axis("seconds", 0.0, hi, width_px=380).texts == expected


@pytest.mark.parametrize(
    ("lo", "hi", "expected"),
    [
        (3.2, 3.9, ("epoch 3.2", "3.4", "3.6", "3.8")),
        (50.501, 50.551, ("epoch 50.51", "50.52", "50.53", "50.54", "50.55")),
    ],
)
def test_an_axis_within_one_epoch_says_where_in_it(
    lo: float, hi: float, expected: tuple[str, ...]
):
    assert x_axis("epochs", lo, hi, width_px=380).texts == expected


def test_zoomed_axis_without_a_whole_second_has_no_tick():
    assert x_axis("seconds", 3.2, 3.3, width_px=380).ticks == ()


@pytest.mark.parametrize(
    ("lowest", "highest", "expected"),
    [
        (-0.82, 0.36, ("0.2", "0.5", "1", "2")),
        (-3.0, 0.0, ("0.01", "1")),
        (-8.0, 0.0, ("1e\u221208", "0.0001", "1")),
    ],
)
def test_logarithms_have_numbers_from_the_lowest_to_the_highest(
    lowest: float, highest: float, expected: tuple[str, ...]
):
    assert log_axis(lowest, highest, height_px=100.0).texts == expected


FAR = st.floats(-MOST_CHARTED, MOST_CHARTED)


@given(FAR, FAR, st.none() | FAR, st.sampled_from(UNITS), st.floats(1, 900))
def test_an_axis_holds_whatever_is_charted(
    one: float, other: float, limit: float | None, unit: Unit, height: float
):
    lowest, highest = sorted((one, other))
    axis = value_axis(lowest, highest, unit=unit, height_px=height, limit=limit)

    assert axis.lo <= axis.hi
    assert len(axis.texts) == len(axis.ticks)


@given(st.floats(-324, 100), st.floats(-324, 100), st.floats(1, 900))
def test_a_logarithmic_axis_holds_whatever_is_charted(one: float, other: float, height: float):
    lowest, highest = sorted((one, other))
    axis = log_axis(lowest, highest, height_px=height)

    assert len(axis.texts) == len(axis.ticks)


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.sampled_from(["epochs", "seconds"]))
def test_a_time_axis_holds_every_duration(one: float, other: float, kind: XKind):
    lo, hi = sorted((one, other))
    axis = x_axis(kind, lo, max(hi, lo + 1e-6), width_px=400)

    assert len(axis.texts) == len(axis.ticks)
