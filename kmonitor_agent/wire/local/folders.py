"""Folders of agent, hub and app, and their move by `KMONITOR_HOME`.

Sockets, locks and the database work on a local disk only. Where the state folder lies on a network
file system they go elsewhere on this machine, and spools are kept apart by host. `KMONITOR_SPOOL`
names a folder for spools alone, which many hosts may share.
"""

import contextlib
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
from kmonitor_agent.wire.local.private_files import make_own_folder, make_private_folder

SPOOL_VARIABLE = "KMONITOR_SPOOL"
"""Environment variable: a folder for spools, which other hosts may share."""

FOLDER_VARIABLES = ("KMONITOR_HOME", SPOOL_VARIABLE)
SOCKET_PATH_LIMIT_BYTES = 107
"""Longest path of a Unix socket on Linux (`sun_path` less its final NUL)."""

_RUNTIMES = Path("/run/user")
_LONGEST_SOCKET_NAME = len("/agents.sock")


@dataclass(frozen=True, slots=True)
class Folders:
    """Every folder of one user's kmonitor on one host. Finding them creates none.

    Attributes:
        state: Root of everything that is kept.
        runtime: Sockets and locks; on a local disk, mode 0700.
        database: The hub's database; on a local disk.
        spool: One folder per run with events that the hub has not yet confirmed; this host's
            alone, and below `KMONITOR_SPOOL` this job's and rank's alone.
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
    """Why `KMONITOR_HOME` or `KMONITOR_SPOOL` names no definite folder; empty if both are fine.

    With a relative path hub, app and training would use different folders.

    Args:
        environ: Environment to read.
    """
    for variable in FOLDER_VARIABLES:
        written = environ.get(variable, "")
        path = expand_user(written)
        if str(path).startswith("~"):
            return (
                f"{variable}={written!r} is in the home folder of an unknown user; use an absolute"
                " path."
            )
        if written and not path.is_absolute():
            return (
                f"{variable}={written!r} is a relative path; use an absolute path, such as"
                f" {path.absolute()}."
            )
    return ""


def expand_user(written: str) -> Path:
    """A path with `~` replaced by the home folder; unchanged if that folder is unknown."""
    return Path(os.path.expanduser(written))  # noqa: PTH111 - Path.expanduser raises


def missing_home_text(environ: Mapping[str, str] | None = None) -> str:
    """Where files are kept because this user has no home folder; empty if there is one.

    In containers the user's number often has no entry in the password file, and HOME is not set.
    """
    environ = os.environ if environ is None else environ
    if environ.get("KMONITOR_HOME") or _home_state().is_absolute():
        return ""
    return (
        f"this user has no home folder, so files are kept in {_usual_state()}; set KMONITOR_HOME"
        " to a persistent folder."
    )


def find_folders(environ: Mapping[str, str] | None = None) -> Folders:
    """The folders in force: below `KMONITOR_HOME` if set, else this user's usual places.

    Args:
        environ: Environment to read; None: the process's own.
    """
    environ = os.environ if environ is None else environ
    home = environ.get("KMONITOR_HOME", "")
    if home:
        state = expand_user(home).absolute()
        runtime = _short_enough(state / "run")
    else:
        state = _usual_state()
        runtime = _default_runtime(environ)
    database = state / "database"
    spool = state / "spool"
    if is_on_network_file_system(state):
        runtime = _local_folder(state, _temporary_folder()) if home else runtime
        database = _local_folder(state, _persistent_folder()) / "database"
        spool /= _host()
    named = environ.get(SPOOL_VARIABLE, "")
    if named:
        spool = expand_user(named).absolute() / spool_folder_name(environ)
    return Folders(
        state=state,
        runtime=runtime,
        database=database,
        spool=spool,
        checkpoints=state / "checkpoints",
        logs=state / "logs",
        settings=state / "settings",
    )


def _home_state() -> Path:
    """The usual folder; not absolute if this user has no home folder."""
    try:
        return Path(platformdirs.user_state_dir("kmonitor", appauthor=False))
    except RuntimeError:  # platformdirs from 4.14 on
        return Path("~")


def _usual_state() -> Path:
    state = _home_state()
    return state if state.is_absolute() else _temporary_folder() / f"kmonitor-{_user_tag()}-state"


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # none can be written
        return Path("/tmp")  # noqa: S108 - what is made there is private, its owner checked


def studies_folder(folders: Folders) -> Path:
    """Folder of the studies of `run_folds` without `study=`."""
    return folders.state / "studies"


def make_studies_folder(folders: Folders) -> Path:
    """Create that folder, for this user alone.

    Raises:
        NotPrivate: It is a link, or another user's.
        OSError: It cannot be created.
    """
    folder = studies_folder(folders)
    with contextlib.suppress(OSError):
        is_ours = not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
        if is_ours and not folder.is_symlink():
            folder.chmod(0o700)
    make_own_folder(folders.state)
    make_private_folder(folder)
    return folder


def spool_folder_name(environ: Mapping[str, str]) -> str:
    """Name of this process's folder in a shared one: user, host, job and rank."""
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
    # The hub's data should outlive a reboot, which empties the temporary folder.
    lasting = Path("/var/tmp")  # noqa: S108 - the folder made there is of mode 0700, owner checked
    is_usable = os.name == "posix" and lasting.is_dir() and os.access(lasting, os.W_OK | os.X_OK)
    return lasting if is_usable and not is_on_network_file_system(lasting) else _temporary_folder()


def _local_folder(shared: Path, below: Path) -> Path:
    """A folder of this machine in place of one that other machines see too."""
    tag = hashlib.sha256(os.fsencode(shared)).hexdigest()[:12]
    return below / f"kmonitor-{_user_tag()}-{tag}"


def _default_runtime(environ: Mapping[str, str]) -> Path:
    # XDG_RUNTIME_DIR disappears at logout unless the user lingers, while trainings go on:
    # the temporary folder outlives the login.
    # A job or a cron line has no such variable, and must find the same place as the hub does.
    runtime = environ.get("XDG_RUNTIME_DIR", "") or str(_RUNTIMES / _user_tag())
    if _lingers() and Path(runtime).is_dir() and os.access(runtime, os.W_OK | os.X_OK):
        return _short_enough(Path(runtime) / "kmonitor")
    return _temporary_folder() / f"kmonitor-{_user_tag()}"


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
    return _temporary_folder() / f"kmonitor-{_user_tag()}-{tag}"


def _user_tag() -> str:
    return (
        str(os.getuid()) if hasattr(os, "getuid") else _as_name(os.environ.get("USERNAME", "user"))
    )
