"""Folds that train Keras models: their steps are counted, and a killed one goes on exactly."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kmonitor_agent import run_folds
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import SessionDied, SessionStarted
from tests.support.fold_scripts import environ
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
