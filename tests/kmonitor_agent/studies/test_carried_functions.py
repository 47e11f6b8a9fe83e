"""Functions of scripts, notebooks and other functions reach the processes of their folds."""

import functools
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kmonitor_agent import Fold, FoldsRefused, run_folds
from kmonitor_agent.studies import carried_function
from kmonitor_agent.studies.carried_function import carry, function_text, load
from kmonitor_agent.wire.local.folders import Folders
from tests.support import fold_functions as functions
from tests.support.fold_scripts import GUARDED, run_script

pytestmark = pytest.mark.slow

UNGUARDED = """
    from pathlib import Path
    from kmonitor_agent import run_folds

    scale = 10

    def train_fold(fold):
        return fold.index * scale

    print(run_folds(train_fold, folds=2, study="study").values)
    Path("after").open("a").write("x")
"""

AGAIN = """
    from kmonitor_agent import run_folds

    units = 0

    def train_fold(fold):
        return units

    for units in (16, 32):
        print(run_folds(train_fold, folds=1).values)
"""

SPAWNS = """
    import multiprocessing
    from kmonitor_agent import run_folds

    def twice(value):
        return 2 * value

    def train_fold(fold):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.map(twice, [1, 2])

    if __name__ == "__main__":
        print(run_folds(train_fold, folds=1, retries=0, timeout_s=60).values)
"""

FAILS = """
    import pathlib
    import sys
    from kmonitor_agent import run_folds

    pathlib.Path("steps.py").write_text("def step(): ...")
    import steps
    pathlib.Path("steps.py").write_text("raise RuntimeError('only once')")

    def train_fold(fold):
        return steps.step()

    run_folds(train_fold, folds=2, study="study", at_once=2)
"""

BREAKS = """
    import threading
    from kmonitor_agent import run_folds
    import steps

    def train_fold(fold):
        steps.wait()

    print([each.cause for each in run_folds(train_fold, folds=2, study="study").results])
"""

STEPS = """
import os
import threading
from pathlib import Path
from kmonitor_agent.wire.local.fold_identity import fold_identity

with Path("reads").open("a") as reads:
    reads.write("x")
place = fold_identity(os.environ)
if place is not None and place.fold == 1:
    raise RuntimeError("broken meanwhile")


def wait():
    threading.Event().wait(2.0)
"""


def test_a_process_that_fails_ahead_of_time_is_not_started_over_and_over(tmp_path: Path):
    (tmp_path / "steps.py").write_text(STEPS)

    ran = run_script(tmp_path, BREAKS)

    assert ran.stdout == "['finished', 'error']\n", ran.stderr
    assert len((tmp_path / "reads").read_text()) == 4


@pytest.mark.parametrize("words", [(), ("-",), ("-m", "script")])
def test_a_function_of_the_script_is_carried(tmp_path: Path, words: tuple[str, ...]):
    ran = run_script(tmp_path, GUARDED, *words)

    assert ran.stdout == "[0, 10]\n", ran.stderr


def test_a_script_without_a_main_guard_runs_once(tmp_path: Path):
    ran = run_script(tmp_path, UNGUARDED)

    assert ran.stdout == "[0, 10]\n", ran.stderr
    assert (tmp_path / "after").read_text() == "x"


def test_a_second_study_of_a_script_sees_what_changed_since_the_first(tmp_path: Path):
    ran = run_script(tmp_path, AGAIN)

    assert ran.stdout == "[16]\n[32]\n", ran.stderr


def test_a_study_goes_on_with_a_lambda_of_the_script_that_is_started_again(tmp_path: Path):
    script = """
        import sys
        from pathlib import Path
        from kmonitor_agent import run_folds

        def fails_first(fold):
            if fold.index and Path("first").exists():
                raise RuntimeError("not yet")
            return fold.index * 10

        print(run_folds(lambda fold: fails_first(fold), folds=2, study="study").values)
    """
    (tmp_path / "first").touch()

    before = run_script(tmp_path, script)
    (tmp_path / "first").unlink()
    after = run_script(tmp_path, script)

    assert before.stdout == "[0, None]\n", before.stderr
    assert after.stdout == "[0, 10]\n", after.stderr
    assert "fold 1 finished" in after.stderr
    assert "fold 0 finished" not in after.stderr


@pytest.mark.parametrize("words", [(), ("-m", "script")])
def test_a_fold_starts_processes_of_its_own_that_read_the_script(
    tmp_path: Path, words: tuple[str, ...]
):
    ran = run_script(tmp_path, SPAWNS, *words)

    assert ran.stdout == "[[2, 4]]\n", ran.stderr


def test_a_traceback_shows_lines_of_a_script_that_is_in_no_file_any_more(tmp_path: Path):
    ran = run_script(
        tmp_path,
        """
        from pathlib import Path
        from kmonitor_agent import run_folds

        def train_fold(fold):
            Path(__file__).unlink()
            raise ValueError("no luck")  # this line

        print(run_folds(train_fold, folds=1).results[0].output.read_text())
        """,
    )

    assert "# this line" in ran.stdout, ran.stderr


