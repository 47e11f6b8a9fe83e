"""Values held in a variable's own memory, and tensors that are filled as arrays."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.base import HoldsValues
from kmonitor_agent.frameworks.tensor_memory import TensorMemory, is_same_memory
from tests.support.reloading import KERAS, tensorflow_framework

pytestmark = [*KERAS]

ROWS = 512
"""Of 512 float32 each: large enough for TensorFlow's allocator to tell of a copy."""


@pytest.fixture(scope="module")
def steps() -> HoldsValues:
    found = tensorflow_framework().reclaim_steps()
    assert isinstance(found, HoldsValues)
    return found


@pytest.fixture
def variable() -> Any:
    made = tf.Variable(tf.ones((ROWS, 512)))
    made.assign_add(tf.ones((ROWS, 512)))
    return made


def test_a_value_is_held_until_the_variable_is_written_to(steps: HoldsValues, variable: Any):
    held = steps.hold(variable)

    assert held is not None
    assert steps.is_held(variable, held)
    variable.assign_add(tf.zeros((ROWS, 512)))
    assert not steps.is_held(variable, held)


def test_a_held_value_stays_as_it_was(steps: HoldsValues, variable: Any):
    held = steps.hold(variable)

    variable.assign_add(tf.ones((ROWS, 512)))
    variable.scatter_nd_update([[0, 0]], [7.0])

    assert held is not None
    assert np.all(held == 2.0)
    assert float(variable[0, 0]) == 7.0


def test_what_reading_would_copy_is_not_held(steps: HoldsValues, variable: Any):
    variable.scatter_update(tf.IndexedSlices(tf.zeros((1, 512)), [0]))  # copied from now on

    assert steps.hold(variable) is None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_a_tensor_is_filled_as_an_array(dtype: str):
    memory = TensorMemory()
    dtype_of_numpy = tf.as_dtype(dtype).as_numpy_dtype

    array = memory.empty((ROWS, 600), np.dtype(dtype_of_numpy))
    array[...] = 3
    tensor = memory.take(array)

    assert tensor is not None
    assert is_same_memory(np.asarray(tf.Variable(tensor).read_value()), array)
    assert memory.take(array) is None
    assert memory.take(np.ones(3)) is None
    assert bool(tf.reduce_all(tensor == tf.cast(3, dtype)))
