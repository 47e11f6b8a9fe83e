"""A study on a Ray cluster whose script or node is killed leaves no process, and resumes."""

from pathlib import Path

import pytest

from tests.faults.test_folds_killed import told_of_first
from tests.support.fold_scripts import interrupt, is_alive, run_script, start_script
from tests.support.ray_nodes import RayNodes, ray_nodes
from tests.support.waiting import DEADLINE_S, wait_until

_FIXTURES = (ray_nodes,)

pytestmark = [pytest.mark.ray, pytest.mark.full]

WAITS = """
    from kmonitor_agent import run_folds
    from tests.support.fold_functions import wait_with_others
    run_folds(wait_with_others, folds=3, study="study", on="ray")
"""

SECOND_WAITS = """
    import os, threading
    from kmonitor_agent import run_folds

    def train_fold(fold):
        with open("ran", "a") as ran:
            print(fold.index, file=ran)
        if fold.index == 1 and not os.path.exists("go"):
            threading.Event().wait()
        import random
        return random.random()

    if __name__ == "__main__":
        print(run_folds(train_fold, folds=3, study="study", on="ray", at_once=1).values)
"""

FIRST_TRY_WAITS = """
    import os, threading
    from kmonitor_agent import run_folds

    def train_fold(fold):
        if fold.attempt == 1:
            (fold.directory / "told").write_text(str(os.getpid()))
            threading.Event().wait()
        return fold.attempt

    if __name__ == "__main__":
        study = run_folds(train_fold, folds=1, study="study", on="ray")
        print([(each.cause, each.why.partition(":")[0]) for each in study.attempts], study.values)
"""


@pytest.fixture
def address(ray_nodes: RayNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts reach the cluster as a user's do."""
    monkeypatch.setenv("RAY_ADDRESS", ray_nodes.address)


@pytest.mark.parametrize("how", ["kill", "terminate", "Ctrl+C"])
@pytest.mark.usefixtures("address")
def test_a_study_that_is_killed_leaves_no_process_and_no_shared_memory(tmp_path: Path, how: str):
    script = start_script(tmp_path, WAITS)
    pid, other, shared = told_of_first(tmp_path)
    assert is_alive(pid)

    interrupt(script) if how == "Ctrl+C" else getattr(script, how)()

    script.wait(DEADLINE_S)
    wait_until(lambda: not is_alive(pid) and not is_alive(other), what="its processes are gone")
    wait_until(lambda: not shared.exists(), what="its shared memory is gone")
    others = [each.read_text().split() for each in tmp_path.glob("study/fold-*/told")]
    pids = [int(pid) for told in others for pid in told[:2]]
    wait_until(lambda: not any(map(is_alive, pids)), what="no fold is left")


@pytest.mark.parametrize("how", ["kill", "Ctrl+C"])
@pytest.mark.usefixtures("address")
def test_a_study_that_was_cut_goes_on_and_runs_no_finished_fold_again(tmp_path: Path, how: str):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    (whole / "go").touch()
    uninterrupted = run_script(whole, SECOND_WAITS)
    script = start_script(cut, SECOND_WAITS)
    ran = cut / "ran"
    wait_until(lambda: ran.exists() and "1" in ran.read_text(), what="the second fold runs")
    interrupt(script) if how == "Ctrl+C" else script.kill()
    script.wait(DEADLINE_S)

    (cut / "go").touch()
    went_on = run_script(cut, SECOND_WAITS)

    assert went_on.stdout.splitlines()[-1] == uninterrupted.stdout.splitlines()[-1]
    assert ran.read_text().split() == ["0", "1", "1", "2"]
    assert ("continues with the rest" in (cut / "said").read_text()) == (how == "Ctrl+C")


@pytest.mark.usefixtures("address")
def test_a_fold_whose_node_dies_is_tried_again_on_another(tmp_path: Path, ray_nodes: RayNodes):
    script = start_script(tmp_path, FIRST_TRY_WAITS)
    told = tmp_path / "study" / "fold-0" / "told"
    pid = int(wait_until(lambda: told.exists() and told.read_text(), what="the fold runs"))

    ray_nodes.kill_node_of(pid)

    assert script.wait(DEADLINE_S) == 0
    assert not is_alive(pid)
    said = (tmp_path / "said").read_text()
    assert "[('killed', 'its node was lost'), ('finished', '')] [2]" in said


def test_without_a_cluster_one_is_begun_on_this_machine_and_ended(tmp_path: Path):
    ran = run_script(tmp_path, SECOND_WAITS.replace("not os.path.exists", "os.path.exists"))

    assert ran.stdout.count(",") == 2, ran.stderr
    assert (tmp_path / "ran").read_text().split() == ["0", "1", "2"]
