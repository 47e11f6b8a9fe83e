"""Things that this machine lacks to run a part of the tests, and their report.

A part that cannot run here is reported NOT RUN and fails the session, unless the variable named
beside it allows that: a green result never hides tests that did not happen.
"""

import functools
import importlib
import importlib.util
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]

_IMPORTED = re.compile(r"^(?:from|import)\s+([\w.]+)(?:\s+import\s+(\w+)$)?", re.MULTILINE)
"""Names that a file imports at module level, and the one that is imported from it."""


@dataclass(frozen=True, slots=True)
class Capability:
    """Something that a part of the tests needs.

    Attributes:
        marker: The pytest marker of the tests that need it.
        tests: Those tests, in words.
        missing: Why it is not here; empty if it is.
        allowed_by: Environment variable that lets the session pass without it.
        modules: Packages that only exist with it; a test file that imports one is left out whole.
    """

    marker: str
    tests: str
    missing: Callable[[], str]
    allowed_by: str
    modules: tuple[str, ...] = ()

    def is_allowed_to_lack(self) -> bool:
        """True if the caller requested to pass without these tests."""
        return os.environ.get(self.allowed_by, "") not in {"", "0"}

    def is_needed_by(self, file: Path) -> bool:
        """True if a test file cannot even be imported without it."""
        return any(
            name == module or name.startswith(f"{module}.")
            for name in _imported_by(file)
            for module in self.modules
        )


@functools.cache
def qt_missing() -> str:
    """Why Qt does not work here; empty if it does."""
    try:
        importlib.import_module("PySide6.QtWidgets")
    except ImportError as exc:
        # Also when a system library is missing: the message names it.
        return str(exc)
    return ""


@functools.cache
def screen_missing() -> str:
    """Why no real window can be opened here; empty if one can."""
    return qt_missing() or ("" if shutil.which("Xvfb") else "Xvfb is not installed")


@functools.cache
def framework_missing() -> str:
    """Why no Keras model can be trained here; empty if one can."""
    gone = [name for name in ("keras", "tensorflow") if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(gone)}" if gone else ""


@functools.cache
def parquet_missing() -> str:
    """Why no Parquet file can be written here; empty if one can."""
    return "" if importlib.util.find_spec("pyarrow") else "pyarrow is not installed"


@functools.cache
def library_missing(module: str) -> str:
    """Why a library that kmonitor works with cannot be used here; empty if it can."""
    return "" if importlib.util.find_spec(module) else f"{module} is not installed"


def sshd_path() -> str:
    """The ssh server, which users do not have on their PATH; empty: there is none."""
    return (
        shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") or ""
    )


@functools.cache
def ssh_missing() -> str:
    """Why no ssh server can be tried here; empty if one can."""
    if not sshd_path():
        return "sshd is not installed"
    gone = [name for name in ("ssh", "ssh-keygen") if shutil.which(name) is None]
    return f"not installed: {', '.join(gone)}" if gone else ""


def postgres_program(name: str) -> str:
    """A program of a PostgreSQL server, which Debian keeps off the PATH; empty: there is none."""
    places = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    return shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", "")])) or ""


@functools.cache
def postgres_missing() -> str:
    """Why no team's database can be tried here; empty if one can."""
    server = "" if postgres_program("initdb") else "the PostgreSQL server is not installed"
    return library_missing("psycopg") or server


@functools.cache
def prometheus_missing() -> str:
    """Why no Prometheus can scrape here; empty if one can."""
    return "" if shutil.which("prometheus") else "the Prometheus server is not installed"


CAPABILITIES = (
    Capability(
        marker="gui",
        tests="the window's tests",
        missing=qt_missing,
        allowed_by="ALLOW_NO_WINDOW",
        modules=("PySide6", "shiboken6", "pyqtgraph", "pytestqt", "kmonitor.ui"),
    ),
    Capability(
        marker="screen",
        tests="the tests with a window on a screen",
        missing=screen_missing,
        allowed_by="ALLOW_NO_WINDOW",
    ),
    Capability(
        marker="keras",
        tests="the tests with a real training",
        missing=framework_missing,
        allowed_by="ALLOW_NO_FRAMEWORK",
        modules=("keras", "tensorflow"),
    ),
    Capability(
        marker="parquet",
        tests="the tests that write Parquet",
        missing=parquet_missing,
        allowed_by="ALLOW_NO_PARQUET",
    ),
    Capability(
        marker="ssh",
        tests="the tests with a real ssh server",
        missing=ssh_missing,
        allowed_by="ALLOW_NO_SSH",
    ),
    Capability(
        marker="psycopg",
        tests="the tests with a PostgreSQL server",
        missing=postgres_missing,
        allowed_by="ALLOW_NO_POSTGRESQL",
        modules=("psycopg", "kmonitor.hub.store.postgresql", "kmonitor.hub.history_move"),
    ),
    Capability(
        marker="prometheus_server",
        tests="the test with a real Prometheus",
        missing=prometheus_missing,
        allowed_by="ALLOW_NO_PROMETHEUS",
    ),
    *(
        Capability(
            marker=marker,
            tests=f"the tests with {name}",
            missing=functools.partial(library_missing, marker),
            allowed_by="ALLOW_NO_LIBRARIES",
            modules=(marker,),
        )
        for marker, name in (
            ("sklearn", "scikit-learn"),
            ("keras_tuner", "KerasTuner"),
            ("optuna", "Optuna"),
            ("ray", "Ray"),
            ("prometheus_client", "prometheus-client"),
            ("opentelemetry", "the OpenTelemetry SDK"),
        )
    ),
)


@functools.cache
def _imported_by(file: Path) -> frozenset[str]:
    """Modules that a file imports at module level, through our own support modules as well."""
    found = _IMPORTED.findall(file.read_text(encoding="utf-8"))
    names = {module for module, _ in found} | {
        f"{module}.{name}" for module, name in found if name
    }
    for name in list(names):
        if name.startswith("tests.support."):
            support = _ROOT.joinpath(*name.split(".")).with_suffix(".py")
            if support.exists():
                names |= _imported_by(support)
    return frozenset(names)
