"""Where agent, hub and app keep their files, and how `KMONITOR_HOME` moves them all."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

SOCKET_PATH_LIMIT_BYTES = 107
"""Longest path of a Unix socket on Linux (`sun_path` less its final NUL)."""

_LONGEST_SOCKET_NAME = len("/agents.sock")


@dataclass(frozen=True, slots=True)
class Folders:
    """Every folder of one user's kmonitor on one host. Nothing is created by asking.

    Attributes:
        state: Root of all that is kept.
        runtime: Sockets and locks; on a local disk, mode 0700.
        database: The hub's database.
        spool: One folder per run with what the hub has not yet confirmed.
        checkpoints: One folder per run.
        logs: Log files.
        settings: The app's settings.
    """

    state: Path
    runtime: Path
    database: Path
    spool: Path
    checkpoints: Path
    logs: Path
    settings: Path


def home_without_place(environ: Mapping[str, str]) -> str:
    """Why `KMONITOR_HOME` names no one folder, as a sentence; empty when it does or is not set.

    Below a relative one hub, app and training would not meet.

    Args:
        environ: Environment to read.
    """
    written = environ.get("KMONITOR_HOME", "")
    home = Path(written).expanduser()
    if not written or home.is_absolute():
        return ""
    return (
        f"KMONITOR_HOME={written!r} is another folder from each place it is used at;"
        f" write an absolute path, such as {home.absolute()}."
    )


def find_folders(environ: Mapping[str, str] | None = None) -> Folders:
    """The folders in force: below `KMONITOR_HOME` if set, else this user's usual places.

    Args:
        environ: Environment to read; None: the process's own.
    """
    environ = os.environ if environ is None else environ
    home = environ.get("KMONITOR_HOME", "")
    if home:
        state = Path(home).expanduser().absolute()
        runtime = _short_enough(state / "run")
    else:
        state = Path(platformdirs.user_state_dir("kmonitor", appauthor=False))
        runtime = _default_runtime(environ)
    return Folders(
        state=state,
        runtime=runtime,
        database=state / "database",
        spool=state / "spool",
        checkpoints=state / "checkpoints",
        logs=state / "logs",
        settings=state / "settings",
    )


def _default_runtime(environ: Mapping[str, str]) -> Path:
    # XDG_RUNTIME_DIR disappears at logout unless the user lingers, while trainings go on:
    # the temporary folder outlives the login.
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime and _lingers() and Path(runtime).is_dir():
        return _short_enough(Path(runtime) / "kmonitor")
    return Path(tempfile.gettempdir()) / f"kmonitor-{_user_tag()}"


def _lingers() -> bool:
    try:
        import pwd  # noqa: PLC0415 - not on Windows

        name = pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return False
    return Path("/var/lib/systemd/linger", name).exists()


def _short_enough(wanted: Path) -> Path:
    if len(os.fsencode(wanted)) + _LONGEST_SOCKET_NAME <= SOCKET_PATH_LIMIT_BYTES:
        return wanted
    tag = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"kmonitor-{_user_tag()}-{tag}"


def _user_tag() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
