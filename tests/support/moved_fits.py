"""Fits of a few steps with Keras' own list of callbacks and a clock that is moved."""

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
        epoch_iterator: Any = None,
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
        self.timer.follow(weakref.ref(self.listed), epoch_iterator)

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
        evaluated_s: float = 0.0,
        late_s: float | None = None,
    ) -> EpochParts:
        """One epoch, whose steps take so long, the last on a device that is late by so much.

        Args:
            evaluated_s: Time that Keras' `evaluate` takes after the validation's last hook.
        """
        self.listed.on_epoch_begin(0)
        self.hand.now_s += first_batch_s
        for step in range(self.steps):
            self.listed.on_train_batch_begin(step)
            seconds = step_s(step) if callable(step_s) else step_s
            self.hand.now_s += seconds
            self.listed.on_train_batch_end(step, {})
        if validation_s:
            self.listed.on_test_begin()
            if late_s is not None:
                self.hooks.computed_s = self.hand.now_s + late_s
            self.hand.now_s += validation_s
            self.listed.on_test_end({})
            self.hand.now_s += evaluated_s
        self.listed.on_epoch_end(0, {})
        assert self.faults == []
        return self.hooks.parts[-1]


def added_up(parts: EpochParts) -> float:
    return sum(getattr(parts, f"{name}_s") or 0.0 for name in EPOCH_PARTS)
