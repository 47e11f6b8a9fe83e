# pyright: reportArgumentType=false, reportCallIssue=false
"""A training step traced: what is in the program, and what stays as it was."""

import gc
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from kmonitor.memory.simulation.step_simulation import Simulation
from kmonitor_agent.frameworks.tensorflow import size_formulas, step_program
from kmonitor_agent.frameworks.tensorflow.step_program import (
    CannotTrace,
    set_optimizer,
    trace_training_step,
)
from kmonitor_agent.wire.messages.model_layout import OptimizerLayout
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="graphs")]


def small(**compiled: Any) -> Any:
    model = keras.Sequential(
        [layers.Input((12, 12, 3)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(2)]
    )
    model.compile(compiled.pop("optimizer", "adam"), "mse", jit_compile=False, **compiled)
    return model


def test_a_step_is_traced_for_any_batch_and_the_model_stays_as_it_is():
    model = small()
    model.optimizer.build(model.trainable_variables)
    before = [np.array(each) for each in model.get_weights()]

    program = trace_training_step(model)

    kept = [*model.variables, *model.optimizer.variables, *model.metrics_variables]
    sizes = {id(each): np.array(each).nbytes for each in kept}
    assert sum(program.variables) == sum(sizes.values())
    assert program.unknown == 0
    assert any(each.terms for each in program.extents)
    assert model.optimizer.iterations.numpy() == 0
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    ("is_cuda_build", "has_gpu", "unseen_bytes"),
    [(False, True, 256 * 1024), (True, False, 256 * 1024), (True, True, 0)],
)
def test_a_build_for_gpus_counts_as_a_processor_does_on_a_host_without_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_cuda_build: bool,
    has_gpu: bool,
    unseen_bytes: int,
):
    device = tmp_path / "nvidiactl"
    if has_gpu:
        device.touch()
    monkeypatch.setattr(step_program, "CUDA_DEVICES", (str(device),))
    build = {"is_cuda_build": is_cuda_build, "is_rocm_build": False}
    monkeypatch.setattr(tf.sysconfig, "get_build_info", lambda: build)

    assert trace_training_step(small()).unseen_bytes == unseen_bytes


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="a GPU fuses otherwise")
def test_the_graph_is_what_tensorflow_makes_of_it_on_a_processor():
    inputs = layers.Input((12, 12, 3))
    x = layers.Flatten()(layers.Conv2D(4, 3, activation="relu")(inputs))
    model = keras.Model(inputs, layers.Dense(2)(x))
    model.compile("sgd", "mse", jit_compile=False)

    found = {each.kind for each in trace_training_step(model).graphs[0].operations}

    assert "_FusedConv2D" in found
    assert "Relu" not in found


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="a GPU fuses otherwise")
@pytest.mark.parametrize("end", ["sum", "chain"])
def test_a_step_whose_rewriting_tensorflow_drops_is_taken_as_it_was_made(end: str):
    inputs = x = layers.Input((12, 12, 4))
    y = layers.DepthwiseConv2D(3, padding="same")(layers.Conv2D(4, 3, padding="same")(x))
    x = layers.Add()([x, y]) if end == "sum" else y
    model = keras.Model(inputs, layers.Dense(2)(layers.Flatten()(x)))
    model.compile("sgd", "mse", jit_compile=False)

    program = trace_training_step(model)

    kinds = {each.kind for each in program.graphs[0].operations}
    assert program.is_rewritten == (end == "chain")
    assert ("_FusedConv2D" in kinds) == (end == "chain")


def test_nothing_of_the_trace_stays_in_the_process():
    trace_training_step(small())
    gc.collect()

    kept = [each for each in gc.get_objects() if type(each).__name__ == "FuncGraph"]
    assert "kmonitor_step" not in {each.name for each in kept}


def test_slots_that_the_model_has_not_made_are_not_left_with_it():
    model = small()
    own = model.optimizer

    weights = 4 * (3 * 3 * 3 * 4 + 4 + 400 * 2 + 2)
    assert sum(trace_training_step(model).variables) == 3 * weights + 12 + 8
    assert model.optimizer is own
    assert not own.built


def test_what_layers_keep_is_told_by_their_names_and_grows_with_the_batch():
    model = small()
    name = model.layers[0].name
    simulation = Simulation(trace_training_step(model))

    assert (
        simulation.activation_bytes_by_layer(8)[name]
        == 2 * simulation.activation_bytes_by_layer(4)[name]
        > 0
    )
    assert simulation.peak(8).peak_bytes > simulation.peak(4).peak_bytes


