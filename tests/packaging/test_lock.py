"""The lock pins everything that can be installed, for every Python and machine that we promise."""

import re
import subprocess
import tomllib
from collections.abc import Mapping

import pytest
from kmonitor_setup.libraries import needed_libraries
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kmonitor.cli import screen
from tests.support.source_tree import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

PINS = [
    Requirement(line)
    for line in (ROOT / "packaging" / "lock.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.lstrip().startswith("#")
]

MACHINES = [
    {
        "python_version": python,
        "python_full_version": f"{python}.5",
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }
    for python in ("3.11", "3.12", "3.13")
    for machine in ("x86_64", "aarch64")
]


def wanted() -> list[Requirement]:
    """All that pyproject.toml asks for, extras and the build included."""
    project = SETTINGS["project"]
    texts = [*project["dependencies"], *SETTINGS["dependency-groups"]["build"]]
    for extra in project["optional-dependencies"].values():
        texts += extra
    return [Requirement(text) for text in texts]


def holds(marker: Marker | None, machine: dict[str, str]) -> bool:
    return marker is None or marker.evaluate(machine)


@pytest.mark.parametrize(
    "machine", MACHINES, ids=lambda one: f"{one['python_version']}-{one['platform_machine']}"
)
def test_every_dependency_is_pinned_once_to_a_version_that_fits(machine: dict[str, str]):
    pinned: dict[str, str] = {}
    for pin in PINS:
        if holds(pin.marker, machine):
            (version,) = pin.specifier
            assert pinned.setdefault(canonicalize_name(pin.name), version.version)
            assert version.operator == "=="

    for requirement in wanted():
        if holds(requirement.marker, machine):
            version = pinned[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), requirement


def test_the_build_backend_is_locked_too():
    built_with = {Requirement(text).name for text in SETTINGS["build-system"]["requires"]}
    locked = {Requirement(text).name for text in SETTINGS["dependency-groups"]["build"]}

    assert built_with <= locked


def test_the_bootstrap_takes_the_pythons_that_the_project_takes():
    script = (ROOT / "packaging" / "set_up.sh").read_text(encoding="utf-8")
    lowest, highest = re.findall(r"\((3), (\d+)\)", script)

    assert SETTINGS["project"]["requires-python"] == f">=3.{lowest[1]},<3.{int(highest[1]) + 1}"


@pytest.mark.parametrize(
    ("purpose", "of_the_app"),
    [
        ("window", screen.OFFSCREEN_LIBRARIES),
        ("x11", screen.X11_LIBRARIES),
        ("wayland", screen.WAYLAND_LIBRARIES),
    ],
)
def test_set_up_and_app_look_for_the_same_system_libraries(
    purpose: str, of_the_app: Mapping[str, str]
):
    table = {one.name: one.package for one in needed_libraries() if one.purpose == purpose}

    assert table == of_the_app


@pytest.mark.slow
def test_make_lists_its_targets():
    told = subprocess.run(
        ["make"],  # noqa: S607 - the contributor's own make
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert {"make setup", "make run", "make test", "make check", "make clean"} <= {
        " ".join(line.split()[:2]) for line in told.stdout.splitlines()
    }
