import numpy as np

from kmonitor.ui.charts.series import HISTORY_POINTS, TAIL_SAMPLES, GrowingSeries


def filled(n: int) -> GrowingSeries:
    series = GrowingSeries()
    for i in range(n):
        series.append(float(i), float(i % 1000))
    return series


def test_samples_stand_in_the_order_in_which_they_came():
    series = filled(1_500)

    np.testing.assert_array_equal(series.t_s, np.arange(1_500.0))
    np.testing.assert_array_equal(series.values, np.arange(1_500) % 1000)


def test_sample_that_is_already_here_changes_nothing():
    series = filled(10)
    version = series.version
    series.append(9.0, 99.0)
    series.append(3.0, 99.0)

    assert series.version == version
    assert len(series) == 10


def test_memory_stays_bounded_and_the_newest_samples_stay_raw():
    series = filled(100_000)

    assert len(series) <= TAIL_SAMPLES + HISTORY_POINTS + 2_500
    newest = series.t_s[-TAIL_SAMPLES:]
    np.testing.assert_array_equal(newest, np.arange(100_000.0 - TAIL_SAMPLES, 100_000.0))
    assert series.t_s[0] == 0.0
    assert series.values.max() == 999.0


def test_old_spike_survives_all_thinning():
    series = GrowingSeries()
    for i in range(60_000):
        series.append(float(i), 5_000.0 if i == 777 else 1.0)

    assert series.values.max() == 5_000.0


def test_answer_of_the_hub_is_put_before_what_came_live_meanwhile():
    series = GrowingSeries()
    for t in (98.0, 99.0, 100.0, 101.0):
        series.append(t, 1.0)
    series.splice(np.array([0.0, 50.0, 99.5]), np.array([2.0, 2.0, 2.0]))

    np.testing.assert_array_equal(series.t_s, [0.0, 50.0, 99.5, 100.0, 101.0])


def test_zoomed_answer_replaces_only_its_stretch():
    series = filled(100)
    series.splice(np.array([40.0, 45.0, 50.0]), np.array([7.0, 7.0, 7.0]))

    assert len(series) == 40 + 3 + 49
    assert series.values[40] == 7.0


def test_empty_answer_changes_nothing():
    series = filled(5)
    version = series.version
    series.splice(np.empty(0), np.empty(0))

    assert series.version == version


def test_series_grows_on_after_an_answer():
    series = GrowingSeries()
    series.splice(np.array([1.0]), np.array([1.0]))
    for t in range(2, 20):
        series.append(float(t), 2.0)

    assert len(series) == 19


def test_break_is_one_gap_however_often_it_is_told():
    series = filled(3)
    series.break_line(5.0)
    series.break_line(6.0)
    series.append(7.0, 1.0)

    assert np.isnan(series.values).tolist() == [False, False, False, True, False]


def test_nothing_to_break_before_the_first_sample():
    series = GrowingSeries()
    series.break_line(5.0)

    assert len(series) == 0
