"""Trials in their own Python environments: without Qt, without a framework, the oldest."""

import os
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

from kmonitor_setup.environment import Project
from kmonitor_setup.lock_file import read_lock, write_constraints
from kmonitor_setup.resolver import provide_resolver
from kmonitor_setup.words import CannotSetUp

from kmonitor_trials.outcome import ROOT, WORK, Failed, expect, tell

LOCK = Project.at(ROOT).lock

TEST_TOOLS = ("pytest", "pytest-timeout", "hypothesis", "ipykernel", "jupyter_client", "pyarrow")

NOT_OF_FLOORS = ("desktop", "dev")
"""Extras without a trial of their oldest versions: the window's pictures are the lock's Qt's."""

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
    """The tests pass on the oldest versions that pyproject.toml promises, those of extras too.

    Raises:
        Failed: With what did not work.
    """
    python = make_environment("floors")
    extras, oldest = _oldest_versions(python)
    # Not locked: the lock is for the newest versions, which need newer companions.
    asked = f"{ROOT}[{','.join(extras)}]"
    install(python, ["-c", str(oldest), asked, *TEST_TOOLS], locked=False)
    said = expect(
        [python, "-c", "import keras, tensorflow as t; print(keras.__version__, t.__version__)"],
        what="versions",
    )
    tell(f"  keras and tensorflow: {said.splitlines()[-1]}")
    refused = {"ALLOW_NO_LIBRARIES": "", "ALLOW_NO_POSTGRESQL": ""}
    accepted = {name: os.environ.get(name, without) for name, without in refused.items()}
    allowed = {"ALLOW_NO_WINDOW": "1", **accepted}
    # Those of packaging look at what the lock names, which is not what is here.
    expect_tests_pass(python, allowed, "-m", "not full", "--ignore=tests/packaging")
    # Every scenario of the exactness suite once, and a script that is restarted twice.
    for picked, below in (("end-assign", "exactness"), ("two_restarts", "restart")):
        expect_tests_pass(python, allowed, "-k", picked, below=f"tests/frameworks/{below}")


def _oldest_versions(python: Path) -> tuple[list[str], Path]:
    """Extras, and a file of pip's constraints with the least versions that we require.

    Their own requirements are as new as they allow, as for anyone who installs them today.

    Raises:
        Failed: They exclude each other.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    every = settings["project"]["optional-dependencies"]
    extras = [name for name in every if name not in NOT_OF_FLOORS]
    oldest = WORK / "floors" / "oldest.txt"
    try:
        resolver = provide_resolver(Project.at(ROOT))
    except CannotSetUp as exc:
        raise Failed(f"the resolver: {exc}") from exc
    expect(
        [
            resolver,
            *("pip", "compile", "pyproject.toml", "--python", python),
            *(word for name in extras for word in ("--extra", name)),
            *("--resolution", "lowest-direct", "--only-binary", ":all:"),
            *("--no-annotate", "--no-header", "--quiet", "--output-file", oldest),
        ],
        what="the oldest versions",
    )
    return extras, oldest


def make_environment(name: str) -> Path:
    """A new empty environment of that name; its Python."""
    folder = WORK / name / "venv"
    folder.parent.mkdir(parents=True, exist_ok=True)
    venv.create(folder, clear=True, with_pip=True)
    return folder / "bin" / "python"


def install(python: Path, wanted: Sequence[str], *, locked: bool) -> None:
    """Have pip install into an environment.

    Args:
        python: Python of the environment.
        wanted: Arguments for pip.
        locked: True to install the versions of the lock.

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
    """Arguments that make pip take the versions of the lock, for any part of it."""
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
        python: Python of the environment.
        allowed: Variables that say what may be missing there, and others that the tests need.
        options: For pytest; none: all but the slowest.
        below: Folder of the tests.

    Raises:
        Failed: One did not pass, or there was none to run.
    """
    picked = options or ("-m", "not full")
    command = [python, ROOT / "packaging/run_tests.py", "--limit-s=7000", *picked, below]
    # A trial is of one framework's stack; what kmonitor works with is tried in the project's own.
    own = {"ALLOW_NO_LIBRARIES": "1", "ALLOW_NO_POSTGRESQL": "1"}
    environ = {**OWN_ENVIRON, **own, **allowed}
    said = expect(command, what="the tests", environ=environ)
    tell(f"  {said.strip().splitlines()[-1]}")
