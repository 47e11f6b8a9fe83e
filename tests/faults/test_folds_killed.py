"""A study that is killed or interrupted leaves nothing behind, and resumes where it was."""

from pathlib import Path

import pytest

from tests.support.fold_scripts import interrupt, is_alive, run_script, start_script
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

WAITS = """
    from kmonitor_agent import run_folds
    from tests.support.fold_functions import wait_with_others
    run_folds(wait_with_others, folds=3, study="study")
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
        print(run_folds(train_fold, folds=3, study="study").values)
"""


def told_of_first(folder: Path) -> tuple[int, int, Path]:
    """Its process, one that it started, its shared memory; once it runs."""
    told = folder / "study" / "fold-0" / "told"
    wait_until(told.exists, what="the fold runs")
    pid, other, name = told.read_text().split()
    return int(pid), int(other), Path("/dev/shm") / name  # noqa: S108 - where Python makes it


@pytest.mark.parametrize(
    "how", ["kill", pytest.param("terminate", marks=pytest.mark.full), "Ctrl+C"]
)
def test_a_study_that_is_killed_leaves_no_process_and_no_shared_memory(tmp_path: Path, how: str):
    script = start_script(tmp_path, WAITS)
    pid, other, shared = told_of_first(tmp_path)
    assert is_alive(pid)
    assert is_alive(other)
    assert shared.exists()

    interrupt(script) if how == "Ctrl+C" else getattr(script, how)()

    script.wait(DEADLINE_S)
    wait_until(lambda: not is_alive(pid) and not is_alive(other), what="its processes are gone")
    wait_until(lambda: not shared.exists(), what="its shared memory is gone")


@pytest.mark.parametrize("how", ["kill", pytest.param("Ctrl+C", marks=pytest.mark.full)])
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

    assert went_on.stdout == uninterrupted.stdout
    assert went_on.stdout.count(",") == 2
    assert ran.read_text().split() == ["0", "1", "1", "2"]
    said = (cut / "said").read_text()
    assert ("continues with the rest" in said) == (how == "Ctrl+C")
    assert "runner.py" not in said
    attempts = (cut / "study" / "attempts.txt").read_text()
    assert ("fold 1: the script that ran the study ended" in attempts) == (how == "kill")
