"""The same leaks in loops of tf_keras 2."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from kmonitor_agent import collect
from tests.frameworks.tf_keras.scenarios import TF_KERAS, arrays, dense, tf_keras
from tests.support.leaking import after_each, grows, is_flat, left
from tests.support.reloading import clean_registry

pytestmark = [*TF_KERAS, pytest.mark.full]


@pytest.fixture(autouse=True)
def registry_is_clean() -> Iterator[None]:
    with clean_registry():
        yield


def build_and_fit() -> None:
    dense().fit(**arrays(), epochs=1, verbose=0)


def build_fit_and_clear() -> None:
    build_and_fit()
    tf_keras.backend.clear_session()


LEAKS: Final = [
    pytest.param(lambda: build_and_fit, id="build and fit"),
    pytest.param(lambda: build_fit_and_clear, id="clear_session each time"),
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


def test_what_a_model_compiled_anew_leaves_goes_with_a_collect():
    before = left()
    models: list[Any] = [dense()]

    def turn() -> None:
        models[0].compile(optimizer="adam", loss="mse")
        models[0].fit(**arrays(), epochs=1, verbose=0)

    def turn_and_collect() -> None:
        turn()
        assert collect().released_traces > 0

    assert grows(after_each(turn, turns=2))
    assert collect().released_traces > 0
    assert is_flat(after_each(turn_and_collect))
    models.clear()
    collect()
    assert left() == before
