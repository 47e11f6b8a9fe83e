"""The callback's events for a memory map: the model's layout, the memory of its first steps."""

from typing import Any

import keras
import numpy as np
import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.frameworks.layout_reader import fit_layout, read_layout
from kmonitor_agent.wire.messages.events import FitStarted, LayoutPart, StepPeak
from kmonitor_agent.wire.messages.model_layout import join_layout_parts
from tests.support import callback_fits
from tests.support.callback_fits import Told, of
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]

closed_runs = callback_fits.closed_runs
monitor = callback_fits.monitor
told = callback_fits.told

tf: Any = pytest.importorskip("tensorflow")

WIDE = 40_000
X = np.zeros((96, 4), "float32")
Y = np.zeros((96, 1), "float32")


@pytest.fixture(autouse=True)
def new_peak() -> None:
    """The allocator's peak is the process's, and other tests had theirs."""
    tf.config.experimental.reset_memory_stats("CPU:0")


def wide_model() -> Any:
    """Its feature maps are large enough for a CPU's allocator to count them."""
    parts = [keras.layers.Dense(WIDE, activation="tanh"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((4,)), *parts])
    model.compile("sgd", "mse", jit_compile=False)  # pyright: ignore[reportArgumentType]
    return model


def fit(model: Any, callback: Any, batch: int, **options: Any) -> None:
    model.fit(X, Y, batch_size=batch, verbose=0, callbacks=[callback], **options)


def test_layout_is_told_once_and_each_batch_size_that_took_more_than_all_before(
    monitor: Any, told: Told
):
    model = wide_model()

    for batch in (8, 16, 8):
        fit(model, monitor, batch)

    events = told(monitor)
    assert join_layout_parts(of(LayoutPart, events)) == read_layout(model)
    assert {each.fit for each in of(LayoutPart, events)} == {1}
    peaks = of(StepPeak, events)
    assert [(each.fit, each.batch, each.steps, each.device) for each in peaks] == [
        (1, 8, 5, "CPU"),
        (2, 16, 5, "CPU"),
    ]
    assert peaks[1].peak_bytes - peaks[0].peak_bytes > 8 * WIDE * 4
    assert all(each.peak_bytes - each.between_bytes > each.batch * WIDE * 4 for each in peaks)


def test_short_epochs_count_together(monitor: Any, told: Told):
    fit(wide_model(), monitor, 48, epochs=4)

    assert [each.steps for each in of(StepPeak, told(monitor))] == [5]


def test_the_batch_of_a_pipeline_is_told_though_its_last_may_be_smaller(monitor: Any, told: Told):
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(9).map(lambda x, y: (x, y)).prefetch(1)

    wide_model().fit(data, shuffle=False, verbose=0, callbacks=[monitor])

    events = told(monitor)
    assert [each.batch_size for each in of(FitStarted, events)] == [9]
    assert [each.batch for each in of(StepPeak, events)] == [9]


def test_a_private_run_tells_neither(told: Told):
    private = MonitorCallback("run", hub="off", private=True)

    fit(wide_model(), private, 8)

    events = told(private)
    assert not of(LayoutPart, events)
    assert not of(StepPeak, events)


def test_what_is_no_model_of_keras_3_has_no_layout():
    assert fit_layout(object()) is None
