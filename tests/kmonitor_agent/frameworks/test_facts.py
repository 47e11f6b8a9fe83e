"""A model's facts about itself: how it is compiled, and its parts."""

import weakref
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.base import FitFacts
from kmonitor_agent.frameworks.live_objects import models_in_use
from kmonitor_agent.frameworks.model_facts import (
    read_description,
    read_fit_facts,
    read_learning_rate,
    sequence_length_of,
)
from tests.support.reloading import BATCH, KERAS, arrays, dense_model

pytestmark = KERAS


class _Held:
    """Stands for an iterator over data."""


def test_a_compiled_model_tells_how_it_will_be_fitted():
    model = dense_model(optimizer=keras.optimizers.AdamW(0.25), loss="mse", steps_per_execution=4)

    facts = read_fit_facts(model)

    assert facts.optimizer == "AdamW"
    assert facts.learning_rate == 0.25
    assert facts.steps_per_execution == 4
    assert facts.loss == "mse"
    assert facts.dtype_policy == "float32"
    assert facts.run_eagerly is False
    assert facts.batch_size is None


@pytest.mark.parametrize("ask", [read_fit_facts, lambda _: models_in_use()])
def test_what_is_asked_within_fit_keeps_nothing_of_its_variables(ask: Callable[[Any], object]):
    model = dense_model()
    held = _Held()
    of_it = weakref.ref(held)

    def fit(self: Any, epoch_iterator: list[_Held]) -> None:
        iterator: _Held | None = epoch_iterator.pop()
        ask(self)
        iterator = None
        # Else Keras' `fit` keeps its first epoch's iterator, and waits for its threads at the end.
        assert (iterator, of_it()) == (None, None)

    data = [held]
    del held
    fit(model, data)


def facts_within_fit(model: Any, data: dict[str, Any]) -> FitFacts:
    """As a callback reads them when training begins."""
    seen: list[FitFacts] = []

    class Ask(keras.callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:  # pyright: ignore[reportImplicitOverride]
            seen.append(read_fit_facts(self.model))

    model.fit(**data, shuffle=False, verbose=0, callbacks=[Ask()])
    return seen[0]


@pytest.mark.slow
def test_the_batch_size_is_known_within_fit():
    facts = facts_within_fit(dense_model(run_eagerly=True), arrays(validation=False))

    assert (facts.batch_size, facts.sequence_length) == (BATCH, None)


def test_data_of_the_script_that_raise_when_looked_at_tell_no_length():
    class Gone:
        @property
        def shape(self) -> tuple[int, ...]:
            raise OSError("the file is gone")

    def fit(self: Any, x: Any) -> FitFacts:
        return read_fit_facts(self)

    model = keras.Sequential([keras.Input((None, 3)), keras.layers.Dense(1)])

    assert fit(model, Gone()).sequence_length is None


@pytest.mark.slow
def test_the_length_of_the_data_is_known_within_fit_where_the_model_leaves_it_open():
    open_model = keras.Sequential(
        [keras.Input((None, 3)), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)]
    )
    open_model.compile(loss="mse", run_eagerly=True)
    x, y = np.zeros((8, 5, 3), "float32"), np.zeros((8, 1), "float32")
    whole = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
    ragged = tf.data.Dataset.from_generator(
        lambda: iter([(x[:4], y[:4]), (x[:4, :2], y[:4])]),
        output_signature=(tf.TensorSpec((4, None, 3)), tf.TensorSpec((4, 1))),
    )
    given: list[dict[str, Any]] = [
        {"x": x, "y": y},
        {"x": whole},
        {"x": ragged.repeat(), "steps_per_epoch": 2},
    ]

    told = [facts_within_fit(open_model, data).sequence_length for data in given]

    assert told == [5, 5, None]


