"""The libraries that were packed with Python itself, from the system that packed it."""

import hashlib
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from kmonitor_release.app_parts import PYTHONS_LIBRARIES, pythons_library
from kmonitor_release.commands import CannotBuild

_INNER = "_internal"
"""Where PyInstaller puts everything but the program."""


@dataclass(frozen=True, slots=True)
class PackedLibrary:
    """One of them.

    Attributes:
        name: Of its file.
        licence: As SPDX writes it.
        sha256: Of the file, in hexadecimal.
    """

    name: str
    licence: str
    sha256: str


def packed_libraries(folder: Path) -> list[PackedLibrary]:
    """Those in a packed app's folder, in order of names.

    Raises:
        CannotBuild: There is one whose licence nobody looked up.
    """
    found: list[PackedLibrary] = []
    # What packages brought lies in their own folders; links beside these lead there.
    for file in sorted((folder / _INNER).glob("lib*")):
        if file.is_symlink() or not file.is_file():
            continue
        library = pythons_library(file.name)
        if not library:
            raise CannotBuild(f"{file.name} was packed, and its licence is in no table")
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        found.append(PackedLibrary(file.name, PYTHONS_LIBRARIES[library], digest))
    return found


def python_licence() -> str:
    """Python's own licence, with those of what is part of it; empty where it is not installed."""
    path = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
