# pyright: reportArgumentType=false
"""The counts and decisions of a callback come back in another process, once."""

from typing import Any

import keras
import numpy as np
import pytest

from kmonitor_agent.reclaim.restart.callback_states import read_callbacks, write_callbacks
from kmonitor_agent.reclaim.restart.fit_state import ArrayStore, CannotResume, from_json, to_json

pytestmark = [pytest.mark.keras]


def _watching(model: Any, losses: list[float]) -> list[Any]:
    callbacks = [
        keras.callbacks.EarlyStopping("loss", min_delta=0.5, patience=3),
        keras.callbacks.EarlyStopping("loss", min_delta=0.5, patience=3, mode="max"),
    ]
    for callback in callbacks:
        callback.set_model(model)
        callback.on_train_begin()
        for epoch, loss in enumerate(losses):
            callback.on_epoch_end(epoch, {"loss": loss})
    return callbacks


def _through_json(callbacks: list[Any]) -> Any:
    states, left_out = read_callbacks(callbacks)
    assert left_out == ()
    for state in states:
        shelf = ArrayStore()
        state.attributes.update(from_json(to_json(state.attributes, shelf), shelf))
    return states


@pytest.fixture(scope="module")
def model() -> Any:
    made = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def test_a_comparison_comes_back_with_the_sign_that_it_gave_the_least_change(model: Any):
    before = _watching(model, [4.0, 3.75])
    now = _watching(model, [])

    write_callbacks(_through_json(before), now)
    for callback in (*before, *now):
        callback.on_epoch_end(2, {"loss": 3.5})

    for old, new in zip(before, now, strict=True):
        assert new.monitor_op is old.monitor_op
        assert (new.min_delta, new.wait, new.best) == (old.min_delta, old.wait, old.best)
    # Neither 3.75 nor 3.5 is less than 4.0 by more than a half.
    assert (now[0].min_delta, now[0].wait) == (-0.5, 2)


def test_list_of_arrays_is_bounded_as_one_array_is():
    class Keeps(keras.callbacks.Callback):
        def __init__(self, n: int) -> None:
            super().__init__()
            self.kept = [np.zeros(2**20) for _ in range(n)]  # 8 MiB each

    (few,), none = read_callbacks([Keeps(2)])
    (many,), left_out = read_callbacks([Keeps(9)])

    assert (len(few.attributes["kept"]), none) == (2, ())
    assert "kept" not in many.attributes
    assert left_out == ("Keeps.kept: larger than 64 MiB",)


def test_other_callbacks_than_before_are_refused(model: Any):
    states = _through_json(_watching(model, [4.0]))

    with pytest.raises(CannotResume, match="its callbacks were"):
        write_callbacks(states, _watching(model, [])[:1])
