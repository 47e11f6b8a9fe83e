"""Parts of an epoch's time, with Keras' own list of callbacks and a clock that is moved."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
from typing import Any

import keras
import pytest

from kmonitor_agent.probes import compiled_code
from kmonitor_agent.wire.messages.readings import Reading
from tests.support.moved_fits import Fit, Hand, Other, Taking, added_up
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Hand:
    return Hand(monkeypatch)


def test_each_callback_has_its_time_by_its_class(hand: Hand):
    fit = Fit(hand, Taking(hand, step_s=0.003), Other(hand, step_s=0.001, epoch_s=0.5))

    fit.epoch(0.008)
    parts = fit.epoch(0.008)

    assert added_up(parts) == pytest.approx(parts.wall_s)
    assert parts.compute_s == pytest.approx(0.08)
    assert parts.timed == pytest.approx(1.0)
    times = {each.name: each.seconds for each in parts.callbacks}
    assert times["Taking"] == pytest.approx(0.03)
    # The time of the epoch before came after its end was reported.
    assert times["Other"] == pytest.approx(0.01 + 0.5)
    assert parts.callbacks_s == pytest.approx(0.54)


def test_time_of_a_callback_in_steps_is_apart_from_that_at_the_end_of_an_epoch(hand: Hand):
    fit = Fit(hand, Taking(hand, step_s=0.003), Other(hand, epoch_s=0.5))

    fit.epoch(0.008)
    parts = fit.epoch(0.008)

    times = {each.name: (each.in_steps_s, each.seconds) for each in parts.callbacks}
    # Neither the first of the ten steps nor the last, after which none begins.
    assert times["Taking"] == pytest.approx((8 * 0.003, 10 * 0.003))
    assert times["Other"] == pytest.approx((0.0, 0.5))


def test_short_steps_are_shared_out_as_those_that_were_timed(hand: Hand):
    fit = Fit(hand, Taking(hand, step_s=0.0004), Other(hand), steps=100)

    fit.epoch(0.0006)
    parts = fit.epoch(0.0006)

    assert added_up(parts) == pytest.approx(parts.wall_s) == pytest.approx(0.1)
    assert parts.timed < 0.1
    assert parts.callbacks_s == pytest.approx(0.04, rel=0.01)
    assert parts.compute_s == pytest.approx(0.06, rel=0.01)


def test_short_steps_of_epochs_before_speak_too_where_few_were_timed(hand: Hand):
    taking = Taking(hand, step_s=0.0004)
    fit = Fit(hand, taking, Other(hand), steps=100)
    fit.epoch(0.0006)
    fit.epoch(0.0006)

    taking.step_s = 0.0006  # in this epoch's steps that are timed, by chance
    once = fit.epoch(0.0004)
    taking.step_s = 0.0004
    later = [fit.epoch(0.0006) for _ in range(10)][-1]

    assert 0.04 < once.callbacks_s < 0.05
    assert later.callbacks_s == pytest.approx(0.04, rel=0.02)


class Saving(keras.callbacks.ModelCheckpoint):
    """Takes so long at the end of each epoch."""

    def __init__(self, hand: Hand) -> None:
        super().__init__("unused.keras")
        self._hand = hand

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._hand.now_s += 5.0


def test_what_was_not_timed_goes_to_the_callbacks_of_steps_alone(hand: Hand):
    fit = Fit(
        hand,
        Taking(hand, step_s=0.0004),
        Other(hand, epoch_s=3.0),
        Saving(hand),
        steps=100,
    )

    fit.epoch(0.0006)
    parts = fit.epoch(0.0006)

    times = {(each.name, each.saves): each.seconds for each in parts.callbacks}
    in_steps = {each.name: each.in_steps_s for each in parts.callbacks}
    assert in_steps["Taking"] == pytest.approx(0.04, rel=0.03)
    assert in_steps["Other"] == in_steps["Saving"] == 0.0
    assert times["Taking", False] == pytest.approx(0.04, rel=0.01)
    assert times["Other", False] == pytest.approx(3.0, rel=0.001)
    assert times["Saving", True] == pytest.approx(5.0, rel=0.001)
    assert parts.checkpoints_s == pytest.approx(5.0, rel=0.001)
    assert parts.callbacks_s == pytest.approx(3.04, rel=0.001)
    assert added_up(parts) == pytest.approx(parts.wall_s)


def test_marks_are_out_of_the_list_while_steps_are_short(hand: Hand):
    taking, other = Taking(hand), Other(hand)
    fit = Fit(hand, taking, other, steps=100)
    seen: list[list[Any]] = []
    original = fit.listed.callbacks

    fit.epoch(lambda step: seen.append(list(fit.listed.callbacks)) or 0.0005)

    assert seen[50] == [taking, fit.hooks, other]
    assert len(seen[0]) == 7
    fit.timer.close()
    assert fit.listed.callbacks is original


def test_callback_that_the_script_adds_meanwhile_stays(hand: Hand):
    fit, added = Fit(hand, Taking(hand), Other(hand)), Other(hand)

    fit.epoch(lambda step: step or fit.listed.callbacks.append(added) or 0.01)
    fit.timer.close()

    assert fit.listed.callbacks[-1] is added
    assert len(fit.listed.callbacks) == 4


def test_validation_and_first_batch_are_parts_of_their_own(hand: Hand):
    fit = Fit(hand, Taking(hand), Other(hand))

    fit.epoch(0.01)
    hand.now_s += 0.7
    parts = fit.epoch(0.01, first_batch_s=0.3, validation_s=0.2)

    assert added_up(parts) == pytest.approx(parts.wall_s) == pytest.approx(1.3)
    assert parts.validation_s == pytest.approx(0.2)
    assert parts.between_epochs_s == pytest.approx(0.7)
    # Without Keras' iterator, the wait for data cannot be separated from computing.
    assert parts.input_s is None
    assert parts.compute_s == pytest.approx(0.1 + 0.3)


def test_end_of_the_iterator_of_a_validation_is_part_of_it(hand: Hand):
    fit = Fit(hand, Taking(hand), Other(hand, epoch_s=0.4))

    fit.epoch(0.01)
    parts = fit.epoch(0.01, validation_s=0.2, evaluated_s=0.6)

    assert added_up(parts) == pytest.approx(parts.wall_s)
    assert parts.validation_s == pytest.approx(0.8)
    assert parts.callbacks_s == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("late_s", "of_steps_s"),
    [
        pytest.param(0.15, 0.15, id="within the validation"),
        pytest.param(0.25, 0.2, id="seen after it"),
        pytest.param(-0.01, 0.0, id="before it"),
    ],
)
def test_what_a_device_computes_of_steps_during_validation_is_compute(
    hand: Hand, late_s: float, of_steps_s: float
):
    fit = Fit(hand, Taking(hand), Other(hand))

    fit.epoch(0.01)
    parts = fit.epoch(0.01, validation_s=0.2, late_s=late_s)

    assert added_up(parts) == pytest.approx(parts.wall_s) == pytest.approx(0.3)
    assert parts.validation_s == pytest.approx(0.2 - of_steps_s)
    assert parts.compute_s == pytest.approx(0.1 + of_steps_s)


def test_collect_between_fits_is_kmonitors_time(hand: Hand):
    ended_s = hand.now_s
    hand.now_s += 5.0

    parts = Fit(hand, Taking(hand), since=(ended_s, 2.0)).epoch(0.01)

    assert parts.between_fits_s == pytest.approx(3.0)
    assert parts.ours_s == pytest.approx(2.0)


def test_step_that_was_traced_has_what_it_took_more(hand: Hand):
    fit = Fit(hand, Taking(hand), Other(hand))

    def step_s(step: int) -> float:
        if step == 5:
            fit.functions += 1.0
            return 0.81
        return 0.01

    fit.epoch(0.01)
    parts = fit.epoch(step_s)

    assert parts.compiling_s == pytest.approx(0.8)
    assert parts.compute_s == pytest.approx(0.1)


def test_compiling_is_found_in_steps_that_are_not_timed(hand: Hand):
    fit = Fit(hand, Taking(hand), Other(hand), steps=100)

    def step_s(step: int) -> float:
        if step in {30, 60}:
            fit.functions += 1.0
            return 0.201 + 0.1 * (step == 30)
        return 0.101 if step == 50 else 0.001

    fit.epoch(0.001)
    parts = fit.epoch(step_s)

    assert parts.timed < 1.0
    assert parts.compiling_s == pytest.approx(0.5)
    assert parts.compute_s == pytest.approx(0.2)


def test_machine_code_is_counted_after_unusually_long_steps_alone(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
):
    regions = [100.0]
    readings = 0

    def read(_: Any) -> Reading:
        nonlocal readings
        readings += 1
        return Reading(regions[-1], "regions", "test")

    monkeypatch.setattr(compiled_code, "read_code_regions", read)
    fit = Fit(hand, Taking(hand), Other(hand), steps=100)

    def step_s(step: int) -> float:
        if step == 30:
            regions.append(125.0)
        return 0.081 if step in {30, 60} else 0.001

    fit.epoch(0.001)
    before = readings
    parts = fit.epoch(step_s)

    assert parts.compiling_s == pytest.approx(0.08)
    assert readings - before == 2


def test_all_steps_are_timed_after_few_slow_ones_took_much(hand: Hand):
    fit = Fit(hand, Taking(hand), Other(hand), steps=100)

    fit.epoch(lambda step: 0.5 if step == 50 else 0.0015)
    parts = fit.epoch(lambda step: 0.5 if step == 50 else 0.0015)

    assert parts.timed == pytest.approx(1.0)


def test_epoch_without_known_steps_adds_up_too(hand: Hand):
    fit = Fit(hand, Taking(hand, step_s=0.0001, epoch_s=0.2), Other(hand), steps=100)
    fit.listed.set_params({"steps": None})

    parts = fit.epoch(0.0005)

    assert added_up(parts) == pytest.approx(parts.wall_s) == pytest.approx(0.26)
