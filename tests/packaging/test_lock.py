"""The lock pins everything that can be installed, for every Python and machine that we promise."""

import importlib.metadata
import re
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from kmonitor_setup.libraries import needed_libraries
from kmonitor_setup.lock_file import (
    part_for,
    plain_name,
    read_lock,
    write_constraints,
    write_hashed,
)
from kmonitor_setup.words import CannotSetUp
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kmonitor.cli.common import display
from tests.support.source_tree import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

LOCKED = read_lock(ROOT / "packaging" / "lock.txt")

PINS = [Requirement(pin.requirement) for pin in LOCKED]

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
    """All that pyproject.toml requires, extras and the groups of tools included."""
    project = SETTINGS["project"]
    texts: list[str] = [*project["dependencies"]]
    for more in (project["optional-dependencies"], SETTINGS["dependency-groups"]):
        texts += [one for group in more.values() for one in group]
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


@pytest.mark.promise(36)
def test_every_file_that_can_be_installed_has_its_hash_in_the_lock():
    assert len(LOCKED) > 100
    assert [pin.name for pin in LOCKED if len(set(pin.hashes)) != len(pin.hashes)] == []


def test_a_package_without_a_hash_is_refused(tmp_path: Path):
    lock = tmp_path / "lock.txt"
    lock.write_text(f"a==1 \\\n    --hash=sha256:{'0' * 64}\nb==2\n    # via a\n")

    with pytest.raises(CannotSetUp, match="no hash for b"):
        read_lock(lock)


def test_the_part_for_some_requirements_holds_all_that_they_need_and_no_more():
    window = {pin.name for pin in part_for(LOCKED, ["pyqtgraph>=0.14"])}

    assert window == {"pyqtgraph", "numpy", "colorama"}
    assert part_for(LOCKED, (pin.name for pin in LOCKED)) == LOCKED


@pytest.mark.parametrize("extra", ["demo", "desktop", "ray", "dev"])
def test_no_part_lacks_what_its_packages_ask_for_here(extra: str):
    """By what the installed packages themselves say, not by the lock."""
    part = part_for(LOCKED, SETTINGS["project"]["optional-dependencies"][extra])
    names = {pin.name for pin in part}

    for name in names:
        try:
            asked = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # of another system, or not for the tests
        for one in map(Requirement, asked):
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                assert canonicalize_name(one.name) in names, (name, one)


def test_pip_gets_hashes_in_requirements_and_none_in_constraints(tmp_path: Path):
    lock = tmp_path / "lock.txt"
    marked = "An.d_B==1.0 ; sys_platform == 'win32'"
    digest = f"sha256:{'5' * 64}"
    lock.write_text(
        f"# made\n{marked} \\\n    --hash={digest}\n    # via\n    #   c\n    #   D_e[x]\n"
    )
    (pin,) = read_lock(lock)

    write_hashed([pin], tmp_path / "hashed.txt")
    write_constraints([pin], tmp_path / "constraints.txt")

    assert (pin.name, pin.wanted_by) == ("an-d-b", {"c", "d-e"})
    assert (tmp_path / "hashed.txt").read_text() == f"{marked} \\\n    --hash={digest}\n"
    assert (tmp_path / "constraints.txt").read_text() == f"{marked}\n"


def test_names_are_told_apart_as_an_index_does():
    assert plain_name("PySide6_Essentials>=6.10.2,!=6.12.0") == "pyside6-essentials"
    assert plain_name("") == ""


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
        ("window", display.OFFSCREEN_LIBRARIES),
        ("x11", display.X11_LIBRARIES),
        ("wayland", display.WAYLAND_LIBRARIES),
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
