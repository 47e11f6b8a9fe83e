"""Fits of a small model with the callback, and the callback's events of them."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import keras
import numpy as np
import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.recording.runs import RUNS
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import AnyEvent
from tests.support.recorders import faults_of
from tests.support.spooled import spooled_events

X = np.linspace(0.0, 1.0, 48 * 4, dtype="float32").reshape(48, 4)
Y = X.sum(axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def closed_runs() -> Iterator[None]:
    """No run outlives its test."""
    yield
    RUNS.close()


def small_model() -> Any:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def fit(model: Any, *callbacks: Any, epochs: int = 2) -> Any:
    return model.fit(X, Y, batch_size=8, epochs=epochs, verbose=0, callbacks=list(callbacks))


@pytest.fixture
def monitor() -> Any:
    return MonitorCallback("run", hub="off")


@pytest.fixture
def told(folders: Folders) -> Callable[[Any], list[AnyEvent]]:
    """Ends a callback's run and reads its events."""

    def read(callback: Any) -> list[AnyEvent]:
        assert faults_of(callback) == {}
        RUNS.close()
        return spooled_events(folders, callback.run_id)

    return read


T = TypeVar("T")
Told = Callable[[Any], list[AnyEvent]]


class Hook(keras.callbacks.Callback):
    """Calls a function at each epoch's begin."""

    def __init__(self, at_epoch: Callable[[int], object]) -> None:
        super().__init__()
        self._at_epoch = at_epoch

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._at_epoch(epoch)


def of(kind: type[T], events: list[AnyEvent]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]
