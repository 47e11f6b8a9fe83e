"""`kmonitor load-cost` on a real file, as a user calls it."""

import warnings
from pathlib import Path
from typing import Any

import pytest

keras: Any = pytest.importorskip("keras")

from tests.support.command_line import kmonitor  # noqa: E402 - after the skip

pytestmark = [pytest.mark.slow, pytest.mark.full]


def trained(folder: Path) -> Path:
    """A file of a model that has made two steps."""
    model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(1024)])
    model.compile("adam", "mse")
    ones = keras.ops.ones
    with warnings.catch_warnings():
        # Keras' variables know no copy keyword, which numpy 2 warns of when they are saved.
        warnings.simplefilter("ignore", DeprecationWarning)
        model.fit(ones((4, 256)), ones((4, 1024)), batch_size=2, verbose=0)
        model.save(folder / "model.keras")
    return folder / "model.keras"


def test_each_way_is_measured_and_says_whether_training_can_go_on(tmp_path: Path):
    ran = kmonitor("load-cost", trained(tmp_path), "--repeats", 1, "--json")

    assert ran.status == 0, ran.err
    ways = {each["loading_method"]: each for each in ran.json["methods"]}
    assert {name: each["optimizer"] for name, each in ways.items()} == {
        "compiled": "whole",
        "uncompiled": "lost",
        "weights": "lost",
        "recompiled": "whole",
        "built": "lost",
    }
    assert all(each["peak_bytes"] >= each["resident_bytes"] > 0 for each in ways.values())
    assert ran.json["recommended"]["train"] in ("compiled", "recompiled")


def test_a_file_that_is_damaged_inside_says_so_for_each_way(tmp_path: Path):
    path = trained(tmp_path)
    whole = bytearray(path.read_bytes())
    at = whole.index(b"\x89HDF")
    whole[at : at + 4096] = bytes(4096)
    path.write_bytes(whole)

    ran = kmonitor("load-cost", path, "--repeats", 1)

    assert "Traceback" not in ran.err
    assert "does not work" in ran.out or ran.status == 1
