# pyright: reportImplicitOverride=false, reportArgumentType=false
"""After a reload each variable is as it was saved, whoever wrote to it meanwhile."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.tensorflow import recreate
from kmonitor_agent.frameworks.tensorflow.reclaim import Keras3TensorFlowReclaim
from kmonitor_agent.reclaim.actions import reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from tests.support.reloading import KERAS, state_of, tensorflow_framework

pytestmark = [*KERAS, pytest.mark.slow]

UNITS = 520
"""A kernel of more than a MiB."""

Patch = pytest.MonkeyPatch


class Narrow(keras.layers.Layer):
    """Keeps float8, of which many operations of TensorFlow know nothing."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.units = units

    def build(self, input_shape: Any) -> None:
        del input_shape
        self.kept = self.add_weight(
            shape=(self.units, self.units),
            dtype="float8_e4m3fn",
            initializer=lambda shape, dtype: tf.cast(tf.fill(shape, 1.5), dtype),
            trainable=False,
            autocast=False,
        )

    def call(self, inputs: Any) -> Any:
        return inputs


def fitted(*others: keras.layers.Layer) -> Any:
    model = keras.Sequential([keras.Input((UNITS,)), keras.layers.Dense(UNITS), *others])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(np.ones((4, UNITS), "float32"), np.ones((4, UNITS), "float32"), verbose=0)
    return model


@pytest.fixture
def comparisons(monkeypatch: Patch) -> list[str]:
    """One word for each time that the variables were compared with the file."""
    found: list[str] = []
    real = CheckpointStore.holds

    def holds(self: CheckpointStore, *args: Any) -> bool:
        found.append("compared")
        return real(self, *args)

    monkeypatch.setattr(CheckpointStore, "holds", holds)
    return found


def reloaded(model: Any, folder: Path, **how: Any) -> ReclaimOutcome:
    return reload(
        tensorflow_framework(),
        model,
        CheckpointStore(folder),
        tag=CheckpointTag("run", 1, 0),
        **how,
    )


def meanwhile(monkeypatch: Patch, write: Callable[[Any], None]) -> None:
    """Let something write to the largest weight once the state is saved."""
    real = Keras3TensorFlowReclaim.drop_functions

    def dropping(self: Keras3TensorFlowReclaim, model: Any) -> Any:
        write(model.layers[0].kernel.value)
        return real(self, model)

    monkeypatch.setattr(Keras3TensorFlowReclaim, "drop_functions", dropping)


def values(model: Any) -> list[bytes]:
    return [value.tobytes() for _, value in state_of(model)]


def test_variables_that_nobody_wrote_to_are_not_compared_with_the_file(
    tmp_path: Path, comparisons: list[str]
):
    model = fitted()
    before = values(model)

    outcome = reloaded(model, tmp_path)

    assert outcome.ok, outcome.why
    assert comparisons == []
    assert values(model) == before


@pytest.mark.parametrize(
    "write",
    [
        lambda kernel: kernel.assign_add(tf.ones_like(kernel)),
        lambda kernel: kernel.scatter_nd_update([[0, 0]], [7.0]),
        lambda kernel: kernel.assign(tf.zeros_like(kernel)),
    ],
    ids=["adds", "writes one element", "assigns"],
)
@pytest.mark.parametrize("mode", ["assign", "recreate"])
def test_what_was_written_meanwhile_is_as_it_was_saved_again(
    tmp_path: Path, monkeypatch: Patch, write: Callable[[Any], None], mode: str
):
    model = fitted()
    before = values(model)
    meanwhile(monkeypatch, write)

    outcome = reloaded(model, tmp_path, mode=mode)

    assert outcome.ok, outcome.why
    assert outcome.mode == mode
    assert values(model) == before


def test_a_variable_that_is_updated_sparsely_is_compared_with_the_file(
    tmp_path: Path, comparisons: list[str]
):
    model = fitted()
    kernel = model.layers[0].kernel.value
    kernel.scatter_update(tf.IndexedSlices(tf.ones((1, UNITS)), [0]))
    before = values(model)

    outcome = reloaded(model, tmp_path)

    assert outcome.ok, outcome.why
    assert comparisons
    assert values(model) == before


@pytest.mark.parametrize(
    ("units", "mode"),
    [
        pytest.param(100, "assign", id="small-assign"),
        pytest.param(100, "recreate", id="small-recreate", marks=pytest.mark.full),
        pytest.param(1100, "assign", id="large-assign", marks=pytest.mark.full),
        pytest.param(1100, "recreate", id="large-recreate"),
    ],
)
def test_a_dtype_that_few_operations_know_comes_back(tmp_path: Path, units: int, mode: str):
    model = fitted(Narrow(units))
    before = values(model)

    outcome = reloaded(model, tmp_path, mode=mode)

    assert outcome.ok, outcome.why
    assert outcome.mode == mode
    assert values(model) == before


def test_a_variable_that_cannot_be_made_carefully_is_made_plainly(
    tmp_path: Path, monkeypatch: Patch
):
    def fail(_: Any) -> Any:
        raise tf.errors.InternalError(None, None, "not copied, for a test")

    model = fitted(Narrow(100))
    before = values(model)
    monkeypatch.setattr(recreate, "copy_into_allocator", fail)

    outcome = reloaded(model, tmp_path, mode="recreate")

    assert not outcome.ok
    assert "but the state is unchanged" in outcome.why
    assert "not copied" in outcome.why
    assert values(model) == before