def test_a_loop_turns_as_often_as_the_sequence_is_long():
    model = keras.Sequential([layers.Input((7, 3)), layers.LSTM(4), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)

    program = trace_training_step(model)

    turns = [each.trips for each in program.graphs[0].operations if each.kind.endswith("While")]
    assert turns == [7, 7]


class OwnStep(keras.Model):
    """Its own step, by batches of x alone."""

    def train_step(self, data: Any) -> Any:
        import tensorflow as tf  # noqa: PLC0415 - not there with other backends

        x, _ = data
        with tf.GradientTape() as tape:
            loss = keras.ops.mean(keras.ops.square(self(x, training=True)))
        found = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.trainable_variables, strict=True))
        return {"loss": loss}


def test_a_step_of_the_users_own_is_traced_too():
    given = layers.Input((5,))
    model = OwnStep(given, layers.Dense(3)(given))
    model.compile("adam", jit_compile=False)

    assert sum(trace_training_step(model).variables) == 3 * 4 * (5 * 3 + 3) + 12


def test_another_shape_and_another_optimizer_are_traced_where_the_model_takes_them():
    model = keras.Sequential(
        [layers.Input((None, None, 3)), layers.Conv2D(4, 3), layers.GlobalMaxPooling2D()]
    )
    set_optimizer(model, OptimizerLayout("sgd", {"momentum": 0.9}))

    program = trace_training_step(model, [(None, 16, 16, 3)])

    weights = 4 * (27 * 4 + 4)
    assert sum(program.variables) == 2 * weights + 12 + 8
    with pytest.raises(CannotTrace, match="unspecified"):
        trace_training_step(model)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (lambda: small(run_eagerly=True), "eagerly"),
        (lambda: keras.Sequential([layers.Input((2,)), layers.Dense(1)]), "not compiled"),
    ],
)
def test_what_has_no_graph_is_told(model: Any, why: str):
    with pytest.raises(CannotTrace, match=why):
        trace_training_step(model())


def test_a_loop_is_traced_where_constants_are_too_large_to_be_computed_ahead_for_one_batch():
    inputs = layers.Input((3, 40, 40, 1))
    model = keras.Model(inputs, layers.ConvLSTM2D(1, 3, padding="same")(inputs))
    model.compile("sgd", "mse", jit_compile=False)

    assert trace_training_step(model).unknown == 0


def test_pooling_of_pictures_and_of_films_keeps_a_byte_a_value_for_its_gradient():
    inputs = layers.Input((4, 8, 8, 1))
    x = layers.Flatten()(layers.MaxPooling3D()(layers.Conv3D(3, 3, padding="same")(inputs)))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("sgd", "mse", jit_compile=False)

    program = trace_training_step(model)

    pooled = next(each for each in program.graphs[0].operations if each.kind == "MaxPool3D")
    assert program.extents[pooled.beside].at(5) == 5 * (2 * 4 * 4 * 3)


@pytest.mark.parametrize(
    ("policy", "features", "buffered"),
    [
        ("mixed_float16", "avx512f avx512bw", {"Conv2DBackpropFilter", "MatMul"}),
        ("mixed_float16", "avx512f avx512bw avx512_fp16", set()),
        ("mixed_bfloat16", "avx2", {"Conv2DBackpropFilter", "MatMul"}),
        ("mixed_bfloat16", "avx512f", set()),
        ("float32", "", set()),
        ("float64", "avx512f avx512bw avx512_fp16", {"Conv2DBackpropFilter"}),
    ],
)
def test_only_types_that_the_processor_does_not_compute_take_buffers(
    policy: str, features: str, buffered: set[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(size_formulas, "processor_features", lambda: frozenset(features.split()))
    inputs = layers.Input((12, 12, 3))
    x = layers.Flatten(dtype=policy)(layers.Conv2D(4, 3, dtype=policy)(inputs))
    model = keras.Model(inputs, layers.Dense(2, dtype=policy)(x))
    model.compile("sgd", "mse", jit_compile=False)

    (graph, *_) = trace_training_step(model).graphs

    kinds = {each.kind for each in graph.operations if each.workspace}
    assert {kind.removeprefix("_Fused") for kind in kinds} == buffered


def test_updates_of_some_rows_are_traced():
    inputs = layers.Input((4,), dtype="int32")
    x = layers.Flatten()(layers.Embedding(50, 3)(inputs))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("rmsprop", "mse", jit_compile=False)

    assert any(each.bodies for each in trace_training_step(model).graphs[0].operations)


def test_rows_of_a_tensor_share_its_memory_and_columns_do_not():
    inputs: Any = keras.Input((6, 16))
    by_time: Any = keras.ops.transpose(inputs, (1, 0, 2))
    rows: Any = keras.ops.add(by_time[2], by_time[3])
    columns = keras.ops.add(inputs[:, 2], inputs[:, 3])
    model = keras.Model(inputs, keras.layers.Dense(1)(rows + columns))
    model.compile("sgd", "mse", jit_compile=False)

    kinds = [each.kind for each in trace_training_step(model).graphs[0].operations]

    assert kinds.count("FirstAxisView") == 2
    assert kinds.count("StridedSlice") >= 2
