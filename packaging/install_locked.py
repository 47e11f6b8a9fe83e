"""Installs a part of the lock into an environment, every file checked by its hash.

For images and other places without a clone's set-up; the project itself is installed after it,
with `pip install --no-deps`.
"""

import argparse
import sys
import tomllib
from pathlib import Path

from kmonitor_setup.environment import Project, install_locked
from kmonitor_setup.words import CannotSetUp, complain

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    """Install and give the exit status."""
    parser = argparse.ArgumentParser(description="Installs a part of packaging/lock.txt.")
    parser.add_argument("--into", type=Path, required=True, help="folder of the environment")
    parser.add_argument(
        "--extras", nargs="*", default=[], help="beside the core, which comes first"
    )
    parser.add_argument("--groups", nargs="*", default=[], help="groups of tools alone, no core")
    asked = parser.parse_args(arguments)
    wanted = requirements(asked.extras, asked.groups)
    python = asked.into / "bin" / "python"
    try:
        install_locked(Project.at(ROOT), python, wanted, log=ROOT / ".setup" / "install.log")
    except CannotSetUp as failure:
        complain(failure)
        return 1
    return 0


def requirements(extras: list[str], groups: list[str]) -> list[str]:
    """Requirements in pyproject.toml: of groups of tools, else of the core and extras.

    Args:
        extras: Names of extras.
        groups: Names of dependency groups.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if groups:
        return [one for name in groups for one in settings["dependency-groups"][name]]
    of_extras = [one for name in extras for one in requirements_by_extra()[name]]
    return [*settings["project"]["dependencies"], *of_extras]


def requirements_by_extra() -> dict[str, list[str]]:
    """Requirements of each extra."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["project"]["optional-dependencies"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
