import numpy as np
import pytest

from kmonitor.ui.charts.epoch_axis import EpochAxis


def x_of(axis: EpochAxis, t_s: float) -> float:
    return float(axis.x_of(np.array([t_s]))[0])


def two_epochs() -> EpochAxis:
    """Epochs from 10 to 20 s and from 30 to 50 s."""
    axis = EpochAxis()
    axis.set_epochs(np.array([10.0, 30.0]), np.array([20.0, 50.0]))
    axis.reached(60.0)
    return axis


@pytest.mark.parametrize(
    ("t_s", "x"), [(0, 0), (10, 0), (15, 0.5), (20, 1), (25, 1), (30, 1), (40, 1.5), (60, 2)]
)
def test_time_between_epochs_has_no_width(t_s: float, x: float):
    assert x_of(two_epochs(), t_s) == x


def test_way_back_leads_into_the_same_epoch():
    axis = two_epochs()

    np.testing.assert_allclose(axis.t_s_of(np.array([0.5, 1.5])), [15.0, 40.0])


def test_behind_the_last_epoch_lies_now_and_before_the_first_one_the_start():
    assert two_epochs().t_s_of(np.array([-1.0, 2.0, 9.0])).tolist() == [-1.0, 60.0, 60.0]


def test_running_epoch_is_taken_to_be_as_long_as_the_ones_before():
    axis = EpochAxis()
    axis.set_epochs(np.array([0.0, 10.0]), np.array([10.0, np.nan]))
    axis.reached(13.0)

    assert axis.end_x == pytest.approx(1.3)


def test_running_epoch_that_lasts_longer_never_passes_its_end():
    axis = EpochAxis()
    axis.set_epochs(np.array([0.0, 10.0]), np.array([10.0, np.nan]))
    axis.reached(100.0)

    assert axis.end_x == pytest.approx(1.8)


def test_first_epoch_fills_a_fixed_part_while_it_runs():
    axis = EpochAxis()
    axis.epoch_started(5.0)
    axis.reached(7.0)

    assert axis.end_x == pytest.approx(0.8)


def test_epoch_cut_off_by_a_dead_process_lasts_until_the_next_one():
    axis = EpochAxis()
    axis.set_epochs(np.array([0.0, 100.0]), np.array([np.nan, 110.0]))
    axis.reached(110.0)

    assert x_of(axis, 50.0) == 0.5


def test_live_starts_and_ends_continue_what_the_hub_told():
    axis = two_epochs()
    axis.epoch_started(60.0)
    axis.epoch_ended(70.0)
    axis.reached(70.0)

    assert len(axis) == 3
    assert axis.end_x == 3.0


def test_what_is_known_already_changes_nothing():
    axis = two_epochs()
    version = axis.version
    axis.epoch_started(30.0)
    axis.epoch_ended(55.0)

    assert axis.version == version
    assert x_of(axis, 50.0) == 2.0


def test_late_answer_of_the_hub_keeps_what_came_live_since():
    axis = EpochAxis()
    axis.epoch_started(0.0)
    axis.epoch_ended(10.0)
    axis.epoch_started(10.0)
    axis.set_epochs(np.array([0.0]), np.array([np.nan]))
    axis.reached(12.0)

    assert len(axis) == 2
    assert axis.start_t_s.tolist() == [0.0, 10.0]
    assert x_of(axis, 5.0) == 0.5


def test_end_without_a_start_is_left_out():
    axis = EpochAxis()
    axis.epoch_ended(10.0)
    axis.set_epochs(np.empty(0), np.empty(0))

    assert len(axis) == 0


def test_run_without_epochs_lies_at_zero():
    axis = EpochAxis()
    axis.reached(30.0)

    assert axis.end_x == 0.0
    assert axis.t_s_of(np.array([0.0, 1.0])).tolist() == [-1.0, 30.0]
