"""The step clock: what is measured, what is left out, and how exact the histogram is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor_agent.probes import step_clock
from kmonitor_agent.probes.step_clock import StepClock
from kmonitor_agent.wire.messages.events import StepTimes


class HandMoved:
    """Stands in for `perf_counter`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(step_clock, "perf_counter", lambda: self.now_s)

    def run(self, clock: StepClock, seconds: list[float]) -> None:
        """Ticks with these distances between them."""
        clock.tick(0)
        for number, each in enumerate(seconds, 1):
            self.now_s += each
            clock.tick(number)


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> HandMoved:
    return HandMoved(monkeypatch)


def test_first_step_is_kept_apart_and_the_last_has_no_end(hand: HandMoved):
    clock = StepClock()

    hand.run(clock, [5.0, 0.010, 0.010, 0.040])
    times = clock.step_times()

    assert clock.steps == 5
    assert times is not None
    assert times.first_s == 5.0
    assert times.count == 3
    assert times.mean_s == pytest.approx(0.020)
    assert times.p50_s == pytest.approx(0.010, rel=0.02)
    assert times.max_s == pytest.approx(0.040)


def test_steps_that_a_device_computes_later_have_a_mean_only(hand: HandMoved):
    clock = StepClock(steps_per_execution=2)

    hand.run(clock, [5.0, *[0.001] * 9])  # handed over; then 1.991 s until the last was computed
    times = clock.step_times(hand.now_s + 1.991)

    assert times is not None
    assert (times.p50_s, times.p95_s, times.p99_s, times.max_s) == (None, None, None, None)
    assert (times.count, times.first_s, times.slow) == (20, 2.5, 0)
    assert times.mean_s == times.step_s == pytest.approx(0.1)


@pytest.mark.parametrize(
    "late_s",
    [
        pytest.param(-1.0, id="not known"),
        pytest.param(0.011, id="the last step itself"),
        pytest.param(0.029, id="a busy machine"),
    ],
)
def test_steps_that_were_computed_at_once_are_timed_one_by_one(hand: HandMoved, late_s: float):
    clock = StepClock()

    hand.run(clock, [5.0, *[0.010] * 9])
    times = clock.step_times(hand.now_s + late_s)

    assert times is not None
    assert times.count == 9
    assert times.step_s == times.p50_s == pytest.approx(0.010, rel=0.02)


def test_one_measured_step_is_too_few(hand: HandMoved):
    clock = StepClock()

    hand.run(clock, [5.0, 0.010])

    assert clock.step_times() is None
    assert clock.median_s() is None


def test_steps_of_one_execution_share_its_time(hand: HandMoved):
    clock = StepClock(steps_per_execution=4)

    hand.run(clock, [1.0, 0.4, 0.4])
    times = clock.step_times()

    assert times is not None
    assert times.count == 8
    assert times.p50_s == pytest.approx(0.1, rel=0.02)
    assert times.first_s == 0.25


def test_new_epoch_forgets_the_last(hand: HandMoved):
    clock = StepClock()
    hand.run(clock, [1.0, 0.1, 0.1])

    clock.begin_epoch()

    assert (clock.steps, clock.median_s(), clock.step_times()) == (0, None, None)


def test_pause_is_left_out_and_a_retrace_too(hand: HandMoved):
    clock = StepClock()
    hand.run(clock, [1.0, 0.1, 0.1])

    clock.leave_out(retraced=False)
    hand.now_s += 500.0
    hand.run(clock, [0.1])
    clock.leave_out(retraced=True)
    hand.now_s += 500.0
    hand.run(clock, [7.0, 0.1])
    times = clock.step_times()

    assert times is not None
    assert times.max_s == pytest.approx(0.1)
    assert times.count == 4
    assert times.first_s == 7.0


def test_what_is_due_runs_before_the_step_is_timed():
    done: list[int] = []
    clock = StepClock(on_due=lambda: done.append(clock.steps))

    clock.tick(0)
    clock.due = True
    clock.tick(1)

    assert done == [1]


@given(st.lists(st.floats(2e-6, 5e4), min_size=20, max_size=200))
def test_quantiles_are_within_a_bucket_of_the_exact_ones(seconds: list[float]):
    with pytest.MonkeyPatch.context() as patch:
        clock = StepClock()
        HandMoved(patch).run(clock, [1.0, *seconds])
        times = clock.step_times()

    # Distances of a clock that stands at up to 1e6 s carry its rounding.
    assert times is not None
    for quantile, told in ((0.5, times.p50_s), (0.95, times.p95_s), (0.99, times.p99_s)):
        exact = float(np.quantile(seconds, quantile, method="inverted_cdf"))
        assert told == pytest.approx(exact, rel=0.021, abs=1e-6)
    assert times.max_s == pytest.approx(max(seconds), abs=1e-6)


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1e9])
def test_times_outside_of_the_histogram_are_kept_at_its_ends(hand: HandMoved, seconds: float):
    clock = StepClock()

    hand.run(clock, [1.0, seconds, seconds])
    times = clock.step_times()

    assert times is not None
    assert times.max_s == pytest.approx(seconds)
    assert times.step_s <= max(seconds, 1.1e-6)


