"""Where agent, hub and app keep their files, and how `KMONITOR_HOME` moves them all.

Sockets, locks and the database work on a local disk only. Where the state folder lies on a network
file system they go elsewhere on this machine, and spools are kept apart by host. `KMONITOR_SPOOL`
names a folder for spools alone, which many hosts may share.
"""

import getpass
import hashlib
import os
import re
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from kmonitor_agent.wire.local.batch_job import find_batch_job
from kmonitor_agent.wire.local.file_system import is_on_network_file_system

SPOOL_VARIABLE = "KMONITOR_SPOOL"
"""Environment variable: a folder for spools, which other hosts may share."""

FOLDER_VARIABLES = ("KMONITOR_HOME", SPOOL_VARIABLE)

SOCKET_PATH_LIMIT_BYTES = 107
"""Longest path of a Unix socket on Linux (`sun_path` less its final NUL)."""

_RUNTIMES = Path("/run/user")
_LONGEST_SOCKET_NAME = len("/agents.sock")


@dataclass(frozen=True, slots=True)
class Folders:
    """Every folder of one user's kmonitor on one host. Nothing is created by asking.

    Attributes:
        state: Root of all that is kept.
        runtime: Sockets and locks; on a local disk, mode 0700.
        database: The hub's database; on a local disk.
        spool: One folder per run with what the hub has not yet confirmed; this host's alone, and
            below `KMONITOR_SPOOL` this job's and rank's alone.
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


def invalid_home_text(environ: Mapping[str, str]) -> str:
    """Why `KMONITOR_HOME` or `KMONITOR_SPOOL` names no one folder; empty when both are fine.

    Below a relative one hub, app and training would not meet.

    Args:
        environ: Environment to read.
    """
    for variable in FOLDER_VARIABLES:
        written = environ.get(variable, "")
        path = Path(written).expanduser()
        if written and not path.is_absolute():
            return (
                f"{variable}={written!r} is another folder from each place it is used at;"
                f" write an absolute path, such as {path.absolute()}."
            )
    return ""


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
    database, spool = state / "database", state / "spool"
    if is_on_network_file_system(state):
        runtime = _local_folder(state, Path(tempfile.gettempdir())) if home else runtime
        database = _local_folder(state, _persistent_folder()) / "database"
        spool /= _host()
    named = environ.get(SPOOL_VARIABLE, "")
    if named:
        spool = Path(named).expanduser().absolute() / spool_folder_name(environ)
    return Folders(
        state=state,
        runtime=runtime,
        database=database,
        spool=spool,
        checkpoints=state / "checkpoints",
        logs=state / "logs",
        settings=state / "settings",
    )


def spool_folder_name(environ: Mapping[str, str]) -> str:
    """Name of this process's folder in one that many hosts share: user, host, job and rank."""
    job = find_batch_job(environ)
    parts = [f"{_user_name()}@{_host()}"]
    parts += [f"{job.system}-{job.id}"] if job.id else []
    parts += [f"rank-{job.rank}"] if job.rank is not None else []
    return _as_name(".".join(parts))


def _host() -> str:
    return _as_name(socket.gethostname()) or "host"


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user id may have no name
        return _user_tag()


def _as_name(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z_.@-]", "_", text)[:120]


def _persistent_folder() -> Path:
    # What the hub keeps should outlive a reboot, which empties the temporary folder.
    lasting = Path("/var/tmp")  # noqa: S108 - the folder made there is of mode 0700, owner checked
    is_usable = os.name == "posix" and lasting.is_dir() and os.access(lasting, os.W_OK | os.X_OK)
    return (
        lasting
        if is_usable and not is_on_network_file_system(lasting)
        else Path(tempfile.gettempdir())
    )


def _local_folder(shared: Path, below: Path) -> Path:
    """A folder of this machine that stands in for one that others see too."""
    tag = hashlib.sha256(os.fsencode(shared)).hexdigest()[:12]
    return below / f"kmonitor-{_user_tag()}-{tag}"


def _default_runtime(environ: Mapping[str, str]) -> Path:
    # XDG_RUNTIME_DIR disappears at logout unless the user lingers, while trainings go on:
    # the temporary folder outlives the login.
    # A job or a cron line has no such variable, and must find the same place as the hub does.
    runtime = environ.get("XDG_RUNTIME_DIR", "") or str(_RUNTIMES / _user_tag())
    if _lingers() and Path(runtime).is_dir() and os.access(runtime, os.W_OK | os.X_OK):
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
    return (
        str(os.getuid()) if hasattr(os, "getuid") else _as_name(os.environ.get("USERNAME", "user"))
    )
