import numpy as np

from kmonitor.ui.charts.cards import NO_RATE
from kmonitor.ui.charts.rates import epoch_rate, pending_rate, time_rate
from kmonitor.ui.text.formats import with_plain_spaces
from tests.support.made_up_runs import MIB, made_up_run

X = np.linspace(0.0, 10.0, 101)
RUN = made_up_run()


def test_a_steady_slope_is_told_by_epoch():
    rate = epoch_rate(X, 500 * MIB + 10.6 * MIB * X, "bytes", RUN)

    assert with_plain_spaces(rate.text) == "+10.6 MiB / epoch"
    assert rate.direction == 1
    assert "over the last 9 epochs" in rate.tooltip


def test_in_a_loop_of_models_it_is_told_by_model():
    loop = made_up_run(fits_done=4, epochs_done=20)
    rate = epoch_rate(X, 1000.0 + 84.0 * X, "operations", loop)
    assert with_plain_spaces(rate.text) == "+420 / fit"


def test_one_spike_moves_nothing_and_a_fall_points_down():
    y = 500.0 - 10.0 * X
    y[50] = 1e6
    assert epoch_rate(X, y, "operations", RUN).direction == -1


def test_what_hardly_moves_is_steady():
    assert epoch_rate(X, 1000.0 + 0.1 * X, "operations", RUN).text == "steady"
    assert epoch_rate(X, np.zeros(101), "operations", RUN).text == "steady"


def test_a_slope_within_the_noise_or_of_one_early_step_is_told_but_points_nowhere():
    x = np.linspace(0.0, 9.0, 19)
    scatter = 40.0 * np.random.default_rng(7).standard_normal(19)
    noise = epoch_rate(x, 1000.0 + scatter, "operations", RUN)
    step = epoch_rate(x, np.where(x < 4.0, 350.0, 710.0), "operations", RUN)
    grows = epoch_rate(x, 1000.0 + 40.0 * np.floor(x), "operations", RUN)

    assert noise.text not in ("", "steady")
    assert "scatter" in noise.tooltip
    assert (noise.direction, step.direction, grows.direction) == (0, 0, 1)


def test_what_grew_in_the_first_epoch_alone_is_no_growth():
    # The first epoch takes most of the seconds, and with them most of the samples.
    first, rest = np.linspace(0.0, 0.99, 90), np.linspace(1.0, 11.0, 31)
    grown = np.concatenate([300.0 + 40.0 * first, 340.0 + 0.01 * rest])
    rate = epoch_rate(np.concatenate([first, rest]), MIB * grown, "bytes", RUN)
    assert (rate.text, rate.direction) == ("steady", 0)


def test_after_a_reload_the_first_epoch_is_left_out_again():
    y = np.where(X < 5.0, 400.0, 340.0) * MIB
    assert epoch_rate(X, y, "bytes", RUN, start_epoch=4.5).text == "steady"


def test_nothing_is_coloured_before_enough_epochs():
    for last, direction in ((4.5, 0), (5.0, 1)):
        x = X[last >= X]
        rate = epoch_rate(x, (500.0 + 10.0 * x) * MIB, "bytes", RUN)
        assert with_plain_spaces(rate.text) == "+10.0 MiB / epoch"
        assert rate.direction == direction
        assert ("too few epochs" in rate.tooltip) == (direction == 0)


def test_a_slope_by_minute_is_coloured_after_the_first_minutes_alone():
    for began_s, direction in ((0.0, 0), (-300.0, 1)):
        rate = time_rate(10.0 * X, (500.0 + X) * MIB, "bytes", start_s=began_s)
        assert (with_plain_spaces(rate.text), rate.direction) == ("+6.00 MiB / min", direction)


def test_after_a_reload_it_says_when_there_will_be_a_rate():
    assert pending_rate("ram", epoch_now=4.2, start_epoch=4.0).text == "rate available in 3 epochs"
    assert pending_rate("ram", epoch_now=6.5, start_epoch=4.0).text == "rate available in 1 epoch"
    assert pending_rate("ram", epoch_now=9.0, start_epoch=4.0).text == "rate available in 1 epoch"
    assert (
        pending_rate("step_time", epoch_now=4.0, start_epoch=4.0).text
        == "rate available in 7 epochs"
    )


def test_too_little_says_nothing():
    assert epoch_rate(X[:5], X[:5], "bytes", RUN) is NO_RATE
    assert epoch_rate(X[:0], X[:0], "bytes", RUN) is NO_RATE
    gaps = np.full(101, np.nan)
    assert epoch_rate(X, gaps, "bytes", RUN) is NO_RATE
    assert time_rate(X, gaps, "bytes") is NO_RATE
    assert time_rate(X[:20], X[:20], "bytes") is NO_RATE


def test_before_epochs_have_ended_it_is_told_by_minute():
    rate = time_rate(X, 500 * MIB + MIB * X, "bytes")
    assert with_plain_spaces(rate.text) == "+60.0 MiB / min"
    assert "10 s" in rate.tooltip
