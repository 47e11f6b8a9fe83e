# pyright: reportImplicitOverride=false
"""Checkpoints put back: exactly, into what fits, or not at all."""

import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import pytest

from kmonitor_agent import restore
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.reclaim.actions import reload, save
from kmonitor_agent.reclaim.checkpoint_file import read_architecture
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.restoring import CannotRestore, restore_into
from tests.support.checkpoint_files import (
    damaged_ways,
    flip_in_making,
    flip_in_value,
    flip_that_crashes_hdf5,
    unseal,
)
from tests.support.reloading import KERAS, arrays, dense_model, seed_everything, state_of

pytestmark = [*KERAS, pytest.mark.slow]


def adam_model(**compiled: Any) -> Any:
    """The small model with an optimizer of two slots for each weight."""
    return dense_model(**({"optimizer": keras.optimizers.Adam(0.01)} | compiled))


@pytest.fixture(scope="module")
def trained() -> Any:
    return fitted(adam_model(metrics=["accuracy"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "checkpoints"
    made.mkdir()
    return made


def fitted(model: Any, epochs: int = 2) -> Any:
    seed_everything(3)
    model.fit(**arrays(), epochs=epochs, verbose=0)
    return model


def saved(model: Any, folder: Path, *, fit: int = 1, act: Callable[..., Any] = save) -> Path:
    store = CheckpointStore(folder, keep=9)
    outcome = act(framework_for(model), model, store, tag=CheckpointTag("run", fit, 1))
    assert outcome.ok, outcome.why
    return folder / outcome.checkpoint


def kept(model: Any) -> list[tuple[str, bytes]]:
    """Contents of a `.keras` file: weights and optimizer, but no seeds and metrics."""
    optimizer = [variable.numpy().tobytes() for variable in model.optimizer.variables]
    weights = [value.tobytes() for value in model.get_weights()]
    return [*(("weight", each) for each in weights), *(("slot", each) for each in optimizer)]


def test_file_is_made_of_the_checkpoint_alone(trained: Any, folder: Path):
    restored = restore_into(keras, saved(trained, folder), folder / "model.keras")

    assert kept(keras.saving.load_model(folder / "model.keras")) == kept(trained)
    assert restored.header.tag == CheckpointTag("run", 1, 1)
    assert "metrics" in restored.left_out
    assert sorted(path.suffix for path in folder.iterdir()) == [".h5", ".keras"]


def test_restored_model_goes_on_as_the_saved_one_would_have(folder: Path):
    model = fitted(adam_model())
    checkpoint = saved(model, folder)
    fitted(model, epochs=1)
    other = adam_model()

    restored = restore(other, checkpoint)

    fitted(other, epochs=1)
    assert [value for _, value in state_of(other) if value.dtype == "float32"] != []
    assert kept(other) == kept(model)
    assert restored.variables > 20


def test_file_that_is_there_gives_the_making_and_is_replaced(trained: Any, folder: Path):
    target = folder / "model.keras"
    adam_model(metrics=["accuracy"]).save(target)

    restore_into(keras, saved(trained, folder), target)

    assert kept(keras.saving.load_model(target)) == kept(trained)


def test_reload_s_checkpoint_takes_the_making_from_another_of_its_fit(folder: Path):
    model = fitted(adam_model())
    by_save = saved(model, folder)
    by_reload = saved(model, folder, act=reload)
    assert read_architecture(by_save)
    assert not read_architecture(by_reload)

    restore_into(keras, by_reload, folder / "model.keras")

    assert kept(keras.saving.load_model(folder / "model.keras")) == kept(model)
    alone = saved(model, folder, act=reload, fit=2)
    with pytest.raises(CannotRestore, match="describes the model") as refused:
        restore_into(keras, alone, folder / "other.keras")
    assert "--like" in refused.value.remedy
    assert "from kmonitor_agent import restore" in refused.value.remedy
    assert not (folder / "other.keras").exists()


def test_weights_alone_go_into_a_model_that_is_not_compiled(trained: Any, folder: Path):
    like = folder / "like.keras"
    bare = keras.Sequential.from_config(trained.get_config())
    bare.save(like)

    restored = restore_into(keras, saved(trained, folder), folder / "model.keras", like=like)

    loaded: Any = keras.saving.load_model(folder / "model.keras")
    assert [v.tobytes() for v in loaded.get_weights()] == [
        v.tobytes() for v in trained.get_weights()
    ]
    assert "of optimizer" in restored.left_out


def wider() -> Any:
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(9), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def longer() -> Any:
    trunk = adam_model()
    model = keras.Sequential([keras.Input((8,)), *trunk.layers, keras.layers.Dense(1, name="end")])
    model.compile("adam", "mse")
    return model


def of_half_precision() -> Any:
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float16")
    try:
        return adam_model()
    finally:
        keras.config.set_dtype_policy(policy)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (wider, r"has model/.*dense.*/kernel \(8, 8\) float32, but the model has .* \(8, 9\)"),
        (longer, "end/kernel"),
        (of_half_precision, r"\(8, 8\) float32, but the model has .* float16"),
        (lambda: dense_model(optimizer="sgd"), "optimizer/adam"),
    ],
)
def test_model_of_another_making_is_refused_naming_the_first_that_differs(
    trained: Any, folder: Path, other: Callable[[], Any], says: str
):
    model = other()
    before = kept(model)

    with pytest.raises(CannotRestore, match=says):
        restore(model, saved(trained, folder))

    assert before == kept(model)[: len(before)]


def test_model_that_is_not_built_is_refused(trained: Any, folder: Path):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("adam", "mse")

    with pytest.raises(CannotRestore, match="not built yet"):
        restore(model, saved(trained, folder))


def test_damaged_checkpoint_is_refused_and_changes_nothing(trained: Any, folder: Path):
    checkpoint = saved(trained, folder)
    flip_in_value(checkpoint, 7)
    model = adam_model(metrics=["accuracy"])
    before = kept(model)

    with pytest.raises(
        CannotRestore, match="a damaged checkpoint: variable 7 has the wrong checksum"
    ):
        restore(model, checkpoint)
    with pytest.raises(CannotRestore, match="cannot be read as a checkpoint"):
        restore(model, folder / "missing.h5")

    assert kept(model)[: len(before)] == before


def test_damaged_making_is_not_trusted_and_said_to_be_damaged(trained: Any, folder: Path):
    checkpoint = saved(trained, folder)
    flip_in_making(checkpoint)

    with pytest.raises(
        CannotRestore, match=r"damaged checkpoint: .* model has the wrong checksum"
    ):
        restore_into(keras, checkpoint, folder / "model.keras")


def test_no_damage_of_a_checkpoint_gets_into_a_model(trained: Any, folder: Path):
    checkpoint = saved(trained, folder)
    model = adam_model(metrics=["accuracy"])
    before = kept(model)

    for data in damaged_ways(checkpoint.read_bytes(), seed=2, flips=200):
        checkpoint.write_bytes(data)
        with pytest.raises(CannotRestore, match="is a damaged checkpoint"):
            restore(model, checkpoint)

    assert kept(model)[: len(before)] == before


@pytest.mark.promise(8)
def test_damaged_neighbours_end_neither_a_training_nor_a_restore(trained: Any, folder: Path):
    crashing = saved(trained, folder)
    unseal(crashing)
    flip_that_crashes_hdf5(crashing)

    without = saved(trained, folder, act=reload)
    with pytest.raises(
        CannotRestore,
        match="damaged checkpoint: it does not start with the signature of a checkpoint",
    ):
        restore(trained, crashing)
    with pytest.raises(CannotRestore, match="describes the model"):
        restore_into(keras, without, folder / "model.keras")
    saved(trained, folder)
    restore_into(keras, without, folder / "model.keras")

    assert (folder / "model.keras").exists()


@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
def test_damaged_export_is_not_given_to_keras(trained: Any, folder: Path, place: float):
    checkpoint = saved(trained, folder)
    like = folder / "like.keras"
    adam_model(metrics=["accuracy"]).save(like)
    data = bytearray(like.read_bytes())
    data[int(place * len(data))] ^= 1
    like.write_bytes(data)

    with pytest.raises(CannotRestore, match=r"like\.keras cannot be loaded"):
        restore_into(keras, checkpoint, folder / "model.keras", like=like)


def test_folder_that_cannot_be_written_leaves_the_old_file_whole(
    trained: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    checkpoint = saved(trained, folder)
    target = folder / "model.keras"
    target.write_bytes(b"old")

    def full(self: Any, path: Any, *_: Any, **__: Any) -> None:
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    like = folder / "like.keras"
    adam_model(metrics=["accuracy"]).save(like)
    monkeypatch.setattr(keras.Model, "save", full)

    with pytest.raises(CannotRestore, match="No space left on device"):
        restore_into(keras, checkpoint, target, like=like)

    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [checkpoint.name, "like.keras", "model.keras"]
    )


def test_what_cannot_be_written_is_named_as_it_was_asked_for(
    trained: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    checkpoint = saved(trained, folder)

    def nowhere(self: Any, path: Any, *_: Any, **__: Any) -> None:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(keras.Model, "save", nowhere)

    with pytest.raises(CannotRestore, match="No such file") as told:
        restore_into(keras, checkpoint, folder / "x.keras")
    with pytest.raises(CannotRestore, match="is a folder") as told_of_folder:
        restore_into(keras, checkpoint, folder)

    assert told.value.why.endswith(f"No such file or directory: '{folder / 'x.keras'}'")
    assert told_of_folder.value.why == f"{folder} is a folder."


class OfTheScript(keras.layers.Layer):
    """A class that only the script knows."""

    def call(self, inputs: Any) -> Any:
        return inputs


def test_class_that_only_the_script_knows_is_named_with_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    model = keras.Sequential([keras.Input((8,)), OfTheScript(), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    checkpoint = saved(fitted(model), folder)

    with monkeypatch.context() as elsewhere:
        elsewhere.delattr(sys.modules[__name__], "OfTheScript")
        with pytest.raises(CannotRestore, match="OfTheScript") as refused:
            restore_into(keras, checkpoint, folder / "model.keras")
    assert "from kmonitor_agent import restore" in refused.value.remedy
    again = keras.Sequential([keras.Input((8,)), OfTheScript(), keras.layers.Dense(1)])
    again.compile("adam", "mse")
    restore(again, checkpoint)
    assert kept(again) == kept(model)


def test_files_are_the_user_s_alone(trained: Any, folder: Path):
    assert stat.S_IMODE(saved(trained, folder).stat().st_mode) == 0o600