def test_a_lambda_and_a_closure_over_an_array_are_carried():
    array = np.arange(5.0)

    def train_fold(fold: Fold) -> float:
        return float(array[fold.index])

    assert run_folds(train_fold, folds=2).values == [0.0, 1.0]
    assert run_folds(lambda fold: float(array.sum()), folds=1).values == [10.0]


def test_a_large_array_is_stored_once_mapped_by_each_fold_and_removed(tmp_path: Path):
    array = np.arange(2**18).astype("float32")

    def train_fold(fold: Fold) -> tuple[Any, ...]:
        array[0] += 1.0  # stays in its own process
        stored = [each.name for each in (fold.directory.parent / "carried").iterdir()]
        return stored, type(array.base).__name__, float(array[0]), float(array[-1])

    study = run_folds(train_fold, folds=2, study=tmp_path / "study")

    assert study.values == [(["0.npy"], "memmap", 1.0, 2**18 - 1.0)] * 2
    assert not (tmp_path / "study" / "carried").exists()


def test_an_array_that_the_disk_refuses_is_carried_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    array = np.ones(2**18)

    def refuse(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(carried_function, "_store", refuse)
    study = run_folds(lambda fold: float(array.sum()), folds=2, study=tmp_path / "study")

    assert study.values == [2.0**18] * 2


class Scaled:
    """Its objects can be called, and hold a value."""

    def __init__(self, scale: int) -> None:
        self.scale = scale

    def __call__(self, fold: Fold) -> int:
        """As its method."""
        return self.fold(fold)

    def fold(self, fold: Fold) -> int:
        """A fold of an object."""
        return (fold.index + 1) * self.scale

    @classmethod
    def of_class(cls, fold: Fold) -> str:
        """A fold of a class."""
        return f"{cls.__name__} {fold.index}"


class Wide(Scaled):
    """Inherits its function."""


@pytest.mark.parametrize(
    ("function", "text", "value"),
    [
        (Scaled(3).fold, "Scaled.fold", 3),
        (Scaled(3), "Scaled", 3),
        (Wide.of_class, "Scaled.of_class", "Wide 0"),
        (functools.partial(Scaled.fold, Scaled(4)), "Scaled.fold", 4),
    ],
)
def test_methods_objects_and_partials_are_carried(function: Any, text: str, value: object):
    study = run_folds(function, folds=1)

    assert study.values == [value]
    assert function_text(function) == f"{__name__}: {text}"


@pytest.mark.parametrize("function", [5, None, functions, Scaled])
def test_what_is_no_function_is_refused_with_what_to_write(function: Any):
    with pytest.raises(
        TypeError, match=r"is not a function; use run_folds\(train_fold, folds=5\)"
    ):
        run_folds(function, folds=1)


def test_what_cannot_be_pickled_is_named_with_what_to_do(tmp_path: Path):
    held = {"guard": [threading.Lock()]}
    drawn: Any = functions.drawn

    def helper() -> Any:
        return held

    def train_fold(fold: Fold) -> Any:
        return helper()

    with pytest.raises(FoldsRefused) as refused:
        run_folds(train_fold, folds=1, study=tmp_path / "study")
    with pytest.raises(FoldsRefused, match=r"uses scale > 0, a lock, which cannot be sent"):
        run_folds(functools.partial(drawn, scale=[threading.Lock()]), folds=1)

    assert refused.value.why.startswith("run_folds: no fold was started: ")
    assert "train_fold uses helper > held > 'guard' > 0, a lock" in refused.value.why
    assert refused.value.why.endswith("Create it in the function.")
    assert not (tmp_path / "study").exists()


def test_a_module_that_fails_in_another_process_is_refused_and_is_no_study(
    tmp_path: Path, folders: Folders
):
    ran = run_script(tmp_path, FAILS)

    assert "run_folds: no fold was started: script.py: train_fold cannot be loaded" in ran.stderr
    assert "RuntimeError: only once" in ran.stderr
    assert "FoldsRefused" in ran.stderr
    assert not folders.spool.exists()


def test_a_script_that_calls_no_run_folds_loads_no_cloudpickle(tmp_path: Path):
    ran = run_script(
        tmp_path,
        """
        import sys
        from kmonitor_agent import run_folds, FoldsRefused
        print("cloudpickle" in sys.modules)
        """,
    )

    assert ran.stdout == "False\n"


def test_the_same_arguments_have_the_same_checksum_and_others_another():
    def checksum(**named: Any) -> str:
        return carry(functools.partial(functions.drawn, **named)).arguments

    assert checksum(scale=2.0, x=np.ones(2**18)) == checksum(x=np.ones(2**18), scale=2.0)
    assert checksum(scale=2.0) != checksum(scale=3.0)
    assert checksum(x=np.ones(2**18)) != checksum(x=np.zeros(2**18))
    assert checksum(f=checksum) == checksum(f=len)
    assert carry(functions.drawn).arguments == ""


def test_what_the_script_names_is_found_by_name_in_a_folds_process(
    monkeypatch: pytest.MonkeyPatch,
):
    main = sys.modules["__main__"]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("def helper(): return 7\ndef train_fold(fold): return helper()", names)  # noqa: S102
    monkeypatch.setattr(main, "helper", None, raising=False)

    found = load(carry(names["train_fold"]).data)

    assert found(None) == 7
    assert vars(main)["helper"]() == 7
