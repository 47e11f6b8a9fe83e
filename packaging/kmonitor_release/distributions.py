"""Wheel and source distribution: the same bytes from the same commit."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from kmonitor_release.commands import run
from kmonitor_release.source import Source


@dataclass(frozen=True, slots=True)
class Distributions:
    """Files for Python's package managers.

    Attributes:
        wheel: The wheel.
        sdist: The source distribution.
    """

    wheel: Path
    sdist: Path


def make_distributions(python: Path, source: Source, work: Path, into: Path) -> Distributions:
    """Build both of a commit.

    Args:
        python: Python of an environment with the build backend.
        source: The commit to build.
        work: Folder for intermediate files; emptied first.
        into: Folder that gets the files.

    Raises:
        CannotBuild: The build backend failed.
    """
    shutil.rmtree(work, ignore_errors=True)
    command = [python, "-m", "hatchling", "build", "-d", work, "-t", "wheel", "-t", "sdist"]
    run(command, what="wheel and sdist", cwd=source.tree, environ=source.environ())
    (wheel,) = work.glob("*.whl")
    (sdist,) = work.glob("*.tar.gz")
    return Distributions(*(Path(shutil.copy(one, into)) for one in (wheel, sdist)))
