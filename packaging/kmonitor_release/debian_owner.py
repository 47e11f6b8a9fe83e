"""Debian package of this machine that a packed library is a copy of, and its version.

Source: package URL specification, type deb.
"""

import hashlib
import platform
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from kmonitor_setup.commands import CommandFailed, run_command

_SHOWN = "${Package} ${Version} ${Architecture}"

# We search dpkg's output for its English words.
_PLAIN_WORDS = {"LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class Owner:
    """An installed package of the system.

    Attributes:
        version: As Debian writes it, with its epoch and revision.
        url: The package's URL ("pkg:deb/...").
    """

    version: str
    url: str


def owner_of(name: str, sha256: str) -> Owner | None:
    """The package that brought a library here; None where none did, or dpkg is not here.

    A package is believed only where its file is the packed one, byte by byte: another of the same
    name may have been packed from elsewhere.

    Args:
        name: Name of the library's file.
        sha256: Hash of the packed file, in hexadecimal.
    """
    for line in _asked("--search", f"*/{name}").splitlines():
        owners, _, path = line.partition(": ")
        package = owners.partition(",")[0]
        if Path(path).is_file() and _sha256(Path(path)) == sha256:
            return _told(package)
    return None


def _told(package: str) -> Owner | None:
    words = _asked("--show", f"--showformat={_SHOWN}", package).split()
    if len(words) != len(_SHOWN.split()):
        return None
    name, version, architecture = words
    system = platform.freedesktop_os_release().get("ID", "debian")
    where = f"pkg:deb/{system}/{quote(name)}@{quote(version, safe=':')}"
    return Owner(version, f"{where}?arch={architecture}")


def _asked(*arguments: str) -> str:
    try:
        return run_command(["dpkg-query", *arguments], environ=_PLAIN_WORDS)
    except CommandFailed:
        return ""


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
