"""The resolver of versions, uv, in a separate environment: it is no part of the project's."""

import tomllib
import venv
from pathlib import Path

from kmonitor_setup.environment import Project, install_locked


def provide_resolver(project: Project) -> Path:
    """The program, installed from the lock if it is not there yet.

    Raises:
        CannotSetUp: With what to do.
    """
    tool = project.work / "lock"
    program = tool / "bin" / "uv"
    if not program.exists():
        settings = tomllib.loads((project.root / "pyproject.toml").read_text(encoding="utf-8"))
        venv.create(tool, with_pip=True, clear=True)
        wanted = settings["dependency-groups"]["lock"]
        install_locked(project, tool / "bin" / "python", wanted, log=tool / "install.log")
    return program
