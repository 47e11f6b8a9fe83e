# pyright: reportArgumentType=false
"""Values held in a variable's own memory, and tensors that are filled as arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.base import HoldsValues
from kmonitor_agent.frameworks.tensorflow.memory import TensorMemory, is_same_memory
from tests.support.reloading import KERAS, tensorflow_framework

pytestmark = [*KERAS]

ROWS = 512
"""Rows of 512 float32 each: large enough that TensorFlow's allocator shows a copy."""


@pytest.fixture(scope="module")
def steps() -> HoldsValues:
    found = tensorflow_framework().reclaim_steps()
    assert isinstance(found, HoldsValues)
    return found


def of(dtype: str, value: int) -> Any:
    return tf.cast(tf.fill((ROWS, 512), value), dtype)


def assigned(variable: Any) -> None:
    variable.assign(of(variable.dtype.name, 5))


def added(variable: Any) -> None:
    variable.assign_add(of(variable.dtype.name, 5))


def subtracted(variable: Any) -> None:
    variable.assign_sub(of(variable.dtype.name, 5))


def assigned_in_part(variable: Any) -> None:
    variable[3:5].assign(of(variable.dtype.name, 5)[3:5])


def scattered(variable: Any) -> None:
    variable.scatter_update(tf.IndexedSlices(of(variable.dtype.name, 5)[:1], [3]))


def scattered_in_depth(variable: Any) -> None:
    variable.scatter_nd_add([[3, 3]], of(variable.dtype.name, 5)[0, :1])


def added_in_loop(variable: Any) -> None:
    # A function of the module would keep its traces, which other tests count.
    @tf.function
    def add() -> None:
        for _ in tf.range(2):
            variable.assign_add(tf.ones_like(variable))

    add()


def trained_without_lock(variable: Any) -> None:
    delta = tf.ones_like(variable)
    alpha = tf.cast(1, variable.dtype)
    tf.raw_ops.ResourceApplyGradientDescent(
        var=variable.handle, alpha=alpha, delta=delta, use_locking=False
    )


def trained_sparsely(variable: Any) -> None:
    accumulated = tf.Variable(tf.ones_like(variable))
    tf.raw_ops.ResourceSparseApplyAdagradV2(
        var=variable.handle,
        accum=accumulated.handle,
        lr=tf.cast(1, variable.dtype),
        epsilon=tf.cast(0, variable.dtype),
        grad=tf.ones_like(variable)[:1],
        indices=[3],
    )


def compiled(variable: Any) -> None:
    @tf.function(jit_compile=True)
    def add() -> None:
        variable.assign_add(tf.ones_like(variable))

    add()


WRITES = [
    assigned,
    added,
    subtracted,
    assigned_in_part,
    scattered,
    scattered_in_depth,
    added_in_loop,
    compiled,
]


@pytest.mark.parametrize(
    ("write", "dtype"),
    [(write, dtype) for write in WRITES for dtype in ("float32", "bfloat16", "int64")]
    + [(trained_without_lock, "float32"), (trained_sparsely, "float32")],
)
def test_whoever_writes_to_a_held_value_s_variable_gives_it_other_memory(
    steps: HoldsValues, write: Callable[[Any], None], dtype: str
):
    variable = tf.Variable(of(dtype, 1))
    variable.assign_add(of(dtype, 1))  # in place: nothing was held then
    held = steps.hold(variable)
    assert held is not None
    assert steps.is_held(variable, held)

    write(variable)

    assert np.all(held == 2)
    assert not np.all(variable.numpy() == 2)
    assert not steps.is_held(variable, held)


def test_writing_the_same_values_again_is_seen_too(steps: HoldsValues):
    variable = tf.Variable(of("float32", 2))
    held = steps.hold(variable)

    variable.assign_add(of("float32", 0))

    assert not steps.is_held(variable, held)


def test_text_is_not_held(steps: HoldsValues):
    assert steps.hold(tf.Variable(["a", "b"])) is None


def test_what_is_on_another_device_is_not_held(
    steps: HoldsValues, monkeypatch: pytest.MonkeyPatch
):
    elsewhere = "/job:localhost/replica:0/task:0/device:GPU:0"
    variable = tf.Variable(of("float32", 2))
    monkeypatch.setattr(type(variable), "device", elsewhere)

    assert steps.hold(variable) is None


def test_what_reading_would_copy_is_not_held(steps: HoldsValues):
    variable = tf.Variable(of("float32", 2))
    variable.scatter_update(tf.IndexedSlices(tf.zeros((1, 512)), [0]))  # copied from now on

    assert steps.hold(variable) is None


def opened() -> TensorMemory:
    memory = TensorMemory()
    memory.is_open = True
    return memory


def test_before_it_is_opened_arrays_are_numpy_s():
    memory = TensorMemory()

    array = memory.empty((ROWS, 600), np.dtype("float32"))

    assert memory.pop_tensor(array) is None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_a_tensor_is_filled_as_an_array(dtype: str):
    memory = opened()
    dtype_of_numpy = tf.as_dtype(dtype).as_numpy_dtype

    array = memory.empty((ROWS, 600), np.dtype(dtype_of_numpy))
    array[...] = 3
    tensor = memory.pop_tensor(array)

    assert tensor is not None
    assert is_same_memory(np.asarray(tf.Variable(tensor).read_value()), array)
    assert memory.pop_tensor(array) is None
    assert memory.pop_tensor(np.ones(3)) is None
    assert bool(tf.reduce_all(tensor == tf.cast(3, dtype)))


def test_an_array_of_a_dtype_that_no_tensor_can_be_empty_of_is_numpy_s():
    memory = opened()
    dtype = np.dtype(tf.dtypes.experimental.float8_e4m3fn.as_numpy_dtype)

    array = memory.empty((ROWS, 600), dtype)

    assert (array.shape, array.dtype) == ((ROWS, 600), dtype)
    assert memory.pop_tensor(array) is None
