"""Whatever fails in a reclaim, training continues with its exact state and the record says why."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.base import EmptyArrayFactory, ReclaimSteps
from kmonitor_agent.frameworks.tensorflow.reclaim import Keras3TensorFlowReclaim
from kmonitor_agent.reclaim.actions import collect, reload, save
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import Checkpoint, CheckpointStore
from tests.support.reloading import (
    KERAS,
    Reclaim,
    Result,
    Training,
    dense_model,
    state_of,
    tensorflow_framework,
)

pytestmark = [*KERAS, pytest.mark.slow]

full = pytest.mark.full

TAG = CheckpointTag("run", 1, 0)
TRAINING = Training(dense_model, epochs=2)
Arm = Callable[[pytest.MonkeyPatch, Path], CheckpointStore]


@pytest.fixture(scope="module")
def uninterrupted() -> Result:
    return TRAINING.run()


def no_room(_: pytest.MonkeyPatch, folder: Path) -> CheckpointStore:
    return CheckpointStore(folder, free_bytes=lambda _: 10)


def no_folder(_: pytest.MonkeyPatch, folder: Path) -> CheckpointStore:
    folder.write_text("in the way")
    return CheckpointStore(folder)


def fails_at(monkeypatch: pytest.MonkeyPatch, step: str, call: int, *, times: int = 1) -> None:
    """Let one step of the framework raise at its `call`-th call, that often."""
    real = getattr(Keras3TensorFlowReclaim, step)
    calls: list[int] = []

    def failing(self: ReclaimSteps, *args: Any) -> Any:
        calls.append(1)
        if call <= len(calls) < call + times:
            raise tf.errors.ResourceExhaustedError(None, None, f"{step} failed for a test")
        return real(self, *args)

    monkeypatch.setattr(Keras3TensorFlowReclaim, step, failing)


def state_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something change a weight while the session is cleared, so that it must be restored."""
    real = Keras3TensorFlowReclaim.drop_functions

    def dropping(self: Keras3TensorFlowReclaim, model: Any) -> Any:
        dropped = real(self, model)
        model.trainable_variables[0].assign_add(keras.ops.ones_like(model.trainable_variables[0]))
        return dropped

    monkeypatch.setattr(Keras3TensorFlowReclaim, "drop_functions", dropping)


def restore_fails(monkeypatch: pytest.MonkeyPatch, folder: Path) -> CheckpointStore:
    state_changes(monkeypatch)
    fails_at(monkeypatch, "assign", 7)
    return CheckpointStore(folder)


def failing_step(step: str, call: int, *, times: int = 1) -> Arm:
    def arm(monkeypatch: pytest.MonkeyPatch, folder: Path) -> CheckpointStore:
        fails_at(monkeypatch, step, call, times=times)
        return CheckpointStore(folder)

    return arm


class DamagedStore(CheckpointStore):
    """A disk that gives something else than was verified."""

    def read(  # pyright: ignore[reportImplicitOverride]
        self, checkpoint: Checkpoint, empty: EmptyArrayFactory | None = None
    ) -> Iterator[Any]:
        for ordinal, value in enumerate(super().read(checkpoint, empty)):
            yield value if ordinal != 2 else value + 1.0


def damaged_once(monkeypatch: pytest.MonkeyPatch, folder: Path) -> CheckpointStore:
    state_changes(monkeypatch)
    store = DamagedStore(folder)
    real = super(DamagedStore, store).read
    reads: list[int] = []

    def read(checkpoint: Checkpoint, empty: EmptyArrayFactory | None = None) -> Iterator[Any]:
        reads.append(1)
        damaged = DamagedStore.read(store, checkpoint, empty)
        return damaged if len(reads) == 1 else real(checkpoint, empty)

    store.read = read
    return store


