"""Trials in Python environments of their own: without Qt, without a framework, the oldest."""

import venv
from collections.abc import Sequence
from pathlib import Path

from kmonitor_setup.environment import Project
from kmonitor_setup.lock_file import read_lock, write_constraints

from kmonitor_trials.outcome import ROOT, WORK, expect, tell

LOCK = Project.at(ROOT).lock

TEST_TOOLS = ("pytest", "hypothesis", "ipykernel", "jupyter_client", "pyarrow")

FLOORS = ("keras==3.6.*", "tensorflow-cpu==2.18.*")
"""The oldest versions that kmonitor promises to work with."""

OWN_ENVIRON = {"PYTHONPATH": "", "VIRTUAL_ENV": "", "PYTEST_ADDOPTS": ""}
"""Nothing of who runs the trials; an empty value removes a variable."""


def try_without_framework() -> None:
    """With neither TensorFlow nor Qt the agent imports and everything else passes its tests.

    Raises:
        Failed: With what did not work.
    """
    python = make_environment("without-framework")
    install(python, [str(ROOT), *TEST_TOOLS], locked=True)
    expect_missing(python, "tensorflow", "keras", "PySide6")
    expect(
        [python, "-c", "import kmonitor_agent; kmonitor_agent.MonitorCallback"],
        what="import kmonitor_agent without TensorFlow",
        cwd=WORK,
    )
    expect_tests_pass(python, {"ALLOW_NO_WINDOW": "1", "ALLOW_NO_FRAMEWORK": "1"})


def try_without_qt() -> None:
    """Without Qt everything but the window imports and passes its tests.

    Raises:
        Failed: With what did not work.
    """
    python = make_environment("without-qt")
    install(python, [f"{ROOT}[demo]", *TEST_TOOLS], locked=True)
    expect_missing(python, "PySide6", "pyqtgraph")
    expect_tests_pass(python, {"ALLOW_NO_WINDOW": "1"})


def try_floors() -> None:
    """The tests with a real training pass on the oldest Keras and TensorFlow that we promise.

    Raises:
        Failed: With what did not work.
    """
    python = make_environment("floors")
    # Not locked: the lock is for the newest versions, which need newer companions.
    install(python, [f"{ROOT}[demo]", *FLOORS, *TEST_TOOLS], locked=False)
    said = expect(
        [python, "-c", "import keras, tensorflow as t; print(keras.__version__, t.__version__)"],
        what="versions",
    )
    tell(f"  keras and tensorflow: {said.splitlines()[-1]}")
    expect_tests_pass(python, {"ALLOW_NO_WINDOW": "1"}, "-m", "keras and not full")
    # Every scenario of the exactness suite once, and a script that is restarted twice.
    for picked, below in (("end-assign", "exactness"), ("two_restarts", "restart")):
        expect_tests_pass(
            python, {"ALLOW_NO_WINDOW": "1"}, "-k", picked, below=f"tests/frameworks/{below}"
        )


def make_environment(name: str) -> Path:
    """A new empty environment of that name; its Python."""
    folder = WORK / name / "venv"
    folder.parent.mkdir(parents=True, exist_ok=True)
    venv.create(folder, clear=True, with_pip=True)
    return folder / "bin" / "python"


def install(python: Path, wanted: Sequence[str], *, locked: bool) -> None:
    """Have pip install into an environment.

    Args:
        python: Of the environment.
        wanted: What pip is told.
        locked: Whether versions are those of the lock.

    Raises:
        Failed: pip could not.
    """
    constraints = locked_versions() if locked else []
    expect(
        [python, "-m", "pip", "install", "-q", *constraints, *wanted],
        what=f"install {' '.join(wanted)}",
        environ=OWN_ENVIRON,
    )


def locked_versions() -> list[str]:
    """What tells pip to take the versions of the lock, for whatever part of it is asked for."""
    constraints = WORK / "constraints.txt"
    write_constraints(read_lock(LOCK), constraints)
    return ["-c", str(constraints)]


def expect_missing(python: Path, *modules: str) -> None:
    """See that an environment has none of these.

    Raises:
        Failed: It has one.
    """
    expect(
        [python, "-c", f"import importlib.util as u; assert not any(map(u.find_spec, {modules}))"],
        what=f"there is no {', '.join(modules)} here",
    )


def expect_tests_pass(
    python: Path, allowed: dict[str, str], *options: str, below: str = "tests"
) -> None:
    """Run tests in an environment.

    Args:
        python: Of the environment.
        allowed: Variables that say what may be missing there, and others that the tests need.
        options: For pytest; none: all but the slowest.
        below: Folder of the tests.

    Raises:
        Failed: One did not pass, or there was none to run.
    """
    picked = options or ("-m", "not full")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *picked, below]
    # A trial is of one framework's stack; what kmonitor works with is tried in the project's own.
    own = {"ALLOW_NO_LIBRARIES": "1", "ALLOW_NO_POSTGRESQL": "1"}
    environ = {**OWN_ENVIRON, **own, **allowed}
    said = expect(command, what="the tests", environ=environ)
    tell(f"  {said.strip().splitlines()[-1]}")
