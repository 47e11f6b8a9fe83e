"""`run_folds(..., on="ray")` on a real cluster: as on one machine, to the bit; nodes may die."""

from functools import partial
from pathlib import Path

import pytest

from kmonitor_agent import run_folds
from kmonitor_agent.studies import bounds
from tests.support import fold_functions as functions
from tests.support.ray_nodes import ray_nodes

_FIXTURES = (ray_nodes,)

pytestmark = [pytest.mark.ray, pytest.mark.full, pytest.mark.usefixtures("ray_nodes")]


def test_results_equal_those_of_the_same_folds_on_this_machine(tmp_path: Path):
    function = partial(functions.drawn, scale=2.0)

    here = run_folds(function, folds=4, study=tmp_path / "here")
    there = run_folds(function, folds=4, study=tmp_path / "there", on="ray")

    assert there.values == here.values
    assert [each.index for each in there.results] == [0, 1, 2, 3]
    assert there.complete
    assert "node" in str(there.attempts)


def test_each_way_to_end_is_told_apart_and_none_harms_the_others(tmp_path: Path):
    count = len(functions.WAYS)

    here = run_folds(functions.by_index, folds=count, study=tmp_path / "here", retries=0)
    there = run_folds(
        functions.by_index, folds=count, study=tmp_path / "there", retries=0, on="ray"
    )

    assert there.complete
    told = [[(each.cause, each.signal, each.why) for each in one.results] for one in (here, there)]
    assert told[0] == told[1]
    assert "the last line" in there.results[6].output.read_text()[-100:]


def test_a_fold_that_takes_more_memory_than_it_may_is_ended_where_it_runs(tmp_path: Path):
    study = run_folds(
        functions.leak, folds=1, study=tmp_path / "study", memory="300 MiB", retries=0, on="ray"
    )

    (result,) = study.results
    assert result.cause == "out_of_memory"
    assert result.attempts[0].peak_bytes < 2**30


def test_a_fold_that_takes_longer_than_it_may_is_ended_and_tried_again(tmp_path: Path):
    study = run_folds(functions.wait, folds=1, study=tmp_path / "study", timeout_s=0.5, on="ray")

    (result,) = study.results
    assert result.cause == "timeout"
    assert [each.attempt for each in result.attempts] == [1, 2]


def test_a_hang_is_judged_by_all_folds_and_its_stacks_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bounds, "LEAST_S", 0.5)

    study = run_folds(functions.hang, folds=1, study=tmp_path / "study", retries=0, on="ray")

    (result,) = study.results
    assert result.cause == "hang"
    assert result.attempts[0].steps == 4
    assert "in hang" in result.output.read_text()


def test_as_many_run_at_the_same_time_as_was_said(tmp_path: Path):
    study = run_folds(
        functions.count_each_other, folds=3, study=tmp_path / "study", at_once=1, on="ray"
    )

    assert study.values == [1, 1, 1]


def test_a_study_goes_on_where_it_was(tmp_path: Path):
    first = run_folds(functions.by_index, folds=2, study=tmp_path / "study")

    second = run_folds(functions.by_index, folds=2, study=tmp_path / "study", on="ray")

    assert second.results[0].value == first.results[0].value
    assert [each.fold for each in second.attempts] == [0, 1, 1]
