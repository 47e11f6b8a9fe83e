"""A function reaches its process by its place in a file; what has none is refused beforehand."""

import functools
import threading
from pathlib import Path
from typing import Any

import pytest

from kmonitor_agent import FoldsRefused, run_folds
from kmonitor_agent.studies.function_source import load, source_of
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

LAMBDA = """
    from kmonitor_agent import run_folds

    def main():
        scale = 10
        print(run_folds(lambda fold: fold.index * scale, folds=2, study="study").values)

    {}
"""

TWO = """
    from kmonitor_agent import run_folds

    def first(fold):
        return fold.index

    print(run_folds(first, folds=2, study="first").values)

    def second(fold):
        return fold.index * 10

    print(run_folds(second, folds=2, study="second").values)
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
    import sys
    from kmonitor_agent import run_folds

    if __name__ != "__main__":
        raise RuntimeError("only once")

    def train_fold(fold):
        return fold.index

    run_folds(train_fold, folds=2, study="study", at_once=2)
"""


BREAKS = """
    import os
    import threading
    from pathlib import Path
    from kmonitor_agent import run_folds
    from kmonitor_agent.wire.local.fold_identity import fold_identity as fold_place

    with Path("reads").open("a") as reads:
        reads.write("x")
    place = fold_place(os.environ)
    if place is not None and place.fold == 1:
        raise RuntimeError("broken meanwhile")

    def train_fold(fold):
        threading.Event().wait(2.0)

    if __name__ == "__main__":
        print([each.cause for each in run_folds(train_fold, folds=2, study="study").results])
"""


def test_a_process_that_fails_ahead_of_time_is_not_started_over_and_over(tmp_path: Path):
    ran = run_script(tmp_path, BREAKS)

    assert ran.stdout == "['finished', 'error']\n"
    assert len((tmp_path / "reads").read_text()) == 4


def test_a_script_with_a_main_guard_works(tmp_path: Path):
    ran = run_script(tmp_path, GUARDED)

    assert ran.stdout == "[0, 10]\n"
    assert not list(tmp_path.glob("__pycache__"))


def test_a_script_without_a_main_guard_works_and_goes_on_once(tmp_path: Path):
    ran = run_script(tmp_path, UNGUARDED)

    assert ran.stdout == "[0, 10]\n"
    assert (tmp_path / "after").read_text() == "x"


def test_a_function_in_a_function_works_without_a_main_guard(tmp_path: Path):
    ran = run_script(tmp_path, LAMBDA.format("main()"))

    assert ran.stdout == "[0, 10]\n"


def test_a_function_that_the_script_does_not_come_to_is_refused(tmp_path: Path):
    ran = run_script(tmp_path, LAMBDA.format('__name__ == "__main__" and main()'))

    assert ran.returncode == 1
    assert "no fold was started" in ran.stderr
    assert "def train_fold(fold):" in ran.stderr
    assert not (tmp_path / "study" / "attempts.jsonl").exists()


def test_a_second_study_in_a_script_without_a_main_guard_is_refused_with_what_to_write(
    tmp_path: Path,
):
    ran = run_script(tmp_path, TWO)

    assert ran.stdout == "[0, 1]\n"
    assert "reaches an earlier run_folds first" in ran.stderr
    assert 'if __name__ == "__main__":' in ran.stderr


def test_a_script_without_a_main_guard_never_runs_a_second_study_with_what_the_first_one_saw(
    tmp_path: Path,
):
    ran = run_script(tmp_path, AGAIN)

    assert ran.stdout == "[16]\n"
    assert "reaches an earlier run_folds first" in ran.stderr
    assert 'if __name__ == "__main__":' in ran.stderr


def test_a_fold_starts_processes_of_its_own_that_read_the_script(tmp_path: Path):
    ran = run_script(tmp_path, SPAWNS)

    assert ran.stdout == "[[2, 4]]\n", ran.stderr


def test_a_fold_of_a_module_that_was_started_by_its_name_starts_processes_of_its_own(
    tmp_path: Path,
):
    ran = run_script(tmp_path, SPAWNS, "-m", "script")

    assert ran.stdout == "[[2, 4]]\n", ran.stderr


def test_a_script_that_fails_when_it_is_read_again_is_refused_and_is_no_study(
    tmp_path: Path, folders: Folders
):
    ran = run_script(tmp_path, FAILS)

    assert "no fold was started" in ran.stderr
    assert "RuntimeError: only once" in ran.stderr
    assert "FoldsRefused" in ran.stderr
    assert not folders.spool.exists()


def test_a_script_without_a_file_is_refused_with_what_to_write(tmp_path: Path):
    ran = run_script(tmp_path, GUARDED, "-")

    assert "FoldsRefused" in ran.stderr
    assert "from my_folds import train_fold" in ran.stderr


def test_an_argument_that_is_no_plain_data_is_refused():
    drawn: Any = functions.drawn

    with pytest.raises(FoldsRefused, match=r"scale= of partial.* holds a lock"):
        run_folds(functools.partial(drawn, scale=[threading.Lock()]), folds=1)
    with pytest.raises(FoldsRefused, match="by name"):
        run_folds(functools.partial(drawn, 1.0), folds=1)


def test_what_is_no_function_at_the_top_of_a_module_is_refused():
    def inner(fold: object) -> None: ...

    with pytest.raises(FoldsRefused, match="inside another function"):
        source_of(inner)
    with pytest.raises(TypeError, match="not a function"):
        source_of(functions)


def test_a_method_of_an_object_is_refused_with_the_lines_that_make_the_object():
    made = Scaled()

    with pytest.raises(FoldsRefused) as method:
        source_of(made.fold)
    with pytest.raises(FoldsRefused) as called:
        source_of(made)

    assert "Scaled.fold: it is a method of an object" in method.value.why
    assert "return Scaled(...).fold(fold)" in method.value.why
    assert "return Scaled(...)(fold)" in called.value.why


def test_a_method_of_a_class_is_found():
    source = source_of(Wide.of_class)

    assert load(source)("fold") == ("Wide", "fold")


class Scaled:
    """Its objects can be called."""

    def __call__(self, fold: object) -> None: ...

    def fold(self, fold: object) -> None:
        """A fold of an object."""

    @classmethod
    def of_class(cls, fold: object) -> tuple[str, object]:
        """A fold of a class."""
        return cls.__name__, fold


class Wide(Scaled):
    """Inherits its function."""


def test_further_functions_of_a_script_are_found_although_multiprocessing_is_imported(
    tmp_path: Path,
):
    ran = run_script(
        tmp_path,
        """
        import functools
        from kmonitor_agent import run_folds
        from tests.support.asking import called

        def twice(value):
            return 2 * value

        print(run_folds(functools.partial(called, function=twice), folds=1, study="study").values)
        """,
    )

    assert ran.stdout.strip() == "[2]", ran.stderr
