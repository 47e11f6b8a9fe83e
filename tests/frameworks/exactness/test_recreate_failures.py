"""Whatever fails while variables are recreated, each has its value again, training continues."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.base import EmptyArrayFactory
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.frameworks.tensorflow import recreate
from kmonitor_agent.frameworks.tensorflow.reclaim import Keras3TensorFlowReclaim
from kmonitor_agent.reclaim.actions import reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import Checkpoint, CheckpointStore
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from tests.frameworks.exactness import data, models
from tests.support.exactness import (
    EPOCH_END,
    Result,
    Scenario,
    assert_same,
    run_plain,
    run_reloaded,
    state_of,
)
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]
full = pytest.mark.full

TRAINING = Scenario("dense", models.dense, data.arrays, epochs=2)
TAG = CheckpointTag("run", 1, 0)
VARIABLE: Any = type(models.dense().variables[0])
"""The real class of Keras' variables; in Keras 3.6 not the class that it exports."""
Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def plain() -> Result:
    return run_plain(TRAINING)


def out_of_memory() -> Exception:
    return tf.errors.ResourceExhaustedError(None, None, "no memory, for a test")


def failing(monkeypatch: Patch, owner: Any, name: str, fails: Callable[[int], Exception | None]):
    """Let a method raise what `fails` gives for its how many-th call while variables are made."""
    real = getattr(owner, name)
    recreate = Keras3TensorFlowReclaim.recreate
    calls: list[int] = []
    armed: list[bool] = []

    def method(self: Any, *args: Any) -> Any:
        if armed:
            calls.append(1)
            error = fails(len(calls))
            if error is not None:
                raise error
        return real(self, *args)

    def armed_recreate(self: Any, *args: Any) -> bool:
        armed.append(True)
        try:
            return recreate(self, *args)
        finally:
            armed.clear()

    monkeypatch.setattr(owner, name, method)
    monkeypatch.setattr(Keras3TensorFlowReclaim, "recreate", armed_recreate)


def making_fails_once(monkeypatch: Patch) -> None:
    failing(monkeypatch, VARIABLE, "_initialize", lambda n: out_of_memory() if n == 5 else None)


def making_fails_twice(monkeypatch: Patch) -> None:
    real_count = len(state_of(models.dense()))
    failing(
        monkeypatch,
        VARIABLE,
        "_initialize",
        lambda n: out_of_memory() if n in {5, real_count + 1} else None,
    )


def reading_fails(monkeypatch: Patch) -> None:
    real = CheckpointStore.read
    reads: list[int] = []

    def read(
        self: CheckpointStore, checkpoint: Checkpoint, empty: EmptyArrayFactory | None = None
    ) -> Iterator[Any]:
        reads.append(1)
        for n, value in enumerate(real(self, checkpoint, empty)):
            if n == 5 and len(reads) == 1:
                raise OSError("no memory on this disk, for a test")
            yield value

    monkeypatch.setattr(CheckpointStore, "read", read)


def file_vanishes(monkeypatch: Patch) -> None:
    """The first recreated variable finds that the checkpoint was removed; it must not matter."""
    real = CheckpointStore.read

    def read(
        self: CheckpointStore, checkpoint: Checkpoint, empty: EmptyArrayFactory | None = None
    ) -> Iterator[Any]:
        for value in real(self, checkpoint, empty):
            checkpoint.path.unlink(missing_ok=True)
            yield value

    monkeypatch.setattr(CheckpointStore, "read", read)


def clearing_fails(monkeypatch: Patch) -> None:
    def fail(_: Any) -> str:
        raise out_of_memory()

    monkeypatch.setattr(Keras3TensorFlowReclaim, "clear_session", fail)


@pytest.mark.parametrize(
    "arm",
    [
        pytest.param(making_fails_once, marks=full),
        pytest.param(making_fails_twice, marks=full),
        pytest.param(reading_fails, marks=full),
        pytest.param(clearing_fails, marks=full),
    ],
)
def test_training_goes_on_exactly(
    plain: Result, monkeypatch: Patch, tmp_path: Path, arm: Callable[[Patch], None]
):
    arm(monkeypatch)

    result = run_reloaded(TRAINING, EPOCH_END, tmp_path, mode="recreate")

    (outcome,) = result.outcomes
    assert not outcome.ok
    assert "no memory" in outcome.why
    assert outcome.mode == ""
    assert_same(result, plain)


