"""The libraries that came with Python itself, and those that a wheel holds and says little of."""

import hashlib
import platform
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path

from kmonitor_release.app_parts import (
    PYTHONS_LIBRARIES,
    WHEELS_LIBRARIES,
    pythons_library,
    wheels_library,
)
from kmonitor_release.commands import CannotBuild
from kmonitor_release.debian_owner import owner_of

_INNER = "_internal"
"""Folder in which PyInstaller puts everything but the program."""


@dataclass(frozen=True, slots=True)
class PackedLibrary:
    """One of them.

    Attributes:
        name: Name of its file.
        licence: As SPDX writes it.
        sha256: Hash of the file, in hexadecimal.
        version: As its maker says; None if nothing here names it.
        url: URL of the system's package that it is a copy of; None if there is none.
    """

    name: str
    licence: str
    sha256: str
    version: str | None = None
    url: str | None = None


def packed_libraries(folder: Path) -> list[PackedLibrary]:
    """Those in a packed app's folder, in order of names.

    Raises:
        CannotBuild: The licence of one is not listed.
    """
    inner = folder / _INNER
    # Libraries of packages are in the packages' folders; links beside these lead there.
    found = [
        _versioned(_packed(file, PYTHONS_LIBRARIES.get(pythons_library(file.name))))
        for file in sorted(inner.glob("lib*"))
        if file.is_file() and not file.is_symlink()
    ]
    for wheel, licences in WHEELS_LIBRARIES.items():
        found += [
            _packed(file, licences.get(wheels_library(wheel, file.name)))
            for file in sorted((inner / wheel).glob("lib*"))
        ]
    return found


def _packed(file: Path, licence: str | None) -> PackedLibrary:
    if licence is None:
        raise CannotBuild(f"{file.name} was packed, and its licence is in no table")
    return PackedLibrary(file.name, licence, hashlib.sha256(file.read_bytes()).hexdigest())


def _versioned(library: PackedLibrary) -> PackedLibrary:
    """With what this machine knows of its origin."""
    owner = owner_of(library.name, library.sha256)
    if owner is not None:
        return replace(library, version=owner.version, url=owner.url)
    if pythons_library(library.name) == "python":
        return replace(library, version=platform.python_version())
    return library


def python_licence() -> str:
    """Python's own licence, with those of what is part of it; empty where it is not installed."""
    path = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
