"""A training that was saved, cleared and reloaded ends as one that was not, bit for bit."""

from pathlib import Path

import keras
import pytest

from tests.support.reloading import KERAS, Reclaim, Result, Training, dense_model, shuffled_dataset

pytestmark = [*KERAS, pytest.mark.slow]

EPOCHS = 4
TRAINING = Training(
    model=lambda: dense_model(optimizer=keras.optimizers.Adam(0.01), metrics=["accuracy"]),
    data=shuffled_dataset,
    callbacks=lambda: [keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_delta=10.0)],
    epochs=EPOCHS,
)
"""Dropout, Adam, BatchNorm, validation data, ReduceLROnPlateau and reshuffled tf.data."""


@pytest.fixture(scope="module")
def uninterrupted() -> Result:
    return TRAINING.run()


def test_same_seeds_give_the_same_training(uninterrupted: Result):
    again = TRAINING.run()

    again.assert_same(uninterrupted)
    assert len(set(again.history["learning_rate"])) > 1, "the schedule must have acted"


@pytest.mark.parametrize(
    ("epochs", "batches"),
    [
        pytest.param([1], [], id="once at an epoch's end", marks=pytest.mark.full),
        pytest.param([0, 1, 2], [], id="three times at epochs' ends", marks=pytest.mark.full),
        pytest.param([], [(1, 2)], id="once within an epoch"),
        pytest.param(
            [2], [(0, 0), (1, 3)], id="within epochs and at an end", marks=pytest.mark.full
        ),
    ],
)
def test_reloaded_training_ends_the_same(
    uninterrupted: Result, tmp_path: Path, epochs: list[int], batches: list[tuple[int, int]]
):
    callback = Reclaim(tmp_path, epochs=epochs, batches=batches)

    reloaded = TRAINING.run(callback)

    assert [outcome.why for outcome in callback.outcomes] == [""] * len(epochs + batches)
    assert all(outcome.ok and outcome.mode == "assign" for outcome in callback.outcomes)
    reloaded.assert_same(uninterrupted)


@pytest.mark.full
def test_reload_by_the_last_callback_of_the_list_is_exact_too(
    uninterrupted: Result, tmp_path: Path
):
    callback = Reclaim(tmp_path, epochs=[1])
    training = Training(
        model=TRAINING.model,
        data=TRAINING.data,
        callbacks=lambda: [*TRAINING.callbacks(), callback],
        epochs=EPOCHS,
    )

    training.run().assert_same(uninterrupted)


@pytest.mark.parametrize("action", [pytest.param("save", marks=pytest.mark.full), "collect"])
def test_save_and_collect_change_nothing(uninterrupted: Result, tmp_path: Path, action: str):
    callback = Reclaim(tmp_path, epochs=[0, 2], batches=[(1, 1)], action=action)

    TRAINING.run(callback).assert_same(uninterrupted)

    assert all(outcome.ok and not outcome.why for outcome in callback.outcomes)


@pytest.mark.full
def test_reload_brings_the_models_own_traces_back(tmp_path: Path):
    callback = Reclaim(tmp_path, epochs=[0, 1, 2])

    TRAINING.run(callback)

    for outcome in callback.outcomes:
        assert outcome.after is not None
        assert outcome.released_traces > 0
    first, *later = callback.outcomes
    assert first.after is not None
    assert (first.after.graph_operations or 0) < (first.before.graph_operations or 0)
    assert (first.after.functions or 0) < (first.before.functions or 0)
    # The next step is traced before the old one goes: reloads bring the same graphs, not more.
    graphs = {outcome.before.graph_operations for outcome in later}
    graphs |= {outcome.after and outcome.after.graph_operations for outcome in callback.outcomes}
    assert graphs == {first.after.graph_operations}
