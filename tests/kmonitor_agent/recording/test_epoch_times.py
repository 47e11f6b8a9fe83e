"""Parts of an epoch's time, with Keras' own list of callbacks and a clock that is moved."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
import weakref
from collections.abc import Callable
from typing import Any

import keras
import pytest

from kmonitor_agent.frameworks import input_timing as input_module
from kmonitor_agent.probes import compiled_code, step_clock
from kmonitor_agent.probes.step_clock import StepClock
from kmonitor_agent.recording import epoch_times
from kmonitor_agent.recording.epoch_times import EpochTimer
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.events import EPOCH_PARTS, EpochParts
from kmonitor_agent.wire.messages.readings import Reading
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]


class Hand:
    """Stands in for `perf_counter`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        for module in (epoch_times, step_clock, input_module, compiled_code):
            monkeypatch.setattr(module, "perf_counter", lambda: self.now_s)


class Taking(keras.callbacks.Callback):
    """Takes so long in each hook."""

    def __init__(self, hand: Hand, *, step_s: float = 0.0, epoch_s: float = 0.0) -> None:
        super().__init__()
        self._hand = hand
        self.step_s = step_s
        self._epoch_s = epoch_s

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._hand.now_s += self.step_s

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._hand.now_s += self._epoch_s


class Other(Taking):
    """Another class."""


class Hooks(keras.callbacks.Callback):
    """Calls the timer where the recorder does."""

    def __init__(self, timer: EpochTimer, clock: StepClock) -> None:
        super().__init__()
        self._timer = timer
        self._clock = clock
        self.parts: list[EpochParts] = []
        self.computed_s = 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._clock.begin_epoch()
        params: Any = self.params
        self._clock.plan(params["steps"])
        self._timer.begin_epoch()
        self._timer.leave("input")

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._clock.tick(batch)

    def on_test_begin(self, logs: Any = None) -> None:
        self._timer.begin_validation()

    def on_test_end(self, logs: Any = None) -> None:
        self._timer.end_validation()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._timer.enter()
        self.parts.append(self._timer.end_epoch(self._clock.step_times(), self.computed_s))
        self._timer.leave("between_epochs")


class Fit:
    """Keras' list, driven as `fit` drives it."""

    def __init__(
        self,
        hand: Hand,
        *others: keras.callbacks.Callback,
        steps: int = 10,
        since: tuple[float | None, float] = (None, 0.0),
    ) -> None:
        self.hand = hand
        self.steps = steps
        self.functions = 1.0
        self.clock = StepClock(on_due=self._due, on_long=self._long)
        self.faults: list[Exception] = []
        self.timer = EpochTimer(
            self.clock,
            lambda: Reading(self.functions, "functions", "test"),
            Privacy(private=False),
            self.faults.append,
            *since,
        )
        self.hooks = Hooks(self.timer, self.clock)
        self.listed: Any = keras.callbacks.CallbackList([others[0], self.hooks, *others[1:]])
        self.listed.set_params({"steps": steps})
        self.timer.follow(weakref.ref(self.listed), None)

    def _due(self) -> None:
        self.timer.enter()
        self.clock.due = False
        self.timer.step_due()

    def _long(self, seconds: float) -> None:
        self.timer.note_long(seconds)

    def epoch(
        self,
        step_s: float | Callable[[int], float],
        *,
        first_batch_s: float = 0.0,
        validation_s: float = 0.0,
        late_s: float | None = None,
    ) -> EpochParts:
        """One epoch, whose steps take so long, the last on a device that is late by so much."""
        self.listed.on_epoch_begin(0)
        self.hand.now_s += first_batch_s
        for step in range(self.steps):
            self.listed.on_train_batch_begin(step)
            self.hand.now_s += step_s(step) if callable(step_s) else step_s
            self.listed.on_train_batch_end(step, {})
        if validation_s:
            self.listed.on_test_begin()
            if late_s is not None:
                self.hooks.computed_s = self.hand.now_s + late_s
            self.hand.now_s += validation_s
            self.listed.on_test_end({})
        self.listed.on_epoch_end(0, {})
        assert self.faults == []
        return self.hooks.parts[-1]


def added_up(parts: EpochParts) -> float:
    return sum(getattr(parts, f"{name}_s") or 0.0 for name in EPOCH_PARTS)


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
