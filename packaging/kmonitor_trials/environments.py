"""Trials in Python environments of their own: the wheel alone, without Qt, the oldest versions."""

import shutil
import venv
from collections.abc import Sequence
from pathlib import Path

from kmonitor_setup.environment import Project
from kmonitor_setup.lock_file import read_lock, write_constraints

from kmonitor_trials.outcome import ROOT, WORK, Failed, expect, tell

LOCK = Project.at(ROOT).lock

TEST_TOOLS = ("pytest", "hypothesis", "ipykernel", "jupyter_client", "pyarrow")

FLOORS = ("keras==3.6.*", "tensorflow-cpu==2.18.*")
"""The oldest versions that kmonitor promises to work with."""

_OWN_ENVIRON = {"PYTHONPATH": "", "VIRTUAL_ENV": "", "PYTEST_ADDOPTS": ""}


def try_wheel() -> None:
    """The wheel holds its resources, and works in a clean environment with no extras.

    Raises:
        Failed: With what did not work.
    """
    python = make_environment("wheel")
    made = WORK / "wheel" / "dist"
    shutil.rmtree(made, ignore_errors=True)
    pip = [python, "-m", "pip"]
    expect([*pip, "wheel", "-q", "--no-deps", "-w", made, ROOT], what="pip wheel")
    (wheel,) = made.glob("*.whl")
    expect([*pip, "install", "-q", *locked_versions(), wheel], what="install the wheel, no extras")
    _expect_a_working_command(python)


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
        environ=_OWN_ENVIRON,
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
    environ = {**_OWN_ENVIRON, **own, **allowed}
    said = expect(command, what="the tests", environ=environ)
    tell(f"  {said.strip().splitlines()[-1]}")


def _expect_a_working_command(python: Path) -> None:
    """The command works from the wheel, and says kindly that the window is not installed."""
    home = {"KMONITOR_HOME": str(WORK / "wheel" / "home"), **_OWN_ENVIRON}
    kmonitor = python.parent / "kmonitor"
    elsewhere = WORK / "wheel"
    expect([kmonitor, "--version"], what="kmonitor --version", cwd=elsewhere, environ=home)
    expect([kmonitor, "--help"], what="kmonitor --help", cwd=elsewhere, environ=home)
    said = expect(
        ["sh", "-c", f"'{kmonitor}' doctor; test $? -le 1"],
        what="kmonitor doctor",
        cwd=elsewhere,
        environ=home,
    )
    if "Traceback" in said:
        raise Failed("kmonitor doctor ends in a traceback")
    said = expect(
        ["sh", "-c", f"if '{kmonitor}'; then exit 1; fi"],
        what="kmonitor without Qt is refused in words",
        cwd=elsewhere,
        environ=home,
    )
    if "Traceback" in said or "desktop" not in said:
        raise Failed(f"kmonitor without Qt said: {said.strip()[-300:]}")
    expect(
        [python, "-I", "-c", _FIND_RESOURCES],
        what="icons, fonts, guide and demo data are in the wheel",
        cwd=elsewhere,
        environ=home,
    )


_FIND_RESOURCES = """
import kmonitor
from kmonitor.resource_files import resource_path
for name in ("icons", "fonts", "guide", "demo"):
    folder = resource_path(name)
    assert kmonitor.__path__[0] in str(folder), folder
    assert any(folder.iterdir()), folder
"""
