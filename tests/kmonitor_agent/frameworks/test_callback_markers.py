"""Names of callbacks, read without running any of the script's code."""

import functools
from typing import Any

import keras
import pytest

from kmonitor_agent.frameworks.callback_markers import callback_name
from kmonitor_agent.recording.privacy import Privacy
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]


def upload_plots(epoch: int, logs: Any = None) -> None:
    pass


def save_rate(logs: Any = None, *, folder: str = "") -> None:
    pass


class Plotter(keras.callbacks.Callback):
    def draw(self, epoch: int, logs: Any = None) -> None:
        pass

    def __call__(self, epoch: int, logs: Any = None) -> None:
        pass


def lambdas(**hooks: Any) -> Any:
    return keras.callbacks.LambdaCallback(**hooks)


def named(callback: object) -> str:
    return callback_name(callback, Privacy(private=False).name)


def test_callback_of_functions_is_named_by_them():
    both = lambdas(
        on_epoch_begin=upload_plots,
        on_epoch_end=upload_plots,
        on_train_end=functools.partial(save_rate, folder="plots"),
    )

    assert named(both) == "LambdaCallback(upload_plots, save_rate)"
    assert named(lambdas(on_epoch_end=Plotter().draw)) == "LambdaCallback(draw)"
    assert named(lambdas(on_epoch_end=Plotter())) == "LambdaCallback(Plotter)"


def test_lambdas_are_named_by_their_lines():
    one = lambdas(on_epoch_end=lambda epoch, logs: None)
    other = lambdas(on_epoch_end=lambda epoch, logs: None)

    assert named(one).startswith("LambdaCallback(<lambda>:")
    assert named(one) != named(other)


def test_default_functions_of_keras_are_not_named():
    some = lambdas(on_batch_begin=keras.ops.abs)

    assert named(some) == "LambdaCallback"


def test_other_callbacks_have_the_name_of_their_class():
    assert named(Plotter()) == "Plotter"
    assert named(keras.callbacks.TerminateOnNaN()) == "TerminateOnNaN"


def test_names_of_functions_are_private():
    private = Privacy(private=True)

    name = callback_name(lambdas(on_epoch_end=upload_plots), private.name)

    assert name == f"LambdaCallback({private.name('upload_plots')})"
