"""Limits on the time and silence of a fold, by those of others; a simulation of many."""

import random

import pytest

from kmonitor_agent.studies.bounds import (
    LEAST_S,
    SilenceTracker,
    StepGaps,
    TimeBound,
    forecast_s,
    learned_timeout_s,
    too_much_memory,
)
from kmonitor_agent.studies.fold_messages import FitPhase, StepProgress

HUNG_WITHIN = 3.0


def seen(at_s: float, steps: int, phase: FitPhase = "step") -> StepProgress:
    return StepProgress(at_s, steps, phase)


def followed(
    times: list[tuple[float, int, FitPhase]], others: StepGaps | None = None
) -> SilenceTracker:
    silence = SilenceTracker(0.0, others or StepGaps())
    for at_s, steps, phase in times:
        silence.note_progress(seen(at_s, steps, phase))
    return silence


def test_no_time_is_learned_before_a_fold_has_finished():
    assert learned_timeout_s([]) is None
    assert TimeBound().limit_s(1e6, None, [], 1) is None


def test_a_learned_time_leaves_room_for_slow_folds_and_tightens_with_their_number():
    assert learned_timeout_s([1.0]) == LEAST_S
    assert learned_timeout_s([100.0]) == 1000.0
    assert learned_timeout_s([100.0, 90.0]) == 600.0
    assert learned_timeout_s([100.0, 90.0, 80.0, 70.0]) == 400.0


def test_a_given_time_is_the_time():
    assert TimeBound(5.0).limit_s(1.0, 0.5, [1000.0], 2) == 5.0


def test_a_fold_that_goes_on_at_its_pace_has_the_time_that_it_needs():
    limit_s = TimeBound().limit_s(elapsed_s=5000.0, share=0.1, finished_s=[100.0], attempt=1)

    assert limit_s is not None
    assert limit_s > 50_000


def test_a_second_attempt_has_twice_the_learned_time():
    assert TimeBound().limit_s(0.0, None, [100.0], 2) == 2000.0


def test_what_a_fold_will_take_is_told_by_its_steps_else_by_the_others():
    assert forecast_s(10.0, 0.25, [500.0]) == 40.0
    assert forecast_s(10.0, None, [30.0, 20.0, 40.0]) == 30.0
    assert forecast_s(50.0, 0.0, [30.0]) == 50.0
    assert forecast_s(10.0, None, []) is None


def test_silence_without_any_history_is_no_hang():
    silence = followed([])

    assert not silence.judgement(1e6).hang()


def test_silence_far_beyond_its_own_history_is_a_hang():
    silence = followed([(30.0, 1, "step"), (70.0, 2, "step"), (71.0, 3, "step")])

    assert not silence.judgement(71.0 + 119.0).hang()
    assert silence.judgement(71.0 + 121.0).hang() == (
        "no step for 121 s within an epoch; the longest pause before that was 40.0 s"
    )


def test_a_hang_tells_the_longest_pause_and_not_a_part_of_the_least_bound():
    silence = followed([(30.0, 1, "step"), (30.5, 2, "step")])

    assert (
        silence.judgement(30.5 + 61.0).hang().endswith("the longest pause before that was 0.50 s")
    )


def test_the_first_validation_is_measured_by_those_of_others_only():
    times: list[tuple[float, int, FitPhase]] = [
        (1.0, 1, "step"), (1.1, 2, "step"), (1.2, 3, "between"),
    ]  # fmt: skip
    others = StepGaps({"between": 100.0})

    alone, beside = followed(times), followed(times, others)

    assert not alone.judgement(1e6).hang()
    assert not beside.judgement(1.2 + 299.0).hang()
    assert beside.judgement(1.2 + 301.0).hang()


def test_a_hang_is_called_one_though_the_learned_time_is_over_first():
    silence = followed([(0.5, 10, "step"), (0.75, 11, "step")])

    cause, why = silence.judgement(60.1).overdue(60.0, 60.1, [2.0])

    assert cause == "hang"
    assert why == (
        "no step for 59 s within an epoch; the longest pause before that was 0.25 s; the finished"
        " folds suggest 60 s in total"
    )


@pytest.mark.parametrize("last_step_s", [59.0, 35.0])
def test_a_slow_fold_whose_learned_time_is_over_is_no_hang(last_step_s: float):
    silence = followed([(0.5, 1, "step"), (0.75, 2, "step"), (last_step_s, 9, "after")])

    cause, why = silence.judgement(60.1).overdue(60.0, 60.1, [2.0])

    assert cause == "timeout"
    assert why == "it took longer than the 60 s that the finished folds suggest"


def test_a_function_that_tells_no_steps_has_a_time_and_no_silence():
    others = StepGaps()
    for time_s in (90.0, 100.0):
        done = followed([])
        done.over(time_s)
        others.learn(done.own)

    alike, stepping = followed([], others), followed([], StepGaps({"begin": 2.0, "step": 0.1}))

    assert not alike.judgement(599.0).hang()
    assert alike.judgement(601.0).overdue(600.0, 601.0, [90.0, 100.0])[0] == "timeout"
    assert stepping.judgement(61.0).hang().startswith("no step for 61 s at its start")


def test_what_a_finished_fold_was_used_to_is_learned():
    habits = StepGaps()
    done = followed([(7.0, 1, "step"), (9.0, 2, "after")])
    done.over(50.0)

    habits.learn(done.own)

    assert habits.longest_s == {"begin": 7.0, "step": 2.0, "after": 41.0}


def test_memory_is_bounded_only_where_it_was_asked_for():
    assert not too_much_memory(2**40, None)
    assert too_much_memory(2**30 + 1, 2**30)
    assert not too_much_memory(2**30, 2**30)


@pytest.mark.parametrize("spread", [0.1, 0.4])
def test_in_a_thousand_simulated_studies_no_healthy_fold_is_ended(spread: float):
    dice = random.Random(7)  # noqa: S311 - a simulation
    ended = 0

    for _ in range(1000):
        usual_s = 10 ** dice.uniform(0, 4)
        times = [usual_s * dice.lognormvariate(0.0, spread) for _ in range(10)]
        for at, time_s in enumerate(times):
            limit_s = TimeBound().limit_s(time_s, None, times[:at], 1)
            ended += limit_s is not None and time_s > limit_s

    assert ended == 0


def test_in_simulated_fits_no_healthy_one_hangs_and_each_hung_one_is_found_in_time():
    dice = random.Random(8)  # noqa: S311 - a simulation

    for _ in range(200):
        step_s = 10 ** dice.uniform(-3, 2)
        silence, now_s, gaps = SilenceTracker(0.0, StepGaps()), 0.0, [0.0]
        for step in range(1, 200):
            gaps.append(step_s * dice.lognormvariate(0.0, 0.15))
            assert not silence.judgement(now_s + gaps[-1]).hang()
            now_s += gaps[-1]
            silence.note_progress(seen(now_s, step))
        longest_s = max(gaps[1:])

        assert silence.judgement(now_s + max(60.0, HUNG_WITHIN * longest_s) + 0.1).hang()
