"""Keras' OrbaxCheckpoint beside us: its checkpoints and the training are those of a plain run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.backends import ON_BACKEND, on_backend
from tests.support.exactness import (
    THREE_TIMES,
    Scenario,
    assert_reloaded,
    assert_same,
    run_plain,
    run_reloaded,
)

models, data = on_backend(
    "tests.frameworks.exactness.models", "tests.frameworks.exactness.data", only=("jax",)
)
keras = pytest.importorskip("keras")
orbax = pytest.importorskip(
    "orbax.checkpoint.experimental.v1", reason="orbax-checkpoint is not installed"
)

if not hasattr(keras.callbacks, "OrbaxCheckpoint"):
    pytest.skip("this Keras has no OrbaxCheckpoint", allow_module_level=True)

pytestmark = [
    *ON_BACKEND,
    # Orbax and its own dependencies warn of themselves, with a reload or without.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:orbax"),
]


def scenario(folder: Path, *, in_background: bool, last: bool) -> Scenario:
    return Scenario(
        "Adam beside OrbaxCheckpoint",
        models.dense,
        data.validated,
        callbacks=lambda: [
            keras.callbacks.OrbaxCheckpoint(
                str(folder), max_to_keep=None, save_on_background=in_background
            )
        ],
        reload_last=last,
    )


def saved(folder: Path) -> dict[int, list[tuple[Any, bytes]]]:
    """The arrays of each checkpoint, by the epoch that it was written after.

    In the order of their bytes: Keras counts layers on in the names that Orbax sorts by.
    """
    with orbax.training.Checkpointer(directory=str(folder)) as checkpointer:
        return {
            each.step: sorted(
                (np.shape(array), np.asarray(array).tobytes())
                for array in keras.tree.flatten(
                    checkpointer.load_checkpointables(each.step, {"pytree": None})["pytree"]
                )
            )
            for each in checkpointer.checkpoints
        }


@pytest.mark.parametrize("last", [False, True], ids=["before it", "behind it"])
@pytest.mark.parametrize("in_background", [False, True], ids=["at once", "in the background"])
def test_reload_beside_orbax_changes_neither(tmp_path: Path, *, in_background: bool, last: bool):
    plainly = scenario(tmp_path / "plain", in_background=in_background, last=last)
    beside = scenario(tmp_path / "beside", in_background=in_background, last=last)
    plain = run_plain(plainly)

    reloaded = run_reloaded(beside, THREE_TIMES, tmp_path / "ours")

    assert_reloaded(beside, reloaded)
    assert_same(reloaded, plain)
    ours, theirs = saved(tmp_path / "beside"), saved(tmp_path / "plain")
    assert list(ours) == [0, 1, 2]
    assert ours == theirs
