"""`in_processes` with Optuna itself: each trial in a process of its own."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest

from kmonitor.integrations.optuna import TrialError, in_processes
from kmonitor_agent.studies.function_source import FoldsRefused
from tests.support import optuna_objectives as objectives
from tests.support.fold_scripts import environ, run_script
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
    assert why.endswith(("held more than memory=300.0 MiB", " at memory=300.0 MiB"))
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


def test_an_objective_within_a_function_is_refused_with_the_lines(tmp_path: Path):
    with pytest.raises(FoldsRefused) as refused:
        in_processes(lambda trial: trial.suggest_float("x", 0.0, 1.0), study=tmp_path / "search")

    assert "def objective(trial):" in refused.value.why
    assert "study.optimize(in_processes(objective), n_trials=20)" in refused.value.why
    assert "run_folds" not in refused.value.why


def test_an_objective_that_no_process_finds_is_refused_before_optuna_begins_a_trial(
    tmp_path: Path,
):
    ran = run_script(
        tmp_path,
        """
        import optuna
        from kmonitor.integrations.optuna import in_processes

        if __name__ == "__main__":
            in_processes(lambda trial: trial.suggest_float("x", 0.0, 1.0), study="search")
            print("goes on")
        """,
    )

    assert not ran.stdout
    assert "in_processes: no trial was started" in ran.stderr
    assert "def objective(trial):" in ran.stderr


SCRIPT = """
    import optuna
    from kmonitor.integrations.optuna import in_processes

    def objective(trial):
        return trial.suggest_float("x", 0.0, 1.0)

    study = optuna.create_study()
    study.optimize(in_processes(objective, study="search"), n_trials=2)
    print(len(study.trials), study.best_trial.state.name)
"""


def test_a_script_without_a_main_guard_searches(tmp_path: Path):
    ran = run_script(tmp_path, SCRIPT)

    assert ran.stdout.strip() == "2 COMPLETE", ran.stderr


def test_an_objective_typed_into_an_interpreter_is_refused_with_lines_that_work(tmp_path: Path):
    ran = run_script(tmp_path, SCRIPT, "-")

    assert "in_processes: no trial was started" in ran.stderr
    assert "from my_search import objective" in ran.stderr
    (tmp_path / "my_search.py").write_text(
        'def objective(trial):\n    return trial.suggest_float("x", 0.0, 1.0)\n'
    )
    works = subprocess.run(
        [sys.executable, "-"],
        cwd=tmp_path,
        env=environ(),
        input="import optuna\nfrom kmonitor.integrations.optuna import in_processes\n"
        "from my_search import objective\nstudy = optuna.create_study()\n"
        "study.optimize(in_processes(objective), n_trials=1)\nprint(len(study.trials))\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert works.stdout.strip() == "1", works.stderr
