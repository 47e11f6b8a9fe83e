"""Missing system libraries, programs and fonts, found by soname, not by package name."""

import ctypes
import os
import platform
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

TABLE = Path(__file__).parent.parent / "system_libraries.toml"

Purpose = Literal["window", "x11", "wayland", "tests"]
Kind = Literal["soname", "program", "font"]

FONT_PLACES = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path.home() / ".local/share/fonts",
    Path.home() / ".fonts",
)
"""Folders that fontconfig searches by default."""

_SERVER_PLACES = ("/usr/sbin", "/usr/local/sbin")

_LDCONFIG_PLACES = ("/sbin/ldconfig", "/usr/sbin/ldconfig")
"""Not on the PATH of an ordinary Debian user."""

_LDCONFIG_ARCHITECTURE = {"x86_64": "x86-64", "aarch64": "AArch64"}
"""Mark of `ldconfig -p` for libraries that this machine can load, by `platform.machine()`."""


@dataclass(frozen=True, slots=True)
class Needed:
    """One library, program or font of the system.

    Attributes:
        name: Soname of the library, name of the program on the PATH, or file name of the font.
        package: The Debian package that brings it.
        purpose: When it is needed.
        kind: Library, program or font.
    """

    name: str
    package: str
    purpose: Purpose
    kind: Kind


def needed_libraries(table: Path = TABLE) -> list[Needed]:
    """The whole table, in its order."""
    rows = tomllib.loads(table.read_text(encoding="utf-8"))["needed"]
    kinds = get_args(Kind)
    found: list[Needed] = []
    for row in rows:
        kind = next(each for each in kinds if each in row)
        found.append(Needed(row[kind], row["package"], row["for"], kind))
    return found


def purposes_for(*, testing: bool, environ: Mapping[str, str]) -> set[Purpose]:
    """Purposes of this set-up: a window on this screen, and the tests' own screen on request."""
    purposes: set[Purpose] = {"window"}
    if testing:
        purposes |= {"x11", "tests"}
    if environ.get("DISPLAY"):
        purposes.add("x11")
    if environ.get("WAYLAND_DISPLAY"):
        purposes.add("wayland")
    return purposes


def missing_of(needed: Iterable[Needed], purposes: set[Purpose]) -> list[Needed]:
    """Those that are needed for `purposes` and are not on this machine."""
    cache = _loader_cache()
    return [one for one in needed if one.purpose in purposes and not _is_there(one, cache)]


def sonames_in(listing: str, machine: str) -> set[str]:
    """The sonames in the output of `ldconfig -p` that `machine` can load."""
    mark = _LDCONFIG_ARCHITECTURE.get(machine, "")
    found: set[str] = set()
    for line in listing.splitlines():
        name, _, rest = line.strip().partition(" ")
        if "=>" in rest and mark in rest:
            found.add(name)
    return found


def _is_there(one: Needed, cache: set[str]) -> bool:
    match one.kind:
        case "soname":
            return _can_load(one.name, cache)
        case "program":
            return _find_program(one.name) is not None
        case "font":
            return any(True for place in FONT_PLACES for _ in place.rglob(one.name))


def _find_program(name: str) -> str | None:
    # A server's program is not on the PATH of a user who is not root.
    servers = [*_SERVER_PLACES, *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(servers))


def _loader_cache() -> set[str]:
    for place in _LDCONFIG_PLACES:
        if Path(place).exists():
            told = subprocess.run([place, "-p"], capture_output=True, text=True, check=False)
            return sonames_in(told.stdout, platform.machine())
    return set()


def _can_load(soname: str, cache: set[str]) -> bool:
    if soname in cache:
        return True
    try:
        # Beyond the cache: LD_LIBRARY_PATH, conda, Nix, musl.
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True