@pytest.mark.parametrize(
    ("given", "length"),
    [
        ({"a": np.zeros((2, 7)), "b": np.zeros((2, 7))}, 7),
        ({"b": np.zeros((2, 7)), "a": np.zeros((2, 6))}, None),
        ([np.zeros((2, 7)), np.zeros((2, 7))], 7),
        ([np.zeros((2, 7))], None),
        ([np.zeros((2, 7)), np.zeros((2, 7, 1))], None),
        ({"a": np.zeros((2, 7))}, None),
        (None, None),
        (iter(()), None),
    ],
)
def test_one_length_is_told_where_all_inputs_have_the_same(given: Any, length: int | None):
    inputs = [keras.Input((None,), name=name) for name in ("a", "b")]
    model = keras.Model(inputs, keras.layers.Add()(inputs))

    assert sequence_length_of(model, {"x": given}) == length


def test_losses_are_named_in_words():
    model = dense_model(loss=keras.losses.Huber(name="my_huber"))
    assert read_fit_facts(model).loss == "my_huber"
    model.compile(loss=lambda y, p: keras.ops.mean(y - p))
    assert read_fit_facts(model).loss == "<lambda>"


def test_a_schedules_rate_is_evaluated_and_a_missing_optimizer_has_none():
    schedule: Any = keras.optimizers.schedules.ExponentialDecay(0.5, 10, 0.9)
    assert read_learning_rate(dense_model(optimizer=keras.optimizers.Adam(schedule))).value == 0.5
    bare = read_learning_rate(keras.Sequential([keras.Input((8,))]))
    assert (bare.value, bare.absent) == (None, "the model has no optimizer")


def test_mixed_precision_names_the_wrapped_optimizer():
    model = dense_model(optimizer=keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.5)))

    assert read_fit_facts(model).optimizer == "LossScaleOptimizer(Adam)"
    assert read_learning_rate(model).value == 0.5


def test_shared_weights_count_once_and_nested_layers_have_paths():
    shared = keras.layers.Dense(4, name="shared")
    inner = keras.Sequential([keras.Input((4,)), shared, keras.layers.Dense(2)], name="inner")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, inner(shared(inputs)), name="outer")

    found = read_description(model)

    names = [layer.name for layer in found.layers]
    assert "shared" in names
    assert "inner/shared" in names
    assert found.parameters == model.count_params() == 4 * 4 + 4 + 4 * 2 + 2
    assert found.parameter_bytes == 4 * found.parameters
    by_name = {layer.name: layer for layer in found.layers}
    assert by_name["shared"].parameters + by_name["inner/shared"].parameters == 20


def test_frozen_parameters_are_not_trainable_and_shapes_are_told():
    model = dense_model()
    model.layers[0].trainable = False

    first = read_description(model).layers[0]

    assert first.parameters == 8 * 8 + 8
    assert first.trainable_parameters == 0
    assert first.output_shape == "(None, 8)"


def test_optimizer_slots_are_grouped_by_kind():
    model = dense_model(optimizer=keras.optimizers.Adam())
    model.optimizer.build(model.trainable_variables)

    slots = {slot.name: slot for slot in read_description(model).slots}

    assert slots["momentum"].n == slots["velocity"].n == len(model.trainable_variables)
    assert slots["momentum"].n_bytes == sum(4 * v.numpy().size for v in model.trainable_variables)
    assert slots["iteration"].n == 1


def test_an_unbuilt_model_describes_what_it_has():
    found = read_description(keras.Sequential([keras.layers.Dense(3)]))

    assert found.parameters == 0
    assert found.slots == ()


def test_a_variable_is_not_asked_for_what_its_class_lacks():
    # A variable of a strategy looks for it in its value, which workers can only read together.
    class OfWorkers:
        name, shape, dtype = "layer/mean:0", (3,), "float32"

        def __getattr__(self, name: str) -> Any:
            pytest.fail(f"{name} was looked for in the value")

    class Optimizer:
        def __init__(self) -> None:
            self._variables = [OfWorkers()]

    class Model:
        def __init__(self) -> None:
            self._trainable_weights = [OfWorkers()]
            self.optimizer = Optimizer()

    found = read_description(Model())

    assert found.parameters == 3
    assert [slot.n for slot in found.slots] == [1]
