"""Labels of a chart never cover each other."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor.ui.plots.chart_state import CurveState
from kmonitor.ui.plots.labels import (
    FlagPosition,
    ahead_of_flags,
    clear_of_dots,
    flag_positions,
    free_left,
    spans_in_band,
    spread_labels,
)
from kmonitor.ui.plots.layout import PlotFrame

pytestmark = pytest.mark.gui

PX = st.floats(0, 500)


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


@given(xs=st.lists(PX, max_size=20).map(sorted), width=st.floats(10, 120))
def test_flags_never_cover_each_other_and_stay_in_the_plot(xs: list[float], width: float):
    places = flag_positions(xs, [width] * len(xs), (0.0, 500.0))
    shown = [place for place in places if place.width]

    for i, place in enumerate(shown):
        assert place.span[0] >= 0.0
        assert place.span[1] <= 500.0
        assert not any(overlap(place.span, other.span) for other in shown[i + 1 :])
    assert [place.x for place in places] == xs


def test_of_two_flags_that_collide_the_later_keeps_its_label():
    places = flag_positions([20.0, 30.0], [50.0, 50.0], (0.0, 500.0))

    assert [place.width for place in places] == [0.0, 50.0]


def test_a_flag_near_a_later_one_turns_to_the_left():
    places = flag_positions([100.0, 110.0], [50.0, 50.0], (0.0, 500.0))

    assert [place.span for place in places] == [(50.0, 100.0), (110.0, 160.0)]


def test_flag_at_the_right_edge_turns_to_the_left():
    (place,) = flag_positions([490.0], [50.0], (0.0, 500.0))

    assert place.left == 440.0


@given(taken=st.lists(st.tuples(PX, st.floats(1, 90)), max_size=8), width=st.floats(5, 200))
def test_free_place_is_free(taken: list[tuple[float, float]], width: float):
    spans = [(left, left + wide) for left, wide in taken]
    left = free_left(width, (8.0, 480.0), spans)

    if left is not None:
        assert left >= 8.0
        assert left + width <= 480.0
        assert not any(overlap((left, left + width), span) for span in spans)


def test_label_moves_behind_a_flag_in_its_way_or_finds_no_place():
    assert free_left(50.0, (8.0, 400.0), []) == 8.0
    assert free_left(50.0, (8.0, 400.0), [(20.0, 60.0)]) == 64.0
    assert free_left(50.0, (8.0, 100.0), [(20.0, 60.0)]) is None


@pytest.mark.parametrize(
    ("flag", "span"),
    [
        ((0.0, 90.0), (100.0, 200.0)),
        ((120.0, 180.0), (200.0, 300.0)),
        ((120.0, 240.0), None),
    ],
)
def test_text_at_a_point_gives_way_to_flags_or_is_left_out(
    flag: tuple[float, float], span: tuple[float, float] | None
):
    flags = [FlagPosition(flag[0], flag[0], flag[1] - flag[0]), FlagPosition(150.0, 150.0, 0.0)]

    assert ahead_of_flags(200.0, 100.0, (0.0, 400.0), flags) == span


@pytest.mark.parametrize(
    ("x", "width", "span"),
    [
        pytest.param(404.0, 100.0, (300.0, 400.0), id="at the right edge"),
        pytest.param(50.0, 100.0, (50.0, 150.0), id="at the left edge"),
        pytest.param(300.0, 350.0, (0.0, 300.0), id="too wide for both sides"),
        pytest.param(404.0, 500.0, (0.0, 400.0), id="wider than the plot"),
    ],
)
def test_text_at_a_point_is_never_left_out_without_flags(
    x: float, width: float, span: tuple[float, float]
):
    assert ahead_of_flags(x, width, (0.0, 400.0), []) == span


def test_text_at_the_right_edge_that_would_cover_a_flag_is_left_out():
    flag = FlagPosition(380.0, 330.0, 50.0)

    assert ahead_of_flags(404.0, 100.0, (0.0, 400.0), [flag]) is None


@given(ys=st.lists(st.floats(-50, 300), max_size=30))
def test_names_stand_apart_and_inside(ys: list[float]):
    placed = spread_labels(ys, apart=13.0, within=(10.0, 200.0))
    heights = sorted(y for y in placed if y is not None)

    assert len(placed) == len(ys)
    assert len(heights) == min(len(ys), 15)
    for low, high in pairwise(heights):
        assert high - low >= 13.0 - 1e-6
    if heights:
        assert heights[0] >= 10.0 - 1e-6
        assert heights[-1] <= 200.0 + 1e-6


def test_names_with_room_stay_where_their_lines_end():
    assert spread_labels([50.0, 100.0], apart=13.0, within=(0.0, 200.0)) == [50.0, 100.0]


def test_names_that_collide_give_way_in_the_order_of_their_lines():
    assert spread_labels([101.0, 100.0], apart=13.0, within=(0.0, 200.0)) == [113.0, 100.0]


def test_plot_without_height_has_no_names():
    assert spread_labels([5.0], apart=13.0, within=(10.0, -20.0)) == [None]


@given(y=st.floats(0, 200), dots=st.lists(st.tuples(PX, st.floats(0, 200)), max_size=6))
def test_a_name_moves_off_dots_or_stays_where_it_was(y: float, dots: list[tuple[float, float]]):
    placed = clear_of_dots(y, (100.0, 180.0), dots, within=(0.0, 200.0))

    crossed = [at for x, at in dots if 100 <= x <= 180 and abs(at - placed) < 11.0]
    assert placed == y or not crossed
    assert 0.0 <= placed <= 200.0


def test_a_name_goes_to_the_nearer_side_of_a_dot_unless_another_is_there():
    places = [
        clear_of_dots(102.0, (0.0, 50.0), [(30.0, 100.0)], within=(0.0, 200.0), occupied=taken)
        for taken in ([], [115.0])
    ]

    assert places == [111.5, 88.5]


def test_a_limits_words_keep_off_the_curve_that_crosses_them():
    frame = PlotFrame(
        left=10.0, top=8.0, width=100.0, height=100.0,
        x_lo=0.0, x_hi=10.0, y_lo=0.0, y_hi=100.0, data_width=100.0,
    )  # fmt: skip
    x = np.arange(11.0)
    y = np.array([10.0, 10, 55, 58, 10, 10, np.nan, 57, 57, 10, 90])
    curve = CurveState("r", "r", 0, x, y, dashed=False, selected=True, stale=False)
    band = (frame.y_px(60.0), frame.y_px(50.0))

    spans = spans_in_band(curve, frame, band)

    assert spans == [(20.0, 50.0), (80.0, 110.0)]
    assert free_left(20.0, (10.0, 110.0), spans) == 54.0
    assert spans_in_band(curve, frame, (0.0, 5.0)) == []
