# pyright: reportImplicitOverride=false, reportArgumentType=false
"""`kmonitor_agent.fit` on Keras 3: a new model object, and the result of one uninterrupted fit."""

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest

import kmonitor_agent
from kmonitor_agent import MonitorCallback
from kmonitor_agent.frameworks.model_building import CannotRebuild, call_model_factory
from kmonitor_agent.recording.runs import RUNS
from tests.frameworks.exactness import data
from tests.support.exactness import seed_keras, state_of
from tests.support.reloading import KERAS, arrays, dense_model, shuffled_dataset

pytestmark = [*KERAS, pytest.mark.slow]

EPOCHS = 4


@pytest.fixture(autouse=True)
def closed_runs() -> Iterator[None]:
    """No run outlives its test."""
    yield
    RUNS.close()


class Asks(keras.callbacks.Callback):
    """Requests a reload in chosen epochs, and counts Keras' calls."""

    def __init__(self, monitor: MonitorCallback, epochs: tuple[int, ...]) -> None:
        super().__init__()
        self.monitor = monitor
        self.epochs = epochs
        self.calls = {"begin": 0, "end": 0, "epochs": 0}
        self.models: list[int] = []

    def on_train_begin(self, logs: Any = None) -> None:
        self.calls["begin"] += 1

    def on_train_end(self, logs: Any = None) -> None:
        self.calls["end"] += 1

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.calls["epochs"] += 1
        self.models.append(id(self.model))
        if epoch in self.epochs:
            self.monitor.request("reload")


def averaged() -> Any:
    """At its end every call of `fit` writes the averages into the weights."""
    return dense_model(optimizer=keras.optimizers.Adam(0.01, use_ema=True))


