"""`kmonitor_agent.fit` on JAX and PyTorch: new model objects, the result of a plain `fit`."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kmonitor_agent
from kmonitor_agent import MonitorCallback
from kmonitor_agent.recording.runs import RUNS
from tests.support.backends import ON_BACKEND, on_backend
from tests.support.exactness import seed_keras, state_of

keras, data, models = on_backend(
    "keras", "tests.frameworks.exactness.data", "tests.frameworks.exactness.models"
)

pytestmark = ON_BACKEND

EPOCHS = 4


@pytest.fixture(autouse=True)
def closed_runs() -> Iterator[None]:
    """No run outlives its test."""
    yield
    RUNS.close()


def trained(
    make: Callable[[], Any],
    given: dict[str, Any],
    at: tuple[int, ...],
    *,
    action: str = "reload",
    callbacks: Callable[[], list[Any]] = list,
    **named: Any,
) -> tuple[Any, Any, MonitorCallback, list[int]]:
    """A training by `kmonitor_agent.fit`: its model, History, monitor, and each epoch's model."""
    seed_keras(3)
    monitor, seen = MonitorCallback(hub="off"), list[int]()

    class Asks(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            seen.append(id(self.model))
            if epoch in at:
                monitor.request(action)

    fitted = kmonitor_agent.fit(
        make(),
        **given,
        **named,
        epochs=EPOCHS,
        verbose=0,
        callbacks=[*callbacks(), monitor, Asks()],
    )
    return fitted.model, fitted.history, monitor, seen


def plainly(make: Callable[[], Any], given: dict[str, Any], callbacks: list[Any]) -> Any:
    """The same by Keras' own `fit`."""
    seed_keras(3)
    model = make()
    model.fit(**given, epochs=EPOCHS, verbose=0, callbacks=callbacks)
    return model


def assert_same_state(ours: Any, theirs: Any) -> None:
    """Bit for bit."""
    for (path, one), (_, other) in zip(state_of(ours), state_of(theirs), strict=True):
        assert one.tobytes() == other.tobytes(), path


def stopping() -> list[Any]:
    """Callbacks that forget what they know at a beginning."""
    return [
        keras.callbacks.EarlyStopping(patience=2, min_delta=100, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau(patience=0, min_delta=10),
    ]


@pytest.mark.parametrize(
    ("make", "given", "callbacks"),
    [
        pytest.param(models.dense, data.arrays, list, id="shuffled arrays, Dropout"),
        pytest.param(models.dense, data.batches, list, id="PyDataset that shuffles itself"),
        pytest.param(models.moving_average, data.unshuffled, list, id="EMA"),
        pytest.param(models.dense, data.validated, stopping, id="EarlyStopping, validation"),
    ],
)
def test_a_training_with_new_models_ends_as_a_plain_fit(
    make: Callable[[], Any], given: Callable[[], Any], callbacks: Callable[[], Any]
) -> None:
    plain = plainly(make, given(), callbacks())

    model, history, monitor, seen = trained(make, given(), (0, 1), callbacks=callbacks)

    assert [record.ok for record in monitor.records] == [True, True]
    assert [record.event.mode for record in monitor.records] == ["rebuild", "rebuild"]
    assert [record.event.why for record in monitor.records] == ["", ""]
    assert history.history == plain.history.history
    assert len(set(seen)) == 3
    assert_same_state(model, plain)


def test_auto_collects_and_goes_on_with_a_new_model() -> None:
    plain = plainly(models.dense, data.arrays(), [])

    model, _, monitor, seen = trained(models.dense, data.arrays(), (1,), action="auto")

    told = [record.event for record in monitor.records]
    assert [(each.action, each.ok, each.part_of) for each in told] == [
        ("collect", True, "auto"),
        ("reload", True, "auto"),
    ]
    assert len(set(seen)) == 2
    assert_same_state(model, plain)


def test_when_rebuilding_fails_training_goes_on_with_the_old_model() -> None:
    plain = plainly(models.dense, data.arrays(), [])

    model, _, monitor, seen = trained(
        models.dense, data.arrays(), (1,), rebuild=models.two_outputs
    )

    (record,) = monitor.records
    assert not record.ok
    assert "different variables" in record.why
    assert len(set(seen)) == 1
    assert_same_state(model, plain)


def test_what_reads_other_batches_is_announced() -> None:
    given = data.arrays()

    *_, monitor, _ = trained(models.dense, {**given, "steps_per_epoch": 3}, (1,))

    (record,) = monitor.records
    assert record.ok
    assert "leave steps_per_epoch out" in record.why


def test_a_dataset_of_the_script_keeps_its_own_hooks() -> None:
    given = data.batches()

    trained(models.dense, given, (0,))

    assert not {"on_epoch_begin", "on_epoch_end"} & vars(given["x"]).keys()
