"""`cross_validate` with scikit-learn's own splitters and a Keras model."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kmonitor.integrations.scikit_learn import cross_validate
from tests.support.fold_functions import nothing
from tests.support.fold_scripts import environ
from tests.support.source_tree import ROOT


def test_data_that_are_no_arrays_are_refused_before_the_first_fold(tmp_path: Path):
    with pytest.raises(TypeError, match="use run_folds with a function"):
        cross_validate(nothing, [object()], cv=[([0], [0])], study=tmp_path)  # pyright: ignore[reportArgumentType]


def test_callbacks_are_refused_before_the_first_fold(tmp_path: Path):
    with pytest.raises(TypeError, match="pass that function to run_folds"):
        cross_validate(
            make_nothing, np.zeros(2), cv=[([0], [1])], fit={"callbacks": []}, study=tmp_path / "s"
        )

    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [("scoring", "compiled with"), ("n_jobs", "it also takes timeout_s, memory,")],
)
def test_arguments_that_are_not_known_are_refused_by_its_own_name(
    tmp_path: Path, name: str, told: str
):
    unknown: dict[str, Any] = {name: "accuracy"}

    with pytest.raises(TypeError, match=f"cross_validate: unknown argument {name}=.*{told}"):
        cross_validate(make_nothing, np.zeros(2), study=tmp_path / "s", **unknown)

    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("cv", ["x", None, 2.0, Path])
def test_what_splits_nothing_is_refused_with_what_cv_takes(tmp_path: Path, cv: object):
    with pytest.raises(TypeError, match=r"cross_validate: cv=.* a number of folds, a splitter"):
        cross_validate(make_nothing, np.zeros(2), cv=cv, study=tmp_path / "s")

    assert not (tmp_path / "s").exists()


@pytest.mark.keras
@pytest.mark.full
def test_a_fold_that_fails_is_nan_and_the_study_says_why(tmp_path: Path):
    scores = cross_validate(
        make_nothing, np.zeros((4, 1)), cv=[([0, 1], [2, 3])], study=tmp_path / "study"
    )

    assert np.isnan(scores["fit_time"]).all()
    assert "no model" in scores["study"].results[0].why


def make_nothing() -> None:
    raise ValueError("no model")


@pytest.mark.keras
@pytest.mark.sklearn
@pytest.mark.full
@pytest.mark.parametrize("cv", ["number", "k-fold", "groups"])
def test_a_script_without_a_main_guard_cross_validates(tmp_path: Path, cv: str):
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "support" / "cv_script.py"), cv],
        cwd=tmp_path,
        env=environ(),
        capture_output=True,
        text=True,
        check=True,
    )

    accuracies, _, count = ran.stdout.strip().splitlines()[-1].rpartition(" ")
    assert int(count) == 2
    assert min(json.loads(accuracies)) > 0.7
