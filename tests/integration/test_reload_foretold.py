# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
"""A warning that a reload would change a training's result comes before any request for one."""

from collections.abc import Iterator
from typing import Any

import keras
import pytest
import tensorflow as tf

from kmonitor_agent import MonitorCallback
from kmonitor_agent.recording.runs import RUNS
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import Notice
from tests.support.reloading import KERAS, arrays, dense_model
from tests.support.spooled import spooled_events

pytestmark = [*KERAS, pytest.mark.slow]


@pytest.fixture(autouse=True)
def closed_runs() -> Iterator[None]:
    """No run outlives its test."""
    yield
    RUNS.close()


class Noisy(keras.Model):
    """Draws from a stateful operation in its step, which a new trace reseeds."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, inputs: Any) -> Any:
        return self.dense(inputs + tf.random.uniform(tf.shape(inputs)))


def notices(folders: Folders, model: Any) -> list[Notice]:
    monitor = MonitorCallback("run", hub="off")
    for _ in range(2):
        model.fit(**arrays(validation=False), epochs=2, verbose=0, callbacks=[monitor])
    RUNS.close()
    told = spooled_events(folders, monitor.run_id)
    return [e for e in told if isinstance(e, Notice) and e.code == "reload_inexact"]


def test_a_step_that_a_new_trace_seeds_anew_is_told_once_a_fit(folders: Folders):
    model = Noisy()
    model.compile("sgd", "mse")

    found = notices(folders, model)

    assert len(found) == 2
    assert found[0].text.startswith("A reload in this fit is not exact: ")
    assert "RandomUniform" in found[0].text


def test_a_step_that_reloads_exactly_is_not_spoken_of(folders: Folders):
    assert notices(folders, dense_model()) == []