FAILURES = [
    pytest.param(no_room, "not enough space", 0, id="disk full"),
    pytest.param(no_folder, "cannot be created", 0, id="unwritable folder", marks=full),
    pytest.param(failing_step("state", 1), "state failed", 0, id="state unreadable", marks=full),
    pytest.param(failing_step("read", 7), "read failed", 0, id="save fails half-way", marks=full),
    pytest.param(failing_step("release_retained", 1), "release", 1, id="release fails"),
    pytest.param(
        failing_step("clear_session", 1), "clear_session", 1, id="clearing fails", marks=full
    ),
    pytest.param(restore_fails, "the state is unchanged", 1, id="restore fails half-way"),
    pytest.param(
        damaged_once, "the state is unchanged", 1, id="other values came back", marks=full
    ),
]


@pytest.mark.parametrize(("arm", "why", "checkpoints"), FAILURES)
def test_training_goes_on_exactly_when_a_reload_fails(
    uninterrupted: Result,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arm: Arm,
    why: str,
    checkpoints: int,
):
    folder = tmp_path / "checkpoints"
    callback = Reclaim(folder, epochs=[0], store=arm(monkeypatch, folder))

    result = TRAINING.run(callback)

    (outcome,) = callback.outcomes
    assert not outcome.ok
    assert why in outcome.why
    assert outcome.after is None
    result.assert_same(uninterrupted)
    assert len(CheckpointStore(folder).checkpoints()) == checkpoints
    if folder.is_dir():
        assert len(list(folder.iterdir())) == checkpoints, "nothing half-written may stay"


def test_a_state_that_cannot_be_restored_names_the_checkpoint_to_load(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    state_changes(monkeypatch)
    store = DamagedStore(tmp_path)
    callback = Reclaim(tmp_path, epochs=[0], store=store)

    TRAINING.run(callback)

    (outcome,) = callback.outcomes
    assert not outcome.ok
    assert "damaged" in outcome.why
    assert outcome.checkpoint in outcome.why
    checkpoint = store.latest()
    assert checkpoint is not None
    assert len(list(CheckpointStore.read(store, checkpoint))) == outcome.variables


def test_a_failed_save_says_why_and_changes_nothing(tmp_path: Path):
    model = dense_model()
    before = state_of(model)

    outcome = save(
        tensorflow_framework(), model, CheckpointStore(tmp_path, free_bytes=lambda _: 0), tag=TAG
    )

    assert not outcome.ok
    assert "not enough space" in outcome.why
    assert outcome.checkpoint == ""
    assert [value.tobytes() for _, value in state_of(model)] == [v.tobytes() for _, v in before]


def test_a_model_that_is_not_built_has_nothing_to_reload(tmp_path: Path):
    model = keras.Sequential([keras.layers.Dense(2)])

    outcome = reload(tensorflow_framework(), model, CheckpointStore(tmp_path), tag=TAG)

    assert not outcome.ok
    assert "not built" in outcome.why
    assert not list(tmp_path.iterdir())


def test_a_collect_that_fails_says_why(monkeypatch: pytest.MonkeyPatch):
    fails_at(monkeypatch, "release_retained", 1)

    outcome = collect(tensorflow_framework(), None)

    assert not outcome.ok
    assert "ResourceExhaustedError" in outcome.why


def test_an_outcome_tells_what_was_saved(tmp_path: Path):
    model = dense_model()
    store = CheckpointStore(tmp_path)

    outcome = save(tensorflow_framework(), model, store, tag=CheckpointTag("run", 3, 4, 5))

    checkpoint = store.latest()
    assert checkpoint is not None
    assert outcome.ok
    assert outcome.why == ""
    assert outcome.checkpoint == checkpoint.path.name
    assert outcome.checksum == checkpoint.checksum
    assert outcome.variables == len(state_of(model))
    assert outcome.state_bytes == sum(value.nbytes for _, value in state_of(model))
    assert checkpoint.tag == CheckpointTag("run", 3, 4, 5)
    assert outcome.before.ram_process_bytes
    assert outcome.seconds > 0
