"""`kmonitor map` on files and scripts, as a user calls it."""

import json
import os
import signal
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

keras: Any = pytest.importorskip("keras")

from tests.support.command_line import kmonitor, start_kmonitor  # noqa: E402 - after the skip
from tests.support.running_tests import LONG  # noqa: E402 - after the skip
from tests.support.waiting import DEADLINE_S, wait_until  # noqa: E402 - after the skip

pytestmark = [pytest.mark.slow, LONG]

SCRIPT = """
import keras

print("printed by the script")

def build_model():
    inputs = keras.Input((None, 8))
    x = keras.layers.Dense(16, activation="relu")(inputs)
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling1D()(x))
    model.compile("adam", "mse")
    return model

def nothing():
    return 3
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    with warnings.catch_warnings():
        # Keras' variables know no copy keyword, which numpy 2 warns of when they are saved.
        warnings.simplefilter("ignore", DeprecationWarning)
        save_models(folder)
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    return folder


def save_models(folder: Path) -> None:
    model = keras.Sequential(
        [keras.Input((6, 6, 2)), keras.layers.Conv2D(4, 3), keras.layers.Flatten(),
         keras.layers.Dense(3)]
    )  # fmt: skip
    model.compile("adam", "mse", jit_compile=False)
    model.save(folder / "model.keras")
    model.save(folder / "model.h5")
    model.save_weights(folder / "model.weights.h5")
    (folder / "model.json").write_text(model.to_json(), encoding="utf-8")
    keras.Sequential(
        [keras.Input((3,)), keras.layers.Lambda(lambda x: x + 1), keras.layers.Dense(2)]
    ).save(folder / "lambda.keras")


def test_a_file_is_mapped_by_layer_with_the_batch_that_fits_and_advice(files: Path):
    ran = kmonitor(
        "map", files / "model.keras", "--batch", 64, "--limit", "64MiB", "--advice", "--json"
    )

    assert ran.status == 0, ran.err
    told = ran.json
    parameters = 3 * 3 * 2 * 4 + 4 + 4 * 4 * 4 * 3 + 3
    assert told["parameter_bytes"] == 4 * parameters
    assert told["resident_bytes"] == 3 * 4 * parameters + 12
    assert told["peak_bytes"] == told["resident_bytes"] + told["transient_bytes"]
    assert told["low_bytes"] < told["peak_bytes"] < told["high_bytes"]
    assert (told["tier"], told["uncovered"], told["batch"]) == (3, [], 64)
    assert [each["kind"] for each in told["layers"][:3]] == ["Conv2D", "Flatten", "Dense"]
    parts = ("parameter", "slot", "gradient", "kept", "workspace")
    assert told["peak_bytes"] == sum(
        each[f"{part}_bytes"] for each in told["layers"] for part in parts
    )
    assert told["fit"]["certain"] < told["fit"]["likely"]
    assert told["curve"][0]["batch"] == 1
    assert isinstance(told["advice"], list)


def test_a_script_runs_in_a_process_of_its_own(files: Path):
    told = kmonitor("map", f"{files / 'train.py'}:build_model", "--sequence", 50)

    assert told.status == 0, told.err
    assert "in its own process" in told.err
    assert "printed by the script" not in told.out
    assert "peak" in told.out
    assert "Adam" in told.out


@pytest.mark.full
@pytest.mark.parametrize(
    "arguments",
    [("model.h5",), ("model.json", "--optimizer", "adam"),
     ("model.weights.h5", "--config", "model.json", "--optimizer", "adam")],
)  # fmt: skip
def test_other_forms_of_the_same_model_give_the_same_map(files: Path, arguments: tuple[str, ...]):
    given = [files / each if each.startswith("model.") else each for each in arguments]
    expected = kmonitor("map", files / "model.keras", "--json").json

    told = kmonitor("map", *given, "--json").json

    for name in ("peak_bytes", "resident_bytes", "slot_bytes", "kept_bytes"):
        assert told[name] == expected[name]


@pytest.mark.full
def test_an_architecture_alone_has_no_optimizer_that_nobody_chose(files: Path):
    told = kmonitor("map", files / "model.json", "--json").json

    assert (told["optimizer"], told["slot_bytes"]) == ("", 0)
    assert any("not compiled" in each for each in told["notes"])


@pytest.mark.full
def test_lengths_that_the_model_leaves_open_are_asked_for(files: Path):
    asked = kmonitor("map", f"{files / 'train.py'}:build_model")

    assert asked.status == 1
    assert "--sequence" in asked.err


def test_code_in_a_file_does_not_run(files: Path):
    ran = kmonitor("map", files / "lambda.keras")

    assert ran.status == 1
    assert "Lambda" in ran.err
    assert "--allow-code" in ran.err


@pytest.mark.full
def test_code_in_a_file_runs_when_it_is_allowed(files: Path):
    ran = kmonitor("map", files / "lambda.keras", "--allow-code")

    assert ran.status == 0, ran.err


def test_a_class_that_is_not_keras_own_is_refused_before_anything_is_made(
    files: Path, tmp_path: Path
):
    path = tmp_path / "foreign.keras"
    with zipfile.ZipFile(files / "model.keras") as old, zipfile.ZipFile(path, "w") as new:
        config = json.loads(old.read("config.json"))
        config["config"]["layers"][1] |= {"module": "os", "class_name": "system"}
        new.writestr("config.json", json.dumps(config))

    ran = kmonitor("map", path)

    assert ran.status == 1
    assert "os.system" in ran.err


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere.keras", "File not found"),
        ("train.py", "name the function"),
        pytest.param("train.py:nothing", "not a Keras", marks=pytest.mark.full),
        pytest.param("train.py:absent", "has no absent", marks=pytest.mark.full),
    ],
)
def test_what_cannot_be_mapped_is_said_plainly(files: Path, target: str, words: str):
    ran = kmonitor("map", files / target)

    assert ran.status == 1
    assert words in ran.err
    assert "Traceback" not in ran.err


WAITING = """
import os, pathlib, threading

def reach(stage):
    if stage == os.environ["STAGE"]:
        pathlib.Path(os.environ["REACHED"]).write_text(f"{os.getpid()}\\n")
        threading.Event().wait(3600)

reach("script")
import keras

class Waiting(keras.Model):
    def train_step(self, data):
        reach("step")
        return super().train_step(data)

def build_model():
    reach("function")
    inputs = keras.Input((8,))
    model = Waiting(inputs, keras.layers.Dense(2)(inputs))
    model.compile("adam", "mse", jit_compile=False)
    return model
"""


@pytest.mark.parametrize(
    "stage", ["script", pytest.param("function", marks=pytest.mark.full), "step"]
)
def test_ctrl_c_ends_a_map_and_its_process(tmp_path: Path, stage: str):
    (tmp_path / "wait.py").write_text(WAITING, encoding="utf-8")
    reached = tmp_path / "reached"
    environ = {"STAGE": stage, "REACHED": str(reached)}

    with start_kmonitor("map", tmp_path / "wait.py:build_model", environ=environ) as process:
        wait_until(lambda: reached.exists() and "\n" in reached.read_text(),
                   deadline_s=2 * DEADLINE_S)  # fmt: skip
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == 130
    assert err.splitlines() == [f"kmonitor: running {tmp_path}/wait.py in its own process."]
    with pytest.raises(ProcessLookupError):
        os.kill(int(reached.read_text()), 0)
