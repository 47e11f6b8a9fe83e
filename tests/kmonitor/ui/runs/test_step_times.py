"""Step times as text."""

import pytest
from msgspec.structs import replace

from kmonitor.ui.runs.step_times import (
    part_text,
    slow_steps_advice_text,
    slow_steps_text,
    step_times_text,
)
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.events import CallbackTime, EpochParts, StepTimes


def times(count: int = 120, slow: int = 3, slow_sum_s: float = 1.5) -> StepTimes:
    return StepTimes(
        count=count,
        mean_s=0.0187,
        p50_s=0.0056,
        p95_s=0.0061,
        p99_s=0.5,
        max_s=0.52,
        slow=slow,
        slow_sum_s=slow_sum_s,
    )


def test_distribution_is_one_line():
    text = with_plain_spaces(step_times_text(times()))

    assert text == ("median 5.60 ms, mean 18.7 ms, p95 6.10 ms, p99 500 ms, max 520 ms")


def test_few_slow_steps_are_said_with_their_part_of_the_time():
    text = with_plain_spaces(slow_steps_text(times()))

    assert text == ("3 of 120 timed steps took two thirds of the steps' time, each about 500 ms")


def test_slow_steps_of_which_one_is_far_longer_are_said_with_the_longest():
    text = with_plain_spaces(slow_steps_text(times(slow=2, slow_sum_s=0.53)))

    assert text.startswith("2 of 120 timed steps took ")
    assert text.endswith(", the longest 520 ms")


def test_what_slow_steps_did_is_said_where_one_part_took_their_time():
    waiting = EpochParts(wall_s=2.3, input_s=1.46, compute_s=0.6, callbacks_s=0.2)
    calling = EpochParts(
        wall_s=2.3,
        input_s=0.1,
        callbacks_s=1.5,
        callbacks=[
            CallbackTime("ModelCheckpoint", 2.0, saves=True, in_steps_s=2.0),
            CallbackTime("Plot", 2.0, in_steps_s=0.0),
            CallbackTime("Mean", 1.5, in_steps_s=1.5),
        ],
    )
    open_ = EpochParts(wall_s=2.3, input_s=0.1, compute_s=2.0)

    assert slow_steps_text(times(), waiting).endswith("; that time was spent waiting for input")
    assert slow_steps_text(times(), calling).endswith("; that time was spent in callbacks (Mean)")
    assert slow_steps_text(times(), open_) == slow_steps_text(times())


@pytest.mark.parametrize("in_steps_s", [0.0, 0.1, None])
def test_callback_that_works_between_epochs_is_no_time_of_slow_steps(in_steps_s: float | None):
    between = EpochParts(
        wall_s=2.3,
        input_s=0.1,
        callbacks_s=1.5,
        callbacks=[CallbackTime("Auc", 1.5, in_steps_s=in_steps_s)],
    )

    assert slow_steps_text(times(), between) == slow_steps_text(times())


def test_wait_for_the_first_batch_is_no_time_of_slow_steps():
    first = EpochParts(wall_s=2.3, input_s=1.46, first_input_s=1.45, compute_s=0.6)

    assert slow_steps_text(times(), first) == slow_steps_text(times())


@pytest.mark.parametrize(
    ("slow", "collected", "collected_sum_s", "end"),
    [
        (3, 3, 1.5, "; Python ran full garbage collections in them"),
        (3, 2, 1.0, "; Python ran full garbage collections in 2 of them"),
        (3, 1, 0.5, "each about 500 ms"),
        (1, 1, 1.5, "; Python ran a full garbage collection in it"),
    ],
)
def test_garbage_collections_are_named_if_they_explain_half_of_slow_steps(
    slow: int, collected: int, collected_sum_s: float, end: str
):
    some = replace(times(slow=slow), collected=collected, collected_sum_s=collected_sum_s)

    text = with_plain_spaces(slow_steps_text(some))

    assert text.endswith(end)
    assert bool(slow_steps_advice_text(some)) is ("garbage" in end)


def test_each_fourth_step_counts_as_a_few():
    assert slow_steps_text(times(count=98, slow=25, slow_sum_s=1.5))


@pytest.mark.parametrize(
    "even",
    [times(slow=0, slow_sum_s=0.0), times(slow_sum_s=0.05), times(slow=60, slow_sum_s=2.0)],
)
def test_nothing_is_said_of_few_or_many_or_cheap_slow_steps(even: StepTimes):
    assert not slow_steps_text(even)


def test_part_that_is_no_plain_fraction_is_a_percentage():
    assert with_plain_spaces(part_text(0.58)) == "58% of the steps' time"
    assert part_text(0.51) == "half of the steps' time"
