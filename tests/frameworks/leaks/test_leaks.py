# pyright: reportArgumentType=false, reportAttributeAccessIssue=false
"""Leaks in loops of Keras 3, which `collect()` ends, and loops that do not leak."""

import gc
from collections.abc import Callable, Iterator
from typing import Any, Final

import keras
import numpy as np
import pytest
import tensorflow as tf

from kmonitor_agent import collect, collected
from kmonitor_agent.frameworks.base import Framework
from tests.support.leaking import after_each, grows, is_flat, left
from tests.support.reloading import KERAS, clean_registry

pytestmark = [*KERAS, pytest.mark.slow]

MANY: Final = 6
"""Traces of a function of the script, more than it takes to be named."""


@pytest.fixture(autouse=True)
def framework() -> Iterator[Framework]:
    keras.utils.set_random_seed(1)  # objects that are made only once exist now
    with clean_registry() as found:
        yield found


def data() -> dict[str, Any]:
    x = np.ones((8, 4), "float32")
    return {"x": x, "y": x[:, :1], "verbose": 0}


def made(*, optimizer: str = "adam", activation: str = "relu", **compiled: Any) -> Any:
    layers: list[Any] = [keras.layers.Dense(4, activation=activation), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile(optimizer=optimizer, loss="mse", **compiled)
    return model


def build_and_fit(*, optimizer: str = "adam", activation: str = "relu") -> Callable[[], None]:
    def turn() -> None:
        made(optimizer=optimizer, activation=activation).fit(**data())

    return turn


def build_fit_and_clear() -> Callable[[], None]:
    def turn() -> None:
        made().fit(**data())
        keras.backend.clear_session()

    return turn


def compile_anew_and_fit() -> Callable[[], None]:
    model = made()

    def turn() -> None:
        model.compile(optimizer="adam", loss="mse")
        model.fit(**data())

    return turn


def build_fit_beside_a_live_model() -> Callable[[], None]:
    model = made()
    model.fit(**data())

    def turn() -> None:
        made().fit(**data())
        model.fit(**data())

    return turn


LEAKS: Final = [
    pytest.param(build_and_fit, id="build and fit"),
    pytest.param(compile_anew_and_fit, id="compile anew and fit", marks=pytest.mark.full),
    pytest.param(build_fit_and_clear, id="clear_session each time", marks=pytest.mark.full),
    pytest.param(build_fit_beside_a_live_model, id="beside a live model", marks=pytest.mark.full),
    pytest.param(lambda: build_and_fit(optimizer="sgd"), id="SGD", marks=pytest.mark.full),
    pytest.param(lambda: build_and_fit(activation="silu"), id="silu", marks=pytest.mark.full),
]


@pytest.mark.parametrize("loop", LEAKS)
def test_a_loop_grows_and_is_flat_with_one_call_of_collect(loop: Callable[[], Any]):
    turn = loop()

    def turn_and_collect() -> None:
        turn()
        assert collect().released_traces > 0

    assert grows(after_each(turn, turns=2))
    assert collect().ok
    assert is_flat(after_each(turn_and_collect))


@pytest.mark.parametrize("loop", [each for each in LEAKS if each.id != "beside a live model"])
@pytest.mark.full
def test_a_loop_is_flat_when_each_turn_is_a_block(loop: Callable[[], Any]):
    turn = loop()
    turn()  # a model that lives is recompiled by the turns that follow

    def block() -> None:
        with collected() as done:
            turn()
        assert done[0].released_traces > 0

    assert is_flat(after_each(block))


def by_value() -> tuple[Any, Callable[[int], object], str]:
    @tf.function
    def my_step(x: Any, factor: int) -> Any:
        return x * factor

    return my_step, lambda n: my_step(tf.zeros(2), n), "Python values"


def by_shape() -> tuple[Any, Callable[[int], object], str]:
    @tf.function
    def my_step(x: Any) -> Any:
        return x * 2

    return my_step, lambda n: my_step(tf.zeros((n + 1,))), "shapes"


@pytest.mark.parametrize("make", [by_value, pytest.param(by_shape, marks=pytest.mark.full)])
def test_traces_of_a_function_of_the_script_are_named_and_go_with_it(
    make: Callable[[], tuple[Any, Callable[[int], object], str]],
):
    before = left()
    function, call, why = make()
    for n in range(MANY):
        call(n)

    held = collect().held

    assert f"{MANY} traces held by `my_step` (a tf.function in the script, {MANY} {why})" in held
    assert left().functions >= before.functions + MANY
    del function, call
    collect()
    assert left() == before


def use_one_model() -> Callable[[], None]:
    model = made()

    def turn() -> None:
        model.fit(**data())
        model.evaluate(**data())
        model.predict(data()["x"], verbose=0)

    return turn


def new_pipeline_each_time() -> Callable[[], None]:
    model, arrays = made(), data()

    def turn() -> None:
        pairs = tf.data.Dataset.from_tensor_slices((arrays["x"], arrays["y"]))
        model.fit(pairs.map(lambda x, y: (x, y)).batch(4), shuffle=False, verbose=0)

    return turn


def eagerly() -> Callable[[], None]:
    def turn() -> None:
        made(run_eagerly=True).fit(**data())

    return turn


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param(use_one_model, marks=pytest.mark.full),
        pytest.param(new_pipeline_each_time, marks=pytest.mark.full),
        pytest.param(eagerly, marks=pytest.mark.full),
    ],
)
def test_what_does_not_leak_is_left_alone(loop: Callable[[], Callable[[], None]]):
    turn = loop()
    turn()
    collect()

    assert is_flat(after_each(turn))
    assert collect().released_traces == 0
    assert is_flat([left(), *after_each(turn, turns=1)])


def test_a_model_that_is_used_on_is_never_released(framework: Framework):
    model = made()
    model.fit(**data())
    gc.collect()

    assert framework.graph(None).retained == 0
    assert collect().released_traces == 0