@full
def test_a_checkpoint_that_vanishes_meanwhile_does_no_harm(
    plain: Result, monkeypatch: Patch, tmp_path: Path
):
    file_vanishes(monkeypatch)

    result = run_reloaded(TRAINING, EPOCH_END, tmp_path, mode="recreate")

    (outcome,) = result.outcomes
    assert outcome.ok, outcome.why
    assert outcome.mode == "recreate"
    assert_same(result, plain)


@full
def test_an_interrupt_finds_a_whole_model(monkeypatch: Patch, tmp_path: Path):
    model = fitted()
    before = state_of(model)
    failing(
        monkeypatch,
        VARIABLE,
        "_initialize",
        lambda n: KeyboardInterrupt() if n == 5 else None,  # pyright: ignore[reportArgumentType, reportReturnType]
    )

    with pytest.raises(KeyboardInterrupt):
        recreated(model, tmp_path)

    assert same(before, state_of(model))
    model.fit(**data.arrays(), verbose=0)


@full
def test_a_variable_that_can_never_be_made_names_the_checkpoint_to_load(
    monkeypatch: Patch, tmp_path: Path
):
    model = fitted()
    unlucky = model.trainable_variables[0]
    real = VARIABLE._initialize

    def initialize(self: Any, value: Any) -> None:
        if self is unlucky:
            raise out_of_memory()
        real(self, value)

    monkeypatch.setattr(VARIABLE, "_initialize", initialize)

    outcome = recreated(model, tmp_path)

    assert not outcome.ok
    assert f"the state is damaged; stop training and load {outcome.checkpoint}" in outcome.why
    assert CheckpointStore(tmp_path).latest() is not None


def hide_value(monkeypatch: Patch) -> None:
    monkeypatch.setattr(VARIABLE, "_initialize", None)


def hide_index(monkeypatch: Patch) -> None:
    real = recreate.all_optimizers

    def without_index(model: Any, ids: set[str]) -> list[Any]:
        found = real(model, ids)
        for each in found:
            vars(each).pop("_trainable_variables_indices", None)
        return found

    monkeypatch.setattr(recreate, "all_optimizers", without_index)


@pytest.mark.parametrize(
    ("hide", "why"),
    [
        (hide_value, "a variable's value is not stored where kmonitor expects it"),
        pytest.param(hide_index, "this optimizer stores its variables in its own way", marks=full),
    ],
)
def test_a_hidden_name_leaves_the_variables_and_says_why(
    monkeypatch: Patch, tmp_path: Path, hide: Callable[[Patch], None], why: str
):
    model = fitted()
    before = state_of(model)
    hide(monkeypatch)

    outcome = recreated(model, tmp_path)

    assert outcome.ok
    assert outcome.mode == "assign"
    assert outcome.why.startswith("variables assigned, not recreated: ")
    assert why in outcome.why
    assert same(before, state_of(model))


def test_a_variable_that_the_script_holds_too_stays(tmp_path: Path):
    model = fitted()
    held = [model.trainable_variables[0].value]

    outcome = recreated(model, tmp_path)

    assert outcome.mode == "assign"
    assert "`sequential" in outcome.why
    assert "in use by a list in the script" in outcome.why
    assert model.trainable_variables[0].value is held[0]


def test_a_second_optimizer_anywhere_in_the_script_keeps_the_variables(tmp_path: Path):
    model = fitted()
    other = keras.optimizers.SGD()
    other.build(model.trainable_variables)

    outcome = recreated(model, tmp_path)

    assert outcome.mode == "assign"
    assert "2 optimizers" in outcome.why


def test_variables_are_new_and_the_memory_of_the_old_is_free(tmp_path: Path):
    model = fitted()
    old = [id(each.value) for each in model.variables]
    keep = [each.value._unique_id for each in model.variables]
    framework = framework_for(model)
    in_use = framework.allocator().in_use.value

    for _ in range(3):
        outcome = recreated(model, tmp_path)
        assert outcome.mode == "recreate", outcome.why

    assert len(old) == len(model.variables)
    assert not {each.value._unique_id for each in model.variables} & set(keep)
    assert in_use is not None
    assert (framework.allocator().in_use.value or 0) <= in_use


def fitted() -> Any:
    model = models.dense()
    model.fit(**data.arrays(), verbose=0)
    return model


def recreated(model: Any, folder: Path) -> ReclaimOutcome:
    return reload(framework_for(model), model, CheckpointStore(folder), tag=TAG, mode="recreate")


def same(one: list[tuple[str, Any]], other: list[tuple[str, Any]]) -> bool:
    return [value.tobytes() for _, value in one] == [value.tobytes() for _, value in other]
