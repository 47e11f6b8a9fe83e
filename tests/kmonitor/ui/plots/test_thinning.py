from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kmonitor.ui.plots.thinning import MAX_BUCKETS, bucket_edges, thin_to_buckets

VALUES = st.floats(-1e9, 1e9)
MANY = st.integers(100, 2_000)


def rising(n: int, seed: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).exponential(size=n) + 1e-3)


@given(n=MANY, seed=st.integers(0, 10_000), width=st.integers(1, 80))
def test_first_last_lowest_and_highest_point_survive(n: int, seed: int, width: int):
    x, y = rising(n, seed), np.random.default_rng(seed).normal(size=n).cumsum()
    thin_x, thin_y = thin_to_buckets(x, y, bucket_edges(x[0], x[-1], width_px=width))

    assert (thin_x[0], thin_y[0]) == (x[0], y[0])
    assert (thin_x[-1], thin_y[-1]) == (x[-1], y[-1])
    assert thin_y.min() == y.min()
    assert thin_y.max() == y.max()
    assert np.all(np.diff(thin_x) >= 0)
    assert len(thin_x) <= max(3 * width + 4, 2 * (width + 1) + 2)


@settings(max_examples=50)
@given(n=MANY, seed=st.integers(0, 10_000), width=st.integers(1, 30))
def test_every_bucket_keeps_its_own_extremes(n: int, seed: int, width: int):
    x, y = rising(n, seed), np.random.default_rng(seed).normal(size=n)
    edges = bucket_edges(x[0], x[-1], width_px=width)
    thin_x, thin_y = thin_to_buckets(x, y, edges.copy())

    # The last bucket includes its right edge.
    edges[-1] += 1e-6
    for lo, hi in pairwise(edges):
        inside, kept = y[(x >= lo) & (x < hi)], thin_y[(thin_x >= lo) & (thin_x < hi)]
        if len(inside):
            assert kept.min() == inside.min()
            assert kept.max() == inside.max()


@settings(max_examples=50)
@given(
    y=st.lists(st.one_of(VALUES, st.just(float("nan"))), min_size=60, max_size=200),
    width=st.integers(1, 20),
)
def test_gaps_invent_no_value_and_hide_no_extreme(y: list[float], width: int):
    x, values = np.arange(len(y), dtype=np.float64), np.array(y)
    thin_x, thin_y = thin_to_buckets(x, values, bucket_edges(0.0, len(y) - 1.0, width_px=width))

    there = values[np.isfinite(values)]
    assert set(thin_y[np.isfinite(thin_y)]) <= set(there)
    assert np.all(np.diff(thin_x) >= 0)
    if len(there):
        assert np.nanmin(thin_y) == there.min()
        assert np.nanmax(thin_y) == there.max()


def test_gap_wider_than_a_bucket_breaks_the_line():
    x = np.arange(1_000.0)
    y = x.copy()
    y[300:350] = np.nan
    thin_x, thin_y = thin_to_buckets(x, y, bucket_edges(0.0, 999.0, width_px=100))

    assert np.any(np.isnan(thin_y[(thin_x >= 295) & (thin_x <= 355)]))
    assert not np.any(np.isnan(thin_y[(thin_x < 290) | (thin_x > 360)]))


def test_gap_between_two_buckets_breaks_the_line():
    x = np.arange(1_000.0)
    y = x.copy()
    # Buckets are 100 wide; the gap covers the end of one and the start of the next.
    y[195:205] = np.nan
    _, thin_y = thin_to_buckets(x, y, np.linspace(0.0, 1_000.0, 11))

    assert np.count_nonzero(np.isnan(thin_y)) == 1


def test_gap_inside_one_bucket_is_too_small_to_see():
    x = np.arange(1_000.0)
    y = x.copy()
    y[440:450] = np.nan
    _, thin_y = thin_to_buckets(x, y, np.linspace(0.0, 1_000.0, 11))

    assert not np.isnan(thin_y).any()


def test_few_points_come_back_as_they_are():
    x, y = np.array([0.0, 1.0, 5.0]), np.array([3.0, np.nan, 4.0])
    thin_x, thin_y = thin_to_buckets(x, y, bucket_edges(0.0, 5.0, width_px=100))

    np.testing.assert_array_equal(thin_x, x)
    np.testing.assert_array_equal(thin_y, y)


def test_no_points_give_none():
    thin_x, thin_y = thin_to_buckets(np.empty(0), np.empty(0), bucket_edges(0.0, 1.0, width_px=10))

    assert len(thin_x) == len(thin_y) == 0


def test_zoomed_line_runs_out_of_the_picture_on_both_sides():
    x = np.arange(10_000.0)
    thin_x, _ = thin_to_buckets(x, x, bucket_edges(4_000.5, 6_000.5, width_px=50))

    assert thin_x[0] == 4_000.0
    assert thin_x[-1] == 6_001.0


def test_slope_and_step_are_exact():
    x = np.arange(1_000.0)
    rise = np.where(x < 500, x, x - 400)
    thin_x, thin_y = thin_to_buckets(x, rise, np.linspace(0.0, 1_000.0, 11))

    points = set(zip(x, rise, strict=True))
    assert set(zip(thin_x, thin_y, strict=True)) <= points


def test_stretches_without_any_point_take_no_bucket():
    x = np.concatenate((np.arange(100.0), 900.0 + np.arange(100.0)))
    thin_x, _ = thin_to_buckets(x, x, bucket_edges(0.0, 1_000.0, width_px=20))

    assert not np.any((thin_x > 99.0) & (thin_x < 900.0))


def test_buckets_are_pixels_but_not_more_than_are_seen():
    assert len(bucket_edges(0.0, 1.0, width_px=0)) == 2
    assert len(bucket_edges(0.0, 1.0, width_px=200)) == 201
    assert len(bucket_edges(0.0, 1.0, width_px=4_000)) == MAX_BUCKETS + 1
