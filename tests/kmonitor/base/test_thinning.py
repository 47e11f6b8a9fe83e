"""Thinning never leaves out what stands out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kmonitor.base.thinning import thin_series, with_gaps


@given(
    values=st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=400),
    buckets=st.integers(1, 60),
)
def test_extremes_ends_and_order_are_kept_within_the_bound(values: list[float], buckets: int):
    t_s = np.cumsum(np.linspace(0.0, 1.0, len(values)))
    series = np.array(values)

    thinned_t_s, thinned = thin_series(t_s, series, buckets)

    assert len(thinned) <= max(2 * buckets, 2)
    assert thinned.min() == series.min()
    assert thinned.max() == series.max()
    assert (np.diff(thinned_t_s) >= 0).all()
    if buckets > 1:
        assert thinned_t_s[0] == t_s[0]
        assert thinned_t_s[-1] == t_s[-1]


def test_a_bucket_without_points_is_no_point():
    t_s = np.concatenate((np.arange(50.0), np.arange(1000.0, 1050.0)))
    values = np.arange(100.0)

    thinned_t_s, _ = thin_series(t_s, values, 10)

    assert len(thinned_t_s) <= 6
    assert not ((thinned_t_s > 49) & (thinned_t_s < 1000)).any()


def test_points_at_one_moment_are_thinned_too():
    t_s = np.full(100, 5.0)

    thinned_t_s, thinned = thin_series(t_s, np.arange(100.0), 4)

    assert len(thinned_t_s) <= 8
    assert (thinned.min(), thinned.max()) == (0.0, 99.0)


def test_a_gap_behind_a_point_is_marked_and_one_before_all_is_not():
    t_s, values = with_gaps(np.array([1.0, 3.0]), np.array([7.0, 8.0]), np.array([0.5, 2.0, 9.0]))

    assert list(t_s) == [1.0, 2.0, 3.0, 9.0]
    assert list(np.isnan(values)) == [False, True, False, True]
