"""Facts of this process: the run's default name, and the first event of a session."""

import getpass
import os
import platform
import socket
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, Final, get_args

from kmonitor_agent.frameworks.script_values import (
    items_of,
    running_shell,
    safe_get,
    safe_getattr,
    safe_text,
)
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.settings import elide_name, plain_name, sendable_text
from kmonitor_agent.wire.local.batch_job import find_batch_job
from kmonitor_agent.wire.local.fold_identity import fold_identity
from kmonitor_agent.wire.local.host_identity import group_pseudonym, host_pseudonym, make_salt
from kmonitor_agent.wire.messages.commands import CommandName
from kmonitor_agent.wire.messages.events import SessionStarted
from kmonitor_agent.wire.messages.fields import MAX_TEXT
from kmonitor_agent.wire.release import VERSION

_MOST_ARGUMENTS: Final = 256
_MOST_ARGUMENT_BYTES: Final = 32 * 1024
_NEEDS: Final[dict[CommandName, tuple[str, ...]]] = {
    "save": ("save",),
    "reload": ("reload",),
    "collect": ("collect",),
    "restart": ("reload", "restart"),
    "auto": ("collect", "reload"),
}
"""Capabilities that commands need of the framework and the process; other commands need none."""


def script_path(environ: Mapping[str, str] | None = None) -> str:
    """Path or name of the running script or notebook; empty if there is none."""
    environ = os.environ if environ is None else environ
    identity = fold_identity(environ)
    if identity is not None:
        return identity.script
    notebook = _notebook(environ)
    if notebook:
        return notebook
    main: Any = sys.modules.get("__main__")
    if name := safe_text(safe_getattr(safe_getattr(main, "__spec__"), "name", "")):
        return f"python -m {name.removesuffix('.__main__')}"
    return safe_text(safe_getattr(main, "__file__") or "")


def default_run_name(environ: Mapping[str, str] | None = None) -> str:
    """Name of the script or notebook, after the cluster's job if there is one; 200 characters."""
    environ = os.environ if environ is None else environ
    job = find_batch_job(environ)
    identity = fold_identity(environ)
    if identity is not None:
        return elide_name(f"{_script_name(environ)} \N{MIDDLE DOT} {identity.text}")
    if not job.id:
        return _script_name(environ)
    is_named = bool(job.name) and not _notebook(environ)
    name = job.name if is_named else _script_name(environ)
    return elide_name(plain_name(f"job {job.id} \N{MIDDLE DOT} {name}"))


def _script_name(environ: Mapping[str, str]) -> str:
    script = script_path(environ)
    if script.startswith("python -m "):
        return elide_name(plain_name(script))
    if script:
        return elide_name(plain_name(PurePath(script).name)) or "python"
    return "notebook" if running_shell() is not None else "python"


def session_started(
    *, session_id: str, name: str, wall_s: float, interval_s: float, privacy: Privacy, state: Path
) -> SessionStarted:
    """First event of this process, still without the framework's facts.

    Args:
        session_id: Id of this process start.
        name: The run's name.
        wall_s: Current time, UTC epoch seconds.
        interval_s: Time between samples, seconds.
        privacy: Hides private names and texts.
        state: This user's state folder, with the salt for the host of a private process.
    """
    job = find_batch_job(os.environ)
    identity = fold_identity(os.environ)
    return SessionStarted(
        t_s=0.0,
        session=session_id,
        name=privacy.name(name),
        host=_host(session_id, privacy, state),
        pid=os.getpid(),
        started_wall_s=wall_s,
        pid_namespace=_pid_namespace(),
        user=privacy.name(elide_name(plain_name(_user()))),
        script=privacy.text(sendable_text(script_path()))[:MAX_TEXT],
        argv=[] if privacy.private else _arguments(),
        versions={"python": platform.python_version(), "kmonitor": VERSION},
        sample_interval_s=interval_s,
        private=privacy.private,
        job=privacy.name(elide_name(plain_name(job.label))),
        job_ends_wall_s=job.ends_wall_s,
        rank=job.rank,
        world_size=job.world_size,
        group=_group(job.group, privacy, state),
        study="" if identity is None else identity.study,
        fold=None if identity is None else identity.fold,
        folds=0 if identity is None else identity.folds,
        attempt=0 if identity is None else identity.attempt,
    )


def possible_actions(unavailable: Mapping[str, str]) -> list[CommandName]:
    """Commands that this process can run.

    Args:
        unavailable: Capability to the reason why the framework lacks it.
    """
    return [name for name in get_args(CommandName) if not why_not_possible(name, unavailable)]


def why_not_possible(name: CommandName, unavailable: Mapping[str, str]) -> str:
    """Reason why this process cannot run a command; empty if it can.

    Args:
        unavailable: Capability to the reason why the framework lacks it.
    """
    missing = [unavailable[need] for need in _NEEDS.get(name, ()) if need in unavailable]
    if name == "auto":  # one of its levels is enough
        return missing[0] if len(missing) == len(_NEEDS[name]) else ""
    return missing[0] if missing else ""


def _arguments() -> list[str]:
    """Command line, cut to the length that surely fits into an event."""
    arguments: list[str] = []
    left = _MOST_ARGUMENT_BYTES
    for argument in items_of(getattr(sys, "argv", None))[:_MOST_ARGUMENTS]:
        text = sendable_text(safe_text(argument))[:MAX_TEXT]
        left -= len(text.encode())
        if left < 0:
            break
        arguments.append(text)
    return arguments


def _notebook(environ: Mapping[str, str]) -> str:
    shell = running_shell()
    if safe_getattr(shell, "kernel") is None:
        return ""
    # Jupyter servers put the notebook's path in the variable, VS Code in the user's namespace.
    in_code = safe_get(safe_getattr(shell, "user_ns"), "__vsc_ipynb_file__")
    return safe_text(environ.get("JPY_SESSION_NAME") or in_code or "") or "notebook"


def _host(session_id: str, privacy: Privacy, state: Path) -> str:
    if privacy.private:
        return host_pseudonym(make_salt(state), session_id)
    return elide_name(plain_name(socket.gethostname()))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user id may have no name
        return str(os.getuid()) if hasattr(os, "getuid") else ""


def _group(group: str, privacy: Privacy, state: Path) -> str:
    if group and privacy.private:
        # Not the process's own salt: the others of the group must get the same.
        return group_pseudonym(make_salt(state), group)
    return elide_name(plain_name(group))


def _pid_namespace() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
