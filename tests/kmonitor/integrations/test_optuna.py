"""`in_processes` with Optuna itself: each trial in its own process."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest

from kmonitor.integrations.optuna import TrialError, in_processes
from kmonitor_agent.studies.carried_function import FoldsRefused
from tests.support import optuna_objectives as objectives
from tests.support.fold_scripts import run_script
from tests.support.waiting import DEADLINE_S

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quiet_optuna():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def made(**how: Any) -> optuna.Study:
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=3), **how)


def test_a_search_finds_what_it_finds_in_one_process(tmp_path: Path):
    alone, apart = made(), made()
    objective = partial(objectives.parabola, shift=2.0)

    alone.optimize(objective, n_trials=3)
    in_their_own = in_processes(objective, study=tmp_path / "search")
    apart.optimize(in_their_own, n_trials=3)
    in_their_own.close()

    assert [each.params for each in apart.trials] == [each.params for each in alone.trials]
    assert apart.best_value == alone.best_value
    assert len({each.user_attrs["pid"] for each in apart.trials}) == 3
    assert {each.user_attrs["kmonitor:cause"] for each in apart.trials} == {"finished"}


@pytest.mark.full
def test_each_way_to_end_fails_its_own_trial_only(tmp_path: Path):
    study = made()
    objective = in_processes(
        objectives.mixed,
        memory="300 MiB",
        timeout_s=DEADLINE_S,
        retries=0,
        study=tmp_path / "search",
    )

    study.optimize(objective, n_trials=6, catch=(TrialError,))
    objective.close()

    assert [each.user_attrs["kmonitor:cause"] for each in study.trials] == [
        "finished",
        "out_of_memory",
        "killed",
        "timeout",
        "error",
        "finished",
    ]
    assert [each.state.name for each in study.trials].count("FAIL") == 4
    why = study.trials[1].user_attrs["kmonitor:why"]
    assert "memory=300.0 MiB" in why
    assert study.trials[4].user_attrs["kmonitor:why"] == "ValueError: no luck"


def test_an_error_ends_the_search_as_optuna_does(tmp_path: Path):
    alone, study = made(), made()
    with pytest.raises(ValueError, match="low") as refused:
        alone.optimize(objectives.wrong, n_trials=3)

    objective = in_processes(objectives.wrong, study=tmp_path / "search")
    with pytest.raises(TrialError) as raised:
        study.optimize(objective, n_trials=3)
    objective.close()

    assert raised.value.cause == "error"
    assert raised.value.why == f"ValueError: {refused.value}"
    assert [each.state.name for each in study.trials] == ["FAIL"]


def test_pruning_passes_through(tmp_path: Path):
    study = made(pruner=optuna.pruners.MedianPruner(n_startup_trials=1, n_warmup_steps=1))

    objective = in_processes(objectives.pruned, study=tmp_path / "search")
    study.optimize(objective, n_trials=3)
    objective.close()

    assert [each.state.name for each in study.trials] == ["COMPLETE", "PRUNED", "PRUNED"]
    assert study.trials[1].intermediate_values == {0: 1.0, 1: 1.0}


def test_trials_of_several_threads_run_at_the_same_time(tmp_path: Path):
    study = made()
    meeting = partial(objectives.meeting, folder=str(tmp_path))
    objective = in_processes(meeting, study=tmp_path / "search")

    study.optimize(objective, n_trials=2, n_jobs=2)
    objective.close()

    assert {each.state.name for each in study.trials} == {"COMPLETE"}


def test_an_objective_that_cannot_be_carried_is_refused_with_what_to_do(tmp_path: Path):
    lock: Any = threading.Lock()

    with pytest.raises(FoldsRefused) as refused:
        in_processes(lambda trial: lock, study=tmp_path / "search")

    assert refused.value.why.startswith("in_processes: no trial was started: ")
    assert "uses objective > lock, a lock" in refused.value.why


def test_a_lambda_over_a_value_is_searched(tmp_path: Path):
    study, low = made(), 0.5

    objective = in_processes(lambda t: t.suggest_float("x", low, 1.0), study=tmp_path / "search")
    study.optimize(objective, n_trials=1)
    objective.close()

    assert study.best_value >= low


SCRIPT = """
    import optuna
    from kmonitor.integrations.optuna import in_processes

    def objective(trial):
        return trial.suggest_float("x", 0.0, 1.0)

    study = optuna.create_study()
    study.optimize(in_processes(objective, study="search"), n_trials=2)
    print(len(study.trials), study.best_trial.state.name)
"""


@pytest.mark.parametrize("words", [(), ("-",)])
def test_a_script_searches_without_a_main_guard_and_from_an_interpreter(
    tmp_path: Path, words: tuple[str, ...]
):
    ran = run_script(tmp_path, SCRIPT, *words)

    assert ran.stdout.strip() == "2 COMPLETE", ran.stderr
