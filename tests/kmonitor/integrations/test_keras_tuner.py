"""KerasTuner's searches with each trial in its own process."""

import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import keras
import keras_tuner as kt
import pytest

from kmonitor.integrations import keras_tuner as ours
from kmonitor_agent import MonitorCallback
from kmonitor_agent.studies.carried_function import FoldsRefused
from tests.support import tuned_models as models
from tests.support.fold_scripts import environ

pytestmark = [
    pytest.mark.slow,
    # KerasTuner's own: threading.currentThread, and optimizer variables it does not load.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


@pytest.fixture
def tensorboard(monkeypatch: pytest.MonkeyPatch):
    """KerasTuner imports it in every trial, whether it is used or not."""
    for name in ("tensorboard", "tensorboard.plugins", "tensorboard.plugins.hparams"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setattr(sys.modules["tensorboard.plugins.hparams"], "api", None, raising=False)


def found(tuner: Any) -> list[Any]:
    trials = [tuner.oracle.trials[name] for name in tuner.oracle.start_order]
    return [(each.hyperparameters.values, each.score, each.best_step) for each in trials]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["RandomSearch", "Hyperband"])
def test_a_search_finds_what_keras_tuner_finds_in_one_process(
    tmp_path: Path, tensorboard: None, kind: str
):
    how: dict[str, Any] = {"objective": "val_loss", "seed": 5, "directory": tmp_path}
    how |= {"max_trials": 3} if kind == "RandomSearch" else {"max_epochs": 2, "factor": 2}
    data: Any = {"validation_data": (models.X, models.Y), "epochs": 3, "verbose": 0}

    alone = getattr(kt, kind)(models.small, project_name="alone", **how)
    alone.search(models.X, models.Y, **data)
    apart = getattr(ours, kind)(models.small, project_name="apart", memory="8 GiB", **how)
    apart.search(models.X, models.Y, **data)

    assert found(apart) == found(alone)
    best, same = apart.get_best_hyperparameters()[0], alone.get_best_hyperparameters()[0]
    assert best.values == same.values
    scores = [
        each.get_best_models()[0].evaluate(models.X, models.Y, verbose=0)
        for each in (apart, alone)
    ]
    assert scores[0] == scores[1]
    assert len({each.fold for each in apart.attempts}) == len(found(apart))


@pytest.mark.full
def test_each_way_to_end_fails_its_own_trial_only(tmp_path: Path):
    tuner = ours.GridSearch(
        models.by_way, objective="loss", directory=tmp_path, memory="2 GiB", retries=0
    )

    tuner.search(models.X, models.Y, epochs=1, verbose=0)

    trials = [tuner.oracle.trials[name] for name in tuner.oracle.start_order]
    assert [each.status for each in trials] == ["COMPLETED", *["FAILED"] * 5]
    messages = [str(each.message) for each in trials[1:]]
    assert [each.partition(": ")[0] for each in messages] == [
        "out of memory",
        "killed",
        "too large",
        "too large",
        "error",
    ]
    assert "SIGSEGV" in messages[1]
    assert "the model was not built" in messages[2]
    assert "tier 3" in messages[3]
    assert "the model was not trained" in messages[3]
    assert "ValueError: no luck" in messages[4]
    assert [each.attempt for each in tuner.attempts] == [1] * 6


@pytest.mark.full
def test_keras_is_not_patched_where_a_bounded_trial_trains(tmp_path: Path):
    tuner = ours.RandomSearch(models.Untouched(), max_trials=2, directory=tmp_path, memory="8 GiB")

    tuner.search(models.X, models.Y, epochs=1, verbose=0)

    trials = [tuner.oracle.trials[name] for name in tuner.oracle.start_order]
    assert [each.score for each in trials] == [1.0, 1.0]


@pytest.mark.full
def test_a_search_whose_first_model_is_too_large_learns_its_hyperparameters(tmp_path: Path):
    tuner = ours.GridSearch(models.largest_first, directory=tmp_path, memory="2 GiB", retries=0)

    assert tuner.oracle.get_space().values == {"width": 2**32, "rate": 0.1}


@pytest.mark.full
def test_failures_that_are_the_scripts_end_the_search_as_keras_tuner_does(tmp_path: Path):
    tuner = ours.RandomSearch(
        models.small,
        objective="val_loss",  # there are no validation data
        directory=tmp_path,
        max_consecutive_failed_trials=2,
    )

    with pytest.raises(RuntimeError, match="exceeded the limit of 2"):
        tuner.search(models.X, models.Z, epochs=1, verbose=0)

    assert [each.status for each in tuner.oracle.trials.values()] == ["FAILED", "FAILED"]


@pytest.mark.full
def test_a_hypermodel_of_ones_own_is_executed_several_times_with_callbacks(tmp_path: Path):
    tuner = ours.RandomSearch(
        models.Scaled(10.0), max_trials=1, executions_per_trial=2, directory=tmp_path
    )

    tuner.search(
        models.data,
        epochs=4,
        verbose=0,
        callbacks=[keras.callbacks.EarlyStopping("loss", patience=0, min_delta=10**9)],
    )

    trial = tuner.oracle.get_best_trials()[0]
    assert float(trial.score or 0.0) > 1.0  # the mean of two, ten times the loss
    assert [each.fold for each in tuner.attempts] == [0, 1]
    # Early stopping was informed: two epochs of two steps, not four.
    assert [each.steps for each in tuner.attempts] == [4, 4]


SCRIPT = """
    import os, signal, sys
    import keras
    from kmonitor.integrations.keras_tuner import RandomSearch
    from tests.support.tuned_models import X, Y, small

    class Kills(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 2 and "killed" in sys.argv and os.path.exists("second"):
                os.remove("second")
                os.kill(os.getppid(), signal.SIGKILL)
            if epoch == 5 and "killed" in sys.argv and not os.path.exists("first"):
                open("first", "w").close()
                open("second", "w").close()

    def made():
        return [Kills()]

    tuner = RandomSearch(small, objective="val_loss", max_trials=2, seed=3, directory=sys.argv[1])
    tuner.search(X, Y, validation_data=(X, Y), epochs=6, verbose=0, callbacks=made)
    trials = [tuner.oracle.trials[name] for name in ("0", "1")]
    print([(each.hyperparameters.values, float(each.score)) for each in trials])
    print([each.fold for each in tuner.attempts])
"""


@pytest.mark.full
def test_a_killed_search_of_a_script_without_a_main_guard_goes_on(tmp_path: Path):
    def ran(*words: str) -> "subprocess.CompletedProcess[str]":
        path = tmp_path / "search.py"
        path.write_text(textwrap.dedent(SCRIPT))
        return subprocess.run(
            [sys.executable, str(path), *words],
            cwd=tmp_path,
            env=environ(),
            capture_output=True,
            text=True,
            check=False,
        )

    whole = ran("whole")
    killed = ran("cut", "killed")
    goes_on = ran("cut", "killed")

    assert whole.returncode == 0, whole.stderr
    assert killed.returncode == -9, killed.stderr
    assert goes_on.returncode == 0, goes_on.stderr
    scores, folds = whole.stdout.strip().splitlines()[-2:]
    # The try that the end of the script cut stands there, too.
    assert goes_on.stdout.strip().splitlines()[-2:] == [scores, "[0, 1, 1]"]
    assert folds == "[0, 1]"


def test_data_that_cannot_be_told_are_refused_with_what_to_do(tmp_path: Path):
    tuner = tuner_without_a_process(tmp_path)

    with pytest.raises(FoldsRefused, match=r"tuner.search\(make_data") as refused:
        tuner.search((each for each in [models.X]), epochs=1)
    with pytest.raises(TypeError, match="leave MonitorCallback out"):
        tuner.search(models.X, callbacks=[MonitorCallback()])

    assert "uses args > 0, a generator" in refused.value.why
    assert refused.value.why.startswith("kmonitor's tuner: no trial was started: ")


@pytest.mark.full
def test_a_function_within_another_is_searched(tmp_path: Path):
    units = 3

    def build_model(hp: Any) -> keras.Model:
        hp.Choice("rate", [0.1])
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)])
        model.compile("sgd", "mse")
        return model

    tuner = ours.RandomSearch(build_model, objective="loss", max_trials=1, directory=tmp_path)
    tuner.search(models.X, models.Y, epochs=1, verbose=0)

    assert [each.status for each in tuner.oracle.trials.values()] == ["COMPLETED"]


def tuner_without_a_process(folder: Path) -> Any:
    """One that knows its space already, as after a reload."""
    kt.RandomSearch(_no_hyperparameters, objective="loss", directory=folder).save()
    return ours.RandomSearch(models.small, objective="loss", directory=folder)


def _no_hyperparameters(hp: Any) -> keras.Model:
    return keras.Sequential()
