# pyright: reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportFunctionMemberAccess=false
"""Graph size counts each live graph once, under the name that its author knows."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction

from kmonitor_agent.frameworks.base import Framework
from tests.support.reloading import KERAS, arrays, clean_registry, dense_model

pytestmark = [*KERAS, pytest.mark.slow]


@pytest.fixture
def framework() -> Iterator[Framework]:
    with clean_registry() as found:
        yield found


def operations_in_live_functions() -> int:
    functions = [found for found in gc.get_objects() if type(found) is AtomicFunction]
    assert len({function.name for function in functions}) == len(functions)
    return sum(function.graph.num_operations() for function in functions)


def test_operations_equal_those_of_all_registered_graphs(framework: Framework):
    model = dense_model()
    model.fit(**arrays(), verbose=0)

    count = framework.graph(model)

    assert count.absent == ""
    assert count.operations == operations_in_live_functions()
    assert sum(function.operations for function in count.by_function) == count.operations
    assert count.functions == framework.function_count().value


def test_nothing_is_counted_again_when_nothing_was_traced(framework: Framework):
    model = dense_model()
    model.fit(**arrays(), verbose=0)
    first = framework.graph(model)

    model.train_on_batch(arrays()["x"], arrays()["y"])
    model.fit(**arrays(), verbose=0)

    again = framework.graph(model)
    assert framework.graph(model) is again
    assert again.operations is not None
    assert first.operations is not None
    # train_on_batch traces its own signature of the step; a second fit traces nothing.
    assert again.operations > first.operations


def test_a_function_traced_anew_each_call_is_seen_to_grow_by_name(framework: Framework):
    @tf.function
    def my_leak(x: Any, n: int) -> Any:
        return x * n

    sizes: list[tuple[int, int]] = []
    for n in range(3):
        my_leak(tf.constant(1.0), n)
        (found,) = [f for f in framework.graph(None).by_function if f.name == "my_leak"]
        sizes.append((found.traces, found.operations))

    assert [traces for traces, _ in sizes] == [1, 2, 3]
    assert sizes[0][1] < sizes[1][1] < sizes[2][1]
    del my_leak
    gc.collect()
    assert "my_leak" not in {f.name for f in framework.graph(None).by_function}


def test_branches_and_loop_bodies_count_to_the_function_around_them(framework: Framework):
    @tf.function
    def my_loop(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.cond(x > 0, lambda x=x: x - 1.0, lambda x=x: x + 1.0)
        return x

    my_loop(tf.constant(1.0))

    count = framework.graph(None)
    (found,) = [function for function in count.by_function if function.name == "my_loop"]
    trace = my_loop.get_concrete_function(tf.constant(1.0))
    assert found.traces == 1
    assert found.operations > trace.graph.num_operations()
    assert found.operations == count.operations


def test_gradient_functions_count_under_the_users_name(framework: Framework):
    @tf.function
    def my_square(x: Any) -> Any:
        return x * x

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = my_square(x)
    tape.gradient(y, x)

    names = {function.name for function in framework.graph(None).by_function}
    assert names == {"my_square"}


def test_a_kept_trace_of_a_dead_function_of_the_script_is_counted_but_not_as_keras(
    framework: Framework,
):
    @tf.function
    def my_gone(x: Any) -> Any:
        return tf.nn.silu(x)  # registers a custom gradient, which keeps the trace

    my_gone(tf.constant(1.0))
    del my_gone
    gc.collect()

    count = framework.graph(None)
    (found,) = [function for function in count.by_function if function.name == "my_gone"]
    assert found.retained == found.traces == 1
    assert found.operations > 0
    assert count.retained == 0
