"""Pauses of healthy trainings are never taken for a hang, and a hang is reported in time."""

from collections.abc import Iterator

import pytest

from kmonitor.hub.judge.slowness.stall_detector import (
    LEAST_ELSEWHERE_S,
    LEAST_S,
    FitStage,
    Stall,
    StallDetector,
)


class Training:
    """A made-up fit, polled each second as by the agent."""

    def __init__(self, *, steps: int | None = 20) -> None:
        self.silence = StallDetector()
        self.told: list[Stall] = []
        self.now_s = 0.0
        self.at = (0, 0)
        self._looked_s = 0.0
        self.silence.begin_fit(0.0, steps=steps)

    def stay_silent(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while self._looked_s + 1.0 <= until_s:
            self._looked_s += 1.0
            stall = self.silence.check(self._looked_s, *self.at)
            if stall is not None:
                self.told.append(stall)
        self.now_s = until_s

    def steps(self, pauses_s: Iterator[float] | list[float], *, epoch: int = 0) -> None:
        """Begin a step after each pause."""
        for step, pause_s in enumerate(pauses_s, 1):
            self.stay_silent(pause_s)
            self.at = (epoch, step)

    def epoch(self, epoch: int, *, validation_s: float = 0.0, step_s: float = 0.3) -> None:
        self.at = (epoch, 0)
        self.steps([step_s] * 20, epoch=epoch)
        self.stay_silent(validation_s)
        self.silence.end_epoch(20)

    def next_fit(self) -> None:
        self.silence.end_fit()
        self.silence.begin_fit(self.now_s, steps=20)
        self.at = (0, 0)


def test_steps_of_any_pace_are_no_hang():
    for step_s in (0.01, 0.9, 7.0, 45.0):
        run = Training()
        for epoch in range(3):
            run.epoch(epoch, step_s=step_s)

        assert run.told == []


def test_a_hang_is_told_where_epochs_are_shorter_than_the_looks():
    run = Training()
    for epoch in range(60):
        run.epoch(epoch, step_s=0.007)
    run.at = (60, 0)
    run.steps([0.007] * 5, epoch=60)
    run.stay_silent(2 * LEAST_S)

    assert run.told[0].fit_stage is FitStage.EPOCH
    assert run.told[0].silent_s <= LEAST_S + 1.0


def test_long_validations_of_short_epochs_are_no_hang():
    run = Training()
    for epoch in range(40):
        run.epoch(epoch, step_s=0.007, validation_s=15.0 if epoch % 10 == 9 else 0.5)

    assert run.told == []


def test_pauses_as_long_as_those_before_are_no_hang():
    run = Training(steps=1000)
    run.steps([0.2] * 50 + [15.0] + [0.2] * 50 + [40.0] + [0.2] * 50)

    assert run.told == []


def test_the_model_of_a_later_fit_may_be_slower():
    run = Training()
    for step_s in (0.2, 30.0, 80.0):
        run.epoch(0, step_s=step_s, validation_s=10.0 * step_s)
        run.next_fit()

    assert run.told == []


def test_a_slow_validation_after_each_epoch_is_no_hang():
    run = Training()
    for epoch in range(4):
        run.epoch(epoch, validation_s=300.0 + 100.0 * epoch)

    assert run.told == []


def test_a_first_step_that_compiles_for_long_is_no_hang():
    run = Training()
    run.stay_silent(600.0)
    run.at = (0, 1)
    run.stay_silent(600.0)
    run.at = (0, 2)
    run.stay_silent(5.0)

    assert run.told == []


def test_an_epoch_that_is_validated_as_the_only_one_is_no_hang_while_it_is_shorter_than_epochs():
    run = Training()
    for epoch in range(4):
        run.epoch(epoch, step_s=6.0)
    run.epoch(4, step_s=6.0, validation_s=100.0)
    run.epoch(5)

    assert run.told == []


@pytest.mark.parametrize(("pause_s", "bound_s"), [(0.4, LEAST_S), (10.0, 30.0)])
def test_a_hang_within_an_epoch_is_told_before_twice_its_bound(pause_s: float, bound_s: float):
    run = Training()
    run.steps([0.3] * 12 + [pause_s, 0.3])
    began_s = run.now_s

    run.stay_silent(2 * bound_s + 2.0)

    first = run.told[0]
    assert first.fit_stage is FitStage.EPOCH
    assert bound_s < first.silent_s <= 2 * bound_s
    assert first.longest_s == pytest.approx(pause_s, abs=1.0)
    assert first.since_s == pytest.approx(began_s, abs=1.0)


def test_a_hang_between_epochs_is_told():
    run = Training()
    run.epoch(0, validation_s=30.0)
    run.epoch(1, validation_s=30.0)
    run.stay_silent(60.0)
    assert run.told == []

    run.stay_silent(60.0)
    assert run.told[0].fit_stage is FitStage.BETWEEN
    assert run.told[0].longest_s == pytest.approx(31.0, abs=1.5)


def test_a_hang_at_the_begin_is_told_once_two_fits_have_begun():
    run = Training()
    for _ in range(2):
        run.epoch(0)
        run.next_fit()

    run.stay_silent(2 * LEAST_ELSEWHERE_S)

    assert run.told[0].fit_stage is FitStage.BEGIN


def test_steps_that_come_again_end_it_and_are_learned():
    run = Training(steps=1000)
    run.steps([0.3] * 20)
    run.stay_silent(30.0)
    assert run.told
    n = len(run.told)

    run.at = (0, 21)
    run.stay_silent(1.0)
    assert run.silence.is_moving

    run.stay_silent(80.0)
    assert len(run.told) == n  # three times those 30 s


def test_where_the_number_of_steps_is_not_known_nothing_is_told_in_the_first_epoch():
    run = Training(steps=None)
    run.steps([0.3] * 20)
    run.stay_silent(500.0)
    assert run.told == []

    run.silence.end_epoch(20)
    run.at = (1, 0)
    run.steps([0.3] * 10, epoch=1)
    run.stay_silent(30.0)
    assert run.told[0].fit_stage is FitStage.EPOCH


def test_what_somebody_else_held_up_is_neither_told_nor_learned():
    run = Training(steps=1000)
    run.steps([0.3] * 20)
    run.stay_silent(19.0)
    run.silence.excuse_until(run.now_s)
    run.stay_silent(100.0)  # the first step after it is retraced
    run.steps([0.3] * 60)
    assert run.told == []

    run.stay_silent(LEAST_S + 3.0)
    assert run.told[0].longest_s < 3.0


def test_a_process_that_was_stopped_made_no_pause():
    silence = StallDetector()
    silence.begin_fit(0.0, steps=1000)
    for second in range(1, 40):
        silence.check(float(second), 0, second)

    assert silence.check(4000.0, 0, 39) is None
    assert silence.check(4001.0, 0, 40) is None
    stalls = [silence.check(4001.0 + second, 0, 40) for second in range(1, 23)]
    assert stalls[10] is None
    assert stalls[-1] is not None
    assert stalls[-1].longest_s < 3.0


def test_outside_of_a_fit_no_step_is_expected():
    run = Training()
    run.epoch(0)
    run.silence.end_fit()
    run.stay_silent(1000.0)

    assert run.told == []


def test_a_fit_that_is_joined_is_judged_after_it_was_seen_to_train():
    silence = StallDetector()
    silence.join_fit(0.0, 0, 100, steps=1000)
    told = [silence.check(float(second), 0, 100) for second in range(1, 500)]
    assert not any(told)
    assert not silence.is_moving

    for second in range(500, 530):
        silence.check(float(second), 0, second)
    assert any(silence.check(float(second), 0, 529) for second in range(530, 555))