def test_epochs_are_known_to_be_too_short_to_time_as_soon_as_their_length_is():
    clock = StepClock(steps_per_execution=2)

    assert clock.why_untimed(None) == clock.why_untimed(7) == ""
    assert clock.why_untimed(6) == (
        "an epoch of 6 steps is too short to time: 7 are needed, and the first is not counted"
    )


def test_few_slow_steps_are_counted_with_their_time(hand: HandMoved):
    clock = StepClock()

    hand.run(clock, [1.0, *[0.005] * 117, 0.5, 0.48, 0.52])
    times = clock.step_times()

    assert times is not None
    assert times.slow == 3
    assert times.slow_sum_s == pytest.approx(1.5, rel=0.02)
    assert times.slow_part == pytest.approx(1.5 / 2.085, rel=0.02)


def test_slow_steps_of_executions_are_counted_as_steps(hand: HandMoved):
    clock = StepClock(steps_per_execution=4)

    hand.run(clock, [1.0, *[0.4] * 9, 4.0])
    times = clock.step_times()

    assert times is not None
    assert (times.count, times.slow) == (40, 4)
    assert times.slow_sum_s == pytest.approx(4.0, rel=0.02)


def with_collections(
    hand: HandMoved, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[float, int]]
) -> StepTimes:
    """Times of steps, each with its length, seconds, and its number of full collections."""
    counts = {"collections": 7}
    monkeypatch.setattr(step_clock, "get_stats", lambda: [{}, {}, counts])
    clock = StepClock()
    clock.tick()
    for seconds, collections in steps:
        hand.now_s += seconds
        counts["collections"] += collections
        clock.tick()
    times = clock.step_times()
    assert times is not None
    return times


def test_long_steps_with_a_full_collection_are_counted_with_their_time(
    hand: HandMoved, monkeypatch: pytest.MonkeyPatch
):
    steps = [(1.0, 3), *[(0.005, 0)] * 20, (0.5, 1), (0.6, 0), (0.4, 1), (0.005, 0)]

    times = with_collections(hand, monkeypatch, steps)

    assert (times.slow, times.collected) == (3, 2)
    assert times.collected_sum_s == pytest.approx(0.9)


def test_collections_in_short_steps_do_not_explain_a_long_one(
    hand: HandMoved, monkeypatch: pytest.MonkeyPatch
):
    steps = [(1.0, 1), *[(0.005, 1)] * 20, (0.5, 1)]

    times = with_collections(hand, monkeypatch, steps)

    assert (times.slow, times.collected, times.collected_sum_s) == (1, 0, 0.0)


def test_collections_while_time_is_left_out_belong_to_no_step(
    hand: HandMoved, monkeypatch: pytest.MonkeyPatch
):
    counts = {"collections": 0}
    monkeypatch.setattr(step_clock, "get_stats", lambda: [{}, {}, counts])
    clock = StepClock()
    hand.run(clock, [1.0, *[0.005] * 5])

    counts["collections"] = 4
    clock.leave_out(retraced=False)
    hand.run(clock, [0.5])
    times = clock.step_times()

    assert times is not None
    assert (times.slow, times.collected) == (1, 0)


def test_even_steps_have_no_slow_ones(hand: HandMoved):
    clock = StepClock()

    hand.run(clock, [1.0, *[0.01, 0.02] * 20])
    times = clock.step_times()

    assert times is not None
    assert (times.slow, times.slow_part) == (0, 0.0)


def test_last_planned_step_is_due_once_however_many_follow():
    due: list[int] = []

    def serve() -> None:
        due.append(clock.steps)
        clock.due = False

    clock = StepClock(on_due=serve)
    clock.plan(3)
    for step in range(10):
        clock.tick(step)

    assert due == [2]
    assert not clock.is_last


def test_step_after_some_more_is_due():
    due: list[int] = []

    def serve() -> None:
        due.append(clock.steps)
        clock.due = False
        if len(due) == 1:
            clock.due_after(4)

    clock = StepClock(on_due=serve)
    clock.due = True
    for step in range(10):
        clock.tick(step)

    assert due == [0, 4]


def test_step_that_is_due_is_not_put_off():
    clock = StepClock()

    clock.due = True
    clock.due_after(50)

    assert clock.due
