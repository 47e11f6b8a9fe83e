"""Parts of the app's folder, for each system; `pyinstaller/kmonitor.spec` reads them."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("kmonitor", "kmonitor_agent")

EXCLUDED = (
    # Frameworks and libraries that trainings use: kmonitor reads their reports and needs none.
    *("tensorflow", "keras", "tf_keras", "jax", "jaxlib", "torch", "pyarrow", "pandas"),
    *("sklearn", "scipy", "keras_tuner", "optuna", "ray", "matplotlib", "PIL"),
    # Tools, and another toolkit that numpy's tests and pyqtgraph's examples would bring.
    *("IPython", "ipykernel", "pytest", "setuptools", "pip", "tkinter", "pyqtgraph.examples"),
    # Python's modules on libraries under the GPL, which nothing here needs.
    *("readline", "_gdbm", "_dbm", "curses", "_curses", "_curses_panel"),
)

METADATA = (
    *("kmonitor-keras", "PySide6-Essentials", "pyqtgraph", "rich", "cyclopts", "msgspec"),
    *("opentelemetry-sdk", "psycopg", "psycopg-binary"),
)
"""Distributions whose version is queried while the app runs."""

_SYSTEMS_PLACES = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")

PYTHONS_LIBRARIES = {
    "bz2": "bzip2-1.0.6",
    "crypto": "Apache-2.0",
    "expat": "MIT",
    "ffi": "MIT",
    "lzma": "0BSD",
    "mpdec": "BSD-2-Clause",
    "python": "PSF-2.0",
    "sqlite3": "blessing",
    "ssl": "Apache-2.0",
    "uuid": "BSD-3-Clause",
    "z": "Zlib",
    "zstd": "BSD-3-Clause",
}
"""Libraries that Python's own modules need, and their licences. They are packed: the table of the
system's libraries does not require them."""

WHEELS_LIBRARIES = {
    "psycopg_binary.libs": {
        "com_err": "MIT",
        "crypt": "LGPL-2.1-or-later",
        "crypto": "Apache-2.0",
        "gssapi_krb5": "MIT",
        "k5crypto": "MIT",
        "keyutils": "LGPL-2.0-or-later",
        "krb5": "MIT",
        "krb5support": "MIT",
        "lber": "OLDAP-2.8",
        "ldap": "OLDAP-2.8",
        "pq": "PostgreSQL",
        "sasl2": "BSD-3-Clause-Attribution AND RSA-MD AND LicenseRef-IBM-as-is",
        "ssl": "Apache-2.0",
    },
}
"""Libraries that a wheel holds while its own licence does not state theirs, by the folder they are
in. Their texts are in `packaging/licences/psycopg-binary.txt`."""

_ICO_PIXELS = (16, 32, 48, 256)
_ICNS_TYPES = {32: b"ic11", 64: b"ic12", 128: b"ic07", 256: b"ic08"}
"""Source: Apple's icon resource format, kinds that hold a PNG."""


def module_names(packages: Path) -> list[str]:
    """All modules of kmonitor's packages: most are imported by name, when they are needed.

    Nothing is imported to find them: some would need a framework.

    Args:
        packages: Folder that the packages lie in.
    """
    return sorted(name for package in PACKAGES for name in _below(packages, package))


def is_left_to_system(path: str) -> bool:
    """True if a library is not to be packed: it is the system's, and has to fit its desktop.

    Qt loads the desktop's own graphics, input and themes, which are linked to these.
    `packaging/system_libraries.toml` lists the required ones; the app looks for them at start.

    Args:
        path: Path of the file that would be packed.
    """
    place, _, name = path.rpartition("/")
    is_library = name.startswith("lib") and ".so" in name
    is_systems = f"{place}/".startswith(_SYSTEMS_PLACES)
    return is_library and is_systems and not pythons_library(name)


def pythons_library(name: str) -> str:
    """Name of Python's library that a file is, "ssl"; empty if it is none of them."""
    return next((one for one in PYTHONS_LIBRARIES if re.match(rf"lib{one}[-.\d]", name)), "")


def wheels_library(wheel: str, name: str) -> str:
    """Name of a wheel's library, "pq" for `libpq-e9b5c9ac.so.5.18`; empty for other files.

    Args:
        wheel: The folder that it lies in.
        name: Name of the file.
    """
    stem = name.removeprefix("lib").partition("-")[0].partition(".")[0]
    return stem if stem in WHEELS_LIBRARIES[wheel] else ""


def icon_file(system: str, pictures: Path, into: Path) -> str | None:
    """The program's icon as a system wants it within a program; None where it wants none.

    Args:
        system: As `sys.platform` names it.
        pictures: Folder with `16.png` and so on.
        into: Folder that gets the file.
    """
    makers = {"win32": ("kmonitor.ico", _ico), "darwin": ("kmonitor.icns", _icns)}
    if system not in makers:
        return None
    name, make = makers[system]
    into.mkdir(parents=True, exist_ok=True)
    path = into / name
    path.write_bytes(make(pictures))
    return str(path)


def _below(packages: Path, package: str) -> Iterator[str]:
    for file in (packages / package).rglob("*.py"):
        parts = file.relative_to(packages).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _ico(pictures: Path) -> bytes:
    """Source: the ICO format; since Windows Vista an image in it may be a PNG."""
    images = [(size, (pictures / f"{size}.png").read_bytes()) for size in _ICO_PIXELS]
    head = struct.pack("<HHH", 0, 1, len(images))
    begin = len(head) + 16 * len(images)
    rows, data = b"", b""
    for size, image in images:
        side = size % 256  # 0 stands for 256
        rows += struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(image), begin + len(data))
        data += image
    return head + rows + data


def _icns(pictures: Path) -> bytes:
    images = [
        (kind, (pictures / f"{size}.png").read_bytes()) for size, kind in _ICNS_TYPES.items()
    ]
    data = b"".join(kind + struct.pack(">I", 8 + len(image)) + image for kind, image in images)
    return b"icns" + struct.pack(">I", 8 + len(data)) + data
