"""Parts of epochs in which one step takes far longer than the others."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf
from keras.src.backend.tensorflow.trainer import TFEpochIterator

from kmonitor_agent.frameworks.input_timing import MOST_GAPS, PythonInput
from kmonitor_agent.recording import epoch_times
from kmonitor_agent.wire.messages.events import EpochParts
from tests.support.moved_fits import Fit, Hand, Other, Taking, added_up
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]

STEPS = 100
PAUSED = 50
USUAL_S = 0.001
DROPPED_S = 10.0
"""TensorFlow drops gaps from this length on."""

Seconds = Callable[[int], float]


def never(_: int) -> float:
    return 0.0


def at_pause(seconds: float, step: int = PAUSED) -> Seconds:
    return lambda now: seconds if now == step else 0.0


class BeginTaking(Taking):
    """Takes its time at a step's begin."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._hand.now_s += self.step_s

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        pass


class Elements:
    """Data in Keras' iterator for TensorFlow, whose runtime keeps the times in between."""

    def __init__(self, hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
        self._hand = hand
        self._gaps_us: list[float] = []
        self._delivered_s = 0.0
        data = tf.data.Dataset.range(4)
        self.iterator: Any = TFEpochIterator(
            x=data, distribute_strategy=tf.distribute.get_strategy()
        )
        next(iter(self.iterator))  # as before the first step
        monkeypatch.setattr(tf.data.experimental, "get_model_proto", self._model)

    def take(self, wait_s: float) -> None:
        gap_s = self._hand.now_s - self._delivered_s
        if gap_s < DROPPED_S:
            self._gaps_us.append(1e6 * gap_s)
        self._hand.now_s += wait_s
        self._delivered_s = self._hand.now_s

    def _model(self, _: Any) -> Any:
        return SimpleNamespace(gap_times=self._gaps_us[-MOST_GAPS:])


class EpochIterator:
    """Stands in for Keras' own on JAX and PyTorch, which TensorFlow alone cannot import."""

    def __init__(self, steps: Iterator[Any]) -> None:
        self._epoch_iterator = steps

    def batch(self) -> None:
        _, _, batches = next(self._epoch_iterator)
        next(batches)


class Batches:
    """Data in a Python iterator, as Keras has it on JAX and PyTorch."""

    def __init__(self, hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
        self._hand = hand
        self._wait_s = 0.0
        self.iterator = EpochIterator(self._steps())
        monkeypatch.setattr(epoch_times, "input_timing", PythonInput)

    def take(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self.iterator.batch()

    def _steps(self) -> Iterator[tuple[int, int, Iterator[int]]]:
        while True:
            yield 0, 0, self._one()

    def _one(self) -> Iterator[int]:
        self._hand.now_s += self._wait_s
        yield 0


class Paused:
    """A fit whose steps wait a millisecond each, beside what is given for an epoch."""

    def __init__(
        self,
        hand: Hand,
        data: Elements | Batches,
        work_s: float = 0.004,
        taking: type[Taking] = Taking,
        *,
        is_before: bool = False,
    ) -> None:
        self._taking = taking(hand)
        self._data = data
        self._work_s = work_s
        callbacks = [Other(hand), self._taking]
        if is_before:
            callbacks.reverse()
        self.fit = Fit(hand, *callbacks, steps=STEPS, epoch_iterator=data.iterator)
        for _ in range(3):
            self.epoch()

    def epoch(
        self,
        *,
        callback_s: Seconds = never,
        wait_s: Seconds = never,
        stopped_s: Seconds = never,
    ) -> EpochParts:
        begins = isinstance(self._taking, BeginTaking)

        def step_s(step: int) -> float:
            self._taking.step_s = callback_s(step + 1 if begins else step)
            if step in {20, 70}:
                self.fit.clock.due = True
            self._data.take(USUAL_S + wait_s(step))
            # No two steps take the same time.
            return self._work_s * (1.0 + step / 1000.0) + stopped_s(step)

        parts = self.fit.epoch(step_s)
        assert added_up(parts) == pytest.approx(parts.wall_s)
        return parts

    @property
    def worked_s(self) -> float:
        return STEPS * self._work_s * (1.0 + (STEPS - 1) / 2000.0)


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Hand:
    return Hand(monkeypatch)


@pytest.fixture
def elements(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> Elements:
    return Elements(hand, monkeypatch)


@pytest.fixture(params=[Elements, Batches])
def data(
    request: pytest.FixtureRequest, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> Elements | Batches:
    return request.param(hand, monkeypatch)


def waited(extra_s: float = 0.0) -> Any:
    return pytest.approx(STEPS * USUAL_S + extra_s, rel=0.1)


@pytest.mark.parametrize("taking", [Taking, BeginTaking])
@pytest.mark.parametrize("seconds", [0.8, 2.0, 12.0])
def test_pause_in_an_untimed_step_is_other(
    hand: Hand, data: Elements | Batches, seconds: float, taking: type[Taking]
):
    paused = Paused(hand, data, taking=taking)

    parts = paused.epoch(callback_s=at_pause(seconds))

    assert parts.timed < 1.0
    assert parts.rest_s == pytest.approx(seconds, abs=0.04)
    assert parts.compute_s == pytest.approx(paused.worked_s, rel=0.1)
    assert parts.input_s == waited()


@pytest.mark.parametrize("seconds", [0.1, 0.19])
def test_shorter_step_is_divided(hand: Hand, data: Elements | Batches, seconds: float):
    parts = Paused(hand, data).epoch(callback_s=at_pause(seconds))

    assert parts.rest_s == pytest.approx(0.0, abs=1e-6)


def test_wait_within_a_pause_is_input_with_tensorflow(hand: Hand, elements: Elements):
    paused = Paused(hand, elements)

    def wait_s(step: int) -> float:
        return 3.0 if step == 30 else 0.0

    parts = paused.epoch(callback_s=at_pause(2.0), wait_s=wait_s)
    after = paused.epoch()

    assert parts.input_s == waited(3.0)
    assert parts.rest_s == pytest.approx(2.0, rel=0.01)
    assert parts.compute_s == pytest.approx(paused.worked_s, rel=0.1)
    assert after.input_s == waited()


def test_wait_within_a_pause_is_other_with_python(hand: Hand, monkeypatch: pytest.MonkeyPatch):
    paused = Paused(hand, Batches(hand, monkeypatch))

    parts = paused.epoch(wait_s=at_pause(3.0))

    assert parts.rest_s == pytest.approx(3.0, rel=0.01)
    assert parts.input_s == waited()


def test_all_steps_are_timed_for_twenty_epochs_after_slow_ones(
    hand: Hand, data: Elements | Batches
):
    paused = Paused(hand, data)
    paused.epoch(callback_s=at_pause(1.0))

    parts = [paused.epoch(callback_s=at_pause(0.05)) for _ in range(21)]

    assert [each.timed == pytest.approx(1.0) for each in parts] == [True] * 20 + [False]
    assert [each.callbacks_s for each in parts[:20]] == pytest.approx([0.05] * 20)


def test_watch_begins_again_with_slow_steps(hand: Hand, data: Elements | Batches):
    paused = Paused(hand, data)

    parts = [paused.epoch(callback_s=at_pause(1.0 if n % 8 == 0 else 0.0)) for n in range(41)]

    assert parts[0].rest_s == pytest.approx(1.0, rel=0.01)
    later = [each.callbacks_s for each in parts[8::8]]
    assert later == pytest.approx([1.0] * 5)


def test_steps_below_a_millisecond_are_not_watched_after_slow_ones(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
):
    fit = Fit(hand, Taking(hand), Other(hand), steps=STEPS)
    fit.epoch(lambda step: 0.5 if step == PAUSED else 0.0005)

    parts = [fit.epoch(0.0005) for _ in range(2)]

    assert parts[0].timed == pytest.approx(1.0)
    assert parts[1].timed < 1.0


@pytest.mark.parametrize("step", [0, 1, PAUSED, STEPS - 2])
def test_long_callback_of_a_timed_step_is_no_wait(hand: Hand, elements: Elements, step: int):
    paused = Paused(hand, elements, work_s=0.02)

    parts = paused.epoch(callback_s=at_pause(12.0, step))
    after = paused.epoch()

    assert parts.callbacks_s == pytest.approx(12.0)
    assert parts.input_s == after.input_s == waited()
    assert parts.compute_s == pytest.approx(paused.worked_s, rel=0.02)


@pytest.mark.parametrize("is_before", [True, False])
def test_long_callback_at_the_begin_of_a_timed_step_is_no_wait(
    hand: Hand, elements: Elements, *, is_before: bool
):
    paused = Paused(hand, elements, work_s=0.02, taking=BeginTaking, is_before=is_before)

    parts = paused.epoch(callback_s=at_pause(12.0))

    assert parts.callbacks_s == pytest.approx(12.0)
    assert parts.input_s == waited()


def test_timed_step_that_was_stopped_is_no_wait(hand: Hand, elements: Elements):
    paused = Paused(hand, elements, work_s=0.02)

    parts = paused.epoch(stopped_s=at_pause(12.0))

    assert parts.input_s == waited()
    assert parts.compute_s == pytest.approx(paused.worked_s + 12.0, rel=0.02)


@pytest.mark.parametrize("step", [0, 1, PAUSED])
def test_long_wait_of_a_timed_step_is_input(hand: Hand, elements: Elements, step: int):
    paused = Paused(hand, elements, work_s=0.02)

    parts = paused.epoch(wait_s=at_pause(12.0, step))

    # The wait of 98 steps represents that of 100.
    assert parts.input_s == pytest.approx(12.0 + STEPS * USUAL_S, rel=0.025)
    assert parts.first_input_s == pytest.approx(12.0 if step == 0 else 0.0, rel=0.01, abs=0.01)


@pytest.mark.parametrize("step", [STEPS - 3, STEPS - 2, STEPS - 1])
def test_long_wait_of_the_last_steps_is_input(hand: Hand, elements: Elements, step: int):
    paused = Paused(hand, elements)

    parts = paused.epoch(wait_s=at_pause(0.15, step))
    after = paused.epoch()

    assert parts.input_s == pytest.approx(0.15 + STEPS * USUAL_S, rel=0.03)
    assert after.input_s == waited()


def test_long_callback_of_the_last_step_is_no_wait(hand: Hand, elements: Elements):
    paused = Paused(hand, elements)

    parts = paused.epoch(callback_s=at_pause(0.15, STEPS - 1))

    assert parts.input_s == waited()


def test_wait_in_a_timed_step_that_is_far_longer_represents_no_other(
    hand: Hand, elements: Elements
):
    paused = Paused(hand, elements)
    paused.fit.steps = 4 * STEPS
    paused.epoch(callback_s=at_pause(1.0))  # all steps are timed from now on

    parts = paused.epoch(wait_s=at_pause(0.3, 300))
    again = paused.epoch(wait_s=at_pause(0.3, 10))

    assert parts.timed == again.timed == pytest.approx(1.0)
    assert parts.input_s == pytest.approx(0.3 + 4 * STEPS * USUAL_S, rel=0.01)
    assert again.input_s == pytest.approx(0.3 + 4 * STEPS * USUAL_S, rel=0.01)


def test_all_waits_are_read_while_all_steps_are_timed(hand: Hand, elements: Elements):
    paused = Paused(hand, elements)
    paused.fit.steps = 4 * STEPS
    paused.epoch(callback_s=at_pause(1.0))

    each = [paused.epoch(wait_s=at_pause(0.03, step)) for step in range(10, 400, 30)]

    expected = pytest.approx(0.03 + 4 * STEPS * USUAL_S, rel=0.01)
    assert [parts.input_s for parts in each] == [expected] * len(each)


def test_steps_that_all_wait_long_are_input(hand: Hand, elements: Elements):
    paused = Paused(hand, elements, work_s=0.02)

    parts = paused.epoch(wait_s=lambda _: 11.0)

    assert parts.input_s == waited(STEPS * 11.0)
