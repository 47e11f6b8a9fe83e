"""The environment that releases are made in: what is shipped, and the tools, as the lock says."""

import hashlib
import json
import tomllib
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kmonitor_setup.environment import Project, install_locked
from kmonitor_setup.lock_file import plain_name
from kmonitor_setup.words import CannotSetUp

from kmonitor_release.commands import CannotBuild, run, tell

SHIPPED_EXTRAS = ("desktop", "prometheus", "otlp", "postgresql")
"""Extras of the packed app beside the core: all that its window and its hub can use, and no
framework, which belongs to the trainings."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """A separate environment.

    Attributes:
        python: Its interpreter.
        shipped: Requirements of what is packed, without the tools.
    """

    python: Path
    shipped: tuple[str, ...]

    @property
    def packages(self) -> Path:
        """Folder of its packages."""
        (found,) = self.python.parents[1].glob("lib/python3.*/site-packages")
        return found

    def files(self) -> dict[str, str]:
        """The hash of the file that each package was installed from, "sha256:...", by name."""
        report = json.loads(_report(self.python.parents[1]).read_text(encoding="utf-8"))
        return {
            plain_name(one["metadata"]["name"]): _hash_in(one["download_info"]["archive_info"])
            for one in report["install"]
        }

    def install(self, wheel: Path) -> None:
        """Put the wheel of kmonitor in, over another that is installed.

        Raises:
            CannotBuild: pip failed.
        """
        options = ["--quiet", "--no-deps", "--no-index", "--force-reinstall"]
        run([self.python, "-m", "pip", "install", *options, wheel], what="install the wheel")


def open_workshop(root: Path, place: Path) -> Workshop:
    """Make the environment, or take the existing one if the lock requires the same.

    Args:
        root: The clone.
        place: Folder of the environment.

    Raises:
        CannotBuild: With a remedy.
    """
    project = Project.at(root)
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    ours, groups = settings["project"], settings["dependency-groups"]
    shipped = [*ours["dependencies"]]
    for extra in SHIPPED_EXTRAS:
        shipped += ours["optional-dependencies"][extra]
    wanted = [*shipped, *groups["build"], *groups["release"]]
    workshop = Workshop(place / "bin" / "python", tuple(shipped))
    stamp = place / "kmonitor-release.stamp"
    report = _report(place)
    if not (report.is_file() and _is_stamped(stamp, project, wanted)):
        tell(f"making {place}")
        venv.create(place, with_pip=True, clear=True)
        try:
            log = place / "install.log"
            install_locked(project, workshop.python, wanted, log=log, report=report)
        except CannotSetUp as exc:
            raise CannotBuild(f"{exc.what} {exc.remedy}") from exc
        stamp.write_text(_digest(project, wanted), encoding="utf-8")
    return workshop


def _report(place: Path) -> Path:
    return place / "kmonitor-release-files.json"


def _hash_in(archive: Mapping[str, Any]) -> str:
    # pip before 23.0 writes `hash` alone. Source: PEP 610, archive_info.
    if "hashes" in archive:
        return f"sha256:{archive['hashes']['sha256']}"
    return archive["hash"].replace("=", ":", 1)


def _is_stamped(stamp: Path, project: Project, wanted: Sequence[str]) -> bool:
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _digest(project, wanted)


def _digest(project: Project, wanted: Sequence[str]) -> str:
    return hashlib.sha256(project.lock.read_bytes() + repr(wanted).encode()).hexdigest()
