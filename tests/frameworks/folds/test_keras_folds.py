"""Folds that train Keras models: their steps are counted, and a killed one resumes exactly."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kmonitor_agent import run_folds
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import SessionDied, SessionStarted
from tests.support.fold_scripts import environ, run_script
from tests.support.fold_trainings import EPOCHS, train_alike, train_fold
from tests.support.running_tests import LONG
from tests.support.spooled import spooled_events

pytestmark = [pytest.mark.keras, pytest.mark.slow, LONG]

ALONE = """
from pathlib import Path
import sys
from kmonitor_agent import Fold
from tests.support.fold_trainings import train_fold
print(train_fold(Fold(1, Path(sys.argv[1])))["loss"])
"""


SCRIPT = """
import os
import signal

import keras
import numpy as np
from kmonitor_agent import MonitorCallback, run_folds

keras.config.set_dtype_policy("mixed_bfloat16")
keras.config.set_epsilon(1e-6)
x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")


@keras.saving.register_keras_serializable("mine")
class Twice(keras.layers.Layer):
    def call(self, inputs):
        return inputs * 2


class Dies(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2 and self.fold.index == 0 and self.fold.attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def make_trainer(epochs):
    def train(fold):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((4,)), Twice(), keras.layers.Dense(2)])
        model.compile("sgd", "mse")
        dies = Dies()
        dies.fold = fold
        history = model.fit(
            x, x[:, :2], epochs=epochs, verbose=0, callbacks=[dies, MonitorCallback()]
        )
        model.save(fold.directory / "model.keras")
        kept = keras.saving.load_model(fold.directory / "model.keras")
        settings = [kept.layers[-1].compute_dtype, keras.config.epsilon()]
        return [*settings, history.history["loss"]]
    return train


if __name__ == "__main__":
    study = run_folds(make_trainer(4), folds=2, at_once=2)
    killed, whole = study.results
    print([each.cause for each in killed.attempts], killed.attempts[-1].resumed)
    print(killed.value == whole.value, whole.value[:2], len(whole.value[2]))
    print([each.steps for each in whole.attempts])
"""


def test_a_killed_fold_of_a_scripts_closure_goes_on_exactly_with_its_keras_settings(
    tmp_path: Path, folders: Folders
):
    ran = run_script(tmp_path, SCRIPT)

    assert ran.stdout.splitlines() == [
        "['killed', 'finished'] True",
        "True ['bfloat16', 1e-06] 4",
        "[4]",
    ], ran.stderr
    assert [event.signal for event in died(folders)] == ["SIGKILL"]


@pytest.mark.full
def test_a_fold_that_is_killed_goes_on_exactly_where_it_was(
    tmp_path: Path, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DIES_AT", "0 4 1")

    study = run_folds(train_alike, folds=2, study=tmp_path / "study", at_once=2)

    killed, whole = study.results
    assert [each.cause for each in killed.attempts] == ["killed", "finished"]
    assert killed.attempts[1].resumed
    assert [each.steps for each in whole.attempts] == [6 * EPOCHS]
    assert killed.value["loss"] == whole.value["loss"]
    for ours, theirs in zip(killed.value["weights"], whole.value["weights"], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert [event.signal for event in died(folders)] == ["SIGKILL"]


def died(folders: Folders) -> list[SessionDied]:
    return [
        event
        for run in folders.spool.iterdir()
        for event in spooled_events(folders, run.name)
        if isinstance(event, SessionDied)
    ]


@pytest.mark.full
def test_folds_equal_those_that_are_run_alone(tmp_path: Path, folders: Folders):
    study = run_folds(train_fold, folds=3, study=tmp_path / "study", at_once=2)

    alone = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path)],
        env=environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(study.results[1].value["loss"]) == alone.stdout.strip().splitlines()[-1]
    sessions = [
        event
        for run in folders.spool.iterdir()
        for event in spooled_events(folders, run.name)
        if isinstance(event, SessionStarted)
    ]
    name = "tests.support.fold_trainings \N{MIDDLE DOT} fold"
    facts = sorted(
        (each.name, each.fold or 0, each.folds, each.attempt)
        for each in sessions
        if each.name.startswith(name)
    )
    assert facts == [(f"{name} {index}", index, 3, 1) for index in range(3)]
    assert len({each.study for each in sessions}) == 2  # the study's, and none
