"""The steps of set-up, in order: system libraries, environment, Python packages."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kmonitor_setup import apt, environment, libraries
from kmonitor_setup.words import CannotSetUp, complain, say

ROOT = Path(__file__).resolve().parents[2]

WORKS_WITH = (
    "keras-tuner",
    "optuna",
    "otlp",
    "postgresql",
    "prometheus",
    "ray",
    "scikit-learn",
)
"""Extras of libraries that kmonitor works with; each is tested against the real one."""

EXTRAS = {
    "run": ("demo", "desktop"),
    "test": ("demo", "desktop", "dev", "parquet", *WORKS_WITH),
}
"""Extras of pyproject.toml that each purpose installs."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Options of set-up.

    Attributes:
        testing: True to install the tools of `make test`, too.
        no_apt: Print the line for missing system packages instead of installing them.
    """

    testing: bool
    no_apt: bool


def main(arguments: Sequence[str]) -> int:
    """Set up and give the exit status."""
    wish = _read(arguments)
    try:
        set_up(wish, environment.Project.at(ROOT))
    except CannotSetUp as failure:
        complain(failure)
        return 1
    except KeyboardInterrupt:
        complain(CannotSetUp("interrupted; run it again and it starts this step afresh."))
        return 130
    return 0


def set_up(wish: Wish, project: environment.Project) -> None:
    """Bring the machine and the clone to where `wish` can be carried out.

    Raises:
        CannotSetUp: With what to do.
    """
    provide_system(wish)
    extras = EXTRAS["test" if wish.testing else "run"]
    with environment.only_one(project):
        if environment.is_ready(project, extras):
            return
        environment.make_ready(project, extras)
    say("set-up is complete")


def provide_system(wish: Wish) -> None:
    """Install the system's missing parts, or say which line does.

    Raises:
        CannotSetUp: Something is missing that nothing works without.
    """
    purposes = libraries.purposes_for(testing=wish.testing, environ=os.environ)
    missing = libraries.missing_of(libraries.needed_libraries(), purposes)
    packages = [one.package for one in missing]
    lacks_venv = not environment.python_can_make_environments()
    if lacks_venv:
        packages.append(environment.venv_package())
    if not packages:
        return
    why_not = apt.why_not_allowed(no_apt=wish.no_apt)
    if not why_not:
        apt.install(packages)
        return
    names = ", ".join([one.name for one in missing] + ["venv and pip"] * lacks_venv)
    failure = CannotSetUp(
        f"this machine lacks {names}; {why_not}. Run this line, then try again:",
        apt.install_line(packages),
    )
    if lacks_venv or not wish.testing:
        raise failure
    # The tests say themselves what they could not run.
    complain(failure)


def _read(arguments: Sequence[str]) -> Wish:
    parser = argparse.ArgumentParser(
        prog="packaging/set_up.sh",
        description="Sets kmonitor up in this clone: system libraries, .venv, Python packages.",
    )
    parser.add_argument(
        "--testing", action="store_true", help="also the tools and the virtual screen of the tests"
    )
    parser.add_argument(
        "--no-apt",
        action="store_true",
        default=os.environ.get("NO_APT", "") not in {"", "0"},
        help="print the line that installs missing system packages instead of running it",
    )
    asked = parser.parse_args(arguments)
    return Wish(testing=asked.testing, no_apt=asked.no_apt)