def stopping() -> list[Any]:
    """Callbacks that forget what they know at a beginning."""
    return [
        keras.callbacks.EarlyStopping(patience=2, min_delta=100, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau(patience=0, min_delta=10),
    ]


def trained(
    make: Callable[[], Any], given: Callable[[], Any], callbacks: list[Any], at: tuple[int, ...]
) -> tuple[Any, Any, MonitorCallback, Asks]:
    """One training by `kmonitor_agent.fit`, with reloads requested in these epochs."""
    seed_keras(3)
    monitor = MonitorCallback(hub="off")
    asks = Asks(monitor, at)
    fitted = kmonitor_agent.fit(
        make(), **given(), epochs=EPOCHS, verbose=0, callbacks=[*callbacks, monitor, asks]
    )
    return fitted.model, fitted.history, monitor, asks


@pytest.mark.parametrize(
    ("make", "given", "callbacks"),
    [
        pytest.param(dense_model, arrays, list, id="momentum, Dropout, arrays"),
        pytest.param(averaged, shuffled_dataset, list, id="EMA, tf.data", marks=pytest.mark.full),
        pytest.param(
            dense_model,
            arrays,
            stopping,
            id="EarlyStopping, ReduceLROnPlateau",
            marks=pytest.mark.full,
        ),
        pytest.param(
            dense_model, data.batches, list, id="PyDataset that shuffles", marks=pytest.mark.full
        ),
    ],
)
def test_a_training_with_new_models_ends_as_a_plain_fit(
    make: Callable[[], Any], given: Callable[[], Any], callbacks: Callable[[], Any]
) -> None:
    seed_keras(3)
    plain = make()
    history = plain.fit(**given(), epochs=EPOCHS, verbose=0, callbacks=callbacks())

    model, joined, monitor, asks = trained(make, given, callbacks(), (0, 1))

    assert [record.ok for record in monitor.records] == [True, True]
    assert [record.event.mode for record in monitor.records] == ["rebuild", "rebuild"]
    assert joined.history == history.history
    assert joined.epoch == history.epoch
    assert model.history is joined
    assert asks.calls == {"begin": 1, "end": 1, "epochs": len(history.epoch)}
    assert len(set(asks.models)) == 3
    for (path, ours), (_, theirs) in zip(state_of(model), state_of(plain), strict=True):
        assert ours.tobytes() == theirs.tobytes(), path


def test_without_a_reload_the_model_is_the_same_object() -> None:
    model = dense_model()

    fitted = kmonitor_agent.fit(model, **arrays(), epochs=2, verbose=0)

    assert fitted.model is model
    assert fitted.history.epoch == [0, 1]


def test_a_reload_in_the_last_epoch_is_told_and_left_out() -> None:
    *_, monitor, asks = trained(dense_model, arrays, [], (EPOCHS - 1,))

    (record,) = monitor.records
    assert not record.ok
    assert "ends with this epoch" in record.why
    assert asks.calls["end"] == 1


@pytest.mark.full
def test_when_rebuilding_fails_training_goes_on_with_the_old_model() -> None:
    seed_keras(3)
    plain = averaged()
    plain.fit(**arrays(), epochs=EPOCHS, verbose=0)
    seed_keras(3)
    model, monitor = averaged(), MonitorCallback(hub="off")

    fitted = kmonitor_agent.fit(
        model,
        **arrays(),
        epochs=EPOCHS,
        verbose=0,
        callbacks=[monitor, Asks(monitor, (1,))],
        rebuild=_another,
    )

    (record,) = monitor.records
    assert not record.ok
    assert "different variables" in record.why
    assert fitted.model is model
    assert fitted.history.epoch == list(range(EPOCHS))
    for (path, ours), (_, theirs) in zip(state_of(model), state_of(plain), strict=True):
        assert ours.tobytes() == theirs.tobytes(), path


def _raising() -> Any:
    raise ZeroDivisionError("division by zero")


def _not_built() -> Any:
    return keras.Sequential([keras.layers.Dense(1)])


@pytest.mark.parametrize(
    ("rebuild", "message"),
    [
        (_raising, "rebuild= raised ZeroDivisionError: division by zero; it must return"),
        (_not_built, "rebuild= returned a model that is not built; it must return"),
    ],
)
def test_failed_rebuild_explains_what_to_return(rebuild: Callable[[], Any], message: str) -> None:
    with pytest.raises(CannotRebuild, match=message):
        call_model_factory(rebuild)


@pytest.mark.parametrize(
    ("rebuild", "words"),
    [
        (lambda: None, "rebuild= returned None; it must return a model that is built"),
        pytest.param(_raising, "rebuild= raised ZeroDivisionError", marks=pytest.mark.full),
        pytest.param(
            _not_built, "rebuild= returned a model that is not built", marks=pytest.mark.full
        ),
    ],
)
def test_training_continues_with_the_old_model_after_a_failed_rebuild(
    rebuild: Callable[[], Any], words: str
) -> None:
    model, monitor = dense_model(), MonitorCallback(hub="off")

    fitted = kmonitor_agent.fit(
        model,
        **arrays(),
        epochs=2,
        verbose=0,
        callbacks=[monitor, Asks(monitor, (0,))],
        rebuild=rebuild,
    )

    (record,) = monitor.records
    assert words in record.why
    assert fitted.model is model


def test_a_subclass_without_configuration_is_refused_at_the_call() -> None:
    class Own(keras.Model):
        """Takes something that cannot be sent."""

        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.layer = layer

        def call(self, inputs: Any) -> Any:
            return self.layer(inputs)

    model = Own(keras.layers.Dense(1))
    model.compile("sgd", "mse")

    with pytest.raises(ValueError, match="use rebuild=make_model"):
        kmonitor_agent.fit(model, **arrays(), verbose=0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rebuild": "no function"}, "use rebuild=make_model, without"),
        ({"epochs": "ten"}, "such as epochs=10"),
        ({"callbacks": ["none"]}, r"use callbacks=\[MonitorCallback\(\)\]"),
        ({"no_such": 1}, "no_such"),
    ],
)
def test_wrong_arguments_are_answered_with_what_to_write(
    wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        kmonitor_agent.fit(dense_model(), **{**arrays(), "verbose": 0, **wrong})


@pytest.mark.full
def test_a_generator_is_announced_as_not_exact() -> None:
    def batches() -> Iterator[Any]:
        while True:
            yield np.ones((8, 8), "float32"), np.ones((8, 1), "float32")

    def data() -> dict[str, Any]:
        return {"x": batches(), "steps_per_epoch": 2, "shuffle": False}

    *_, monitor, _ = trained(dense_model, data, [], (0,))

    (record,) = monitor.records
    assert record.ok
    assert "read ahead in the generator" in record.why


def test_an_exception_of_the_script_gets_through_and_the_request_is_answered() -> None:
    monitor = MonitorCallback(hub="off")

    class Breaks(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        kmonitor_agent.fit(
            dense_model(),
            **arrays(),
            verbose=0,
            callbacks=[Asks(monitor, (0,)), monitor, Breaks()],
        )

    (record,) = monitor.records
    assert not record.ok
    assert "ended before" in record.why


def _another() -> Any:
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
