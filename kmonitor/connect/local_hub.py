"""This user's hub: creating folders, starting, querying and stopping it, also when it hangs."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

import psutil

from kmonitor.base.errors import UserError
from kmonitor.connect.hub_client import HubClient, HubUnreachable
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import hub_lock_path, view_socket_path
from kmonitor_agent.wire.local.private_files import (
    KEY_BYTES,
    UnsafePath,
    is_plain,
    make_own_folder,
    make_private_folder,
    open_own,
    read_own,
)
from kmonitor_agent.wire.messages.unions import HubReply
from kmonitor_agent.wire.text import round_binary_size

_ANSWER_S = 2.0
_FIRST_ANSWER_S = 0.25
_SILENT_S = 0.02
_ANOTHER_STARTED_IT = 3
"""Exit status of a hub that found another one running (`kmonitor.hub.service.EXIT_ANOTHER`)."""

_started: "list[subprocess.Popen[bytes]]" = []
"""Hubs started by this process, kept so that they can be reaped when they end."""


class HubDidNotStart(UserError):
    """A hub was started and does not reply; with the reason as far as it is known."""


def ensure_hub(folders: Folders, *, timeout_s: float = 10.0) -> HubReply:
    """Return the status of this user's hub; it is started as a separate process if none replies.

    The hub outlives its starter: trainings continue when the window is closed. It ends by itself
    after ten minutes without live runs and without requests of a window.

    Raises:
        HomeUnusable: A folder that the hub needs cannot be created, or is open to others.
        HubSilent: A hub is running that does not reply.
        HubDidNotStart: The hub refuses to run here, or does not reply in `timeout_s` seconds.
    """
    found = request_local_hub(folders, timeout_s=_FIRST_ANSWER_S)
    if found is not None:
        return found
    make_hub_folders(folders)
    _forget_ended_processes()
    end_s = time.monotonic() + timeout_s
    process = start_hub_process(folders)
    while time.monotonic() < end_s:
        found = request_local_hub(folders, timeout_s=_ANSWER_S)
        if found is not None:
            _withdraw(process, found)
            return found
        if process.poll() not in {None, _ANOTHER_STARTED_IT}:
            break
        if is_listening(view_socket_path(folders)):
            continue
        threading.Event().wait(_SILENT_S)
        if process.poll() == _ANOTHER_STARTED_IT:
            # Another one has the lock and no socket: it just starts, or it ends and ours
            # takes over.
            process = start_hub_process(folders)
    raise silent_hub_error(folders) or _failure(folders, process.poll(), timeout_s)


def request_local_hub(folders: Folders, *, timeout_s: float = _ANSWER_S) -> HubReply | None:
    """The status of this user's hub; None if none replies within `timeout_s` seconds."""
    if not is_listening(view_socket_path(folders)):
        return None
    with HubClient(folders=folders, timeout_s=timeout_s) as client:
        try:
            return client.hub()
        except HubUnreachable:
            return None


def is_listening(path: Path) -> bool:
    """True if a process listens on a socket, also if the process is stopped or hangs."""
    # A hub that was killed leaves its socket's file; ZeroMQ would wait for it in silence.
    if not hasattr(socket, "AF_UNIX"):
        return path.exists()
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.fsencode(path))
        except OSError:
            return False
    return True


def stop_hub(folders: Folders, *, timeout_s: float = 10.0) -> bool:
    """End this user's hub after its last commit; False if none was running.

    Raises:
        HubUnreachable: The hub is still running `timeout_s` seconds after the request.
    """
    if not is_listening(view_socket_path(folders)):
        return False
    end_s = time.monotonic() + timeout_s
    with HubClient(folders=folders, timeout_s=_ANSWER_S) as client:
        try:
            pid = client.hub(stop=True).pid
        except HubUnreachable:
            return False
        while not _is_gone(pid):
            if time.monotonic() > end_s:
                raise HubUnreachable(client.endpoint, timeout_s)
            threading.Event().wait(0.02)
    _forget_ended_processes()
    return True


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def start_hub_process(folders: Folders) -> "subprocess.Popen[bytes]":
    environ = {k: v for k, v in os.environ.items() if k != "KMONITOR_HOME"}
    if find_folders(environ) != folders:
        environ["KMONITOR_HOME"] = str(folders.state)
    with open_own(_stderr_path(folders), "wb") as stderr_file:
        # Events that runs send after it ended wait in their spools for the next hub.
        process = subprocess.Popen(
            [sys.executable, "-m", "kmonitor.hub", "--idle-s", "600"],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr_file,
            cwd="/" if os.name == "posix" else None,
            start_new_session=True,
        )
    _started.append(process)
    return process


def _withdraw(process: "subprocess.Popen[bytes]", found: HubReply) -> None:
    # Somebody else's hub was faster. Ours would end by itself, unless that one is stopped
    # meanwhile: then it would stay, unasked for.
    if process.pid != found.pid:
        process.terminate()
        process.wait()
        _forget_ended_processes()


def _forget_ended_processes() -> None:
    _started[:] = [process for process in _started if process.poll() is None]


def _failure(folders: Folders, status: int | None, timeout_s: float) -> HubDidNotStart:
    lack = disk_space_problem(folders)
    if lack:
        remedy = "Free some space, or set KMONITOR_HOME to a folder on another disk."
        return HubDidNotStart(f"The hub cannot start. {lack}", remedy)
    what = _stderr_text(folders)
    if not what and status is None:
        what = f"The hub was started but did not respond within {timeout_s:g} s."
    elif not what:
        what = f"The hub exited right after it started, with status {status}."
    return HubDidNotStart(what, _log_hint(folders))


def _log_hint(folders: Folders) -> str:
    log = folders.logs / "hub.log"
    if is_plain(log) and log.lstat().st_size:
        return f"Its log is {log}."
    return "Run `kmonitor hub` in a terminal to see the error."


def _stderr_text(folders: Folders) -> str:
    try:
        text = read_own(_stderr_path(folders)).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return text[-2000:].removeprefix("kmonitor hub: ")


def _stderr_path(folders: Folders) -> Path:
    return folders.logs / "hub.err"


_ELSEWHERE = "Set KMONITOR_HOME to a folder that you can write to."


class HomeUnusable(UserError):
    """A folder of this user's kmonitor, named in the message, cannot be created or entered."""


def make_hub_folders(folders: Folders) -> None:
    """Create the folders that a hub needs.

    Raises:
        HomeUnusable: A folder cannot be created, or is open to others.
    """
    try:
        make_own_folder(folders.state)
        make_own_folder(folders.logs)
        make_private_folder(folders.runtime)
    except OSError as exc:
        if isinstance(exc, UnsafePath) and not is_plain(exc.path):
            raise HomeUnusable(f"{exc.path} {exc.why}.") from exc
        obstacle = _blocking_file(folders.logs) or _blocking_file(folders.runtime)
        if obstacle is not None:
            what = f"{obstacle} is a file; kmonitor needs a folder there for {folders.state}."
            raise HomeUnusable(what.replace(f" for {obstacle}.", "."), _ELSEWHERE) from exc
        folder = exc.filename or folders.state
        raise HomeUnusable(f"{folder} cannot be created: {exc.strerror}.", _ELSEWHERE) from exc


def _blocking_file(folder: Path) -> Path | None:
    for path in (folder, *folder.parents):
        try:
            if path.is_dir():
                return None
            if path.exists() or path.is_symlink():
                return path
        except OSError:
            return None
    return None


_NEEDED_BYTES = 4 * 1024 * 1024
"""Disk space for an empty database with its log and a log file, with some to spare."""

_PROBE_BYTES = 256 * 1024


def disk_space_problem(folders: Folders) -> str:
    """Sentence naming a folder whose disk has no room for a hub; empty if all have room."""
    for folder in (folders.state, folders.runtime):
        try:
            free = shutil.disk_usage(folder).free
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(b"\0" * _PROBE_BYTES)
        except OSError as exc:
            # Also a quota or a disk that may only be read: these have room, but not for us.
            return f"{folder} is not writable: {exc.strerror}."
        if free < _NEEDED_BYTES:
            return f"The disk that holds {folder} is full: only {round_binary_size(free)} is free."
    return ""


_TERM_S: Final = 5.0
_KILL_S: Final = 5.0
_LOCK_POLL_S: Final = 0.02


class HubSilent(UserError):
    """A hub is running, so that no other can start, and does not reply.

    Attributes:
        pid: Process id of the hub.
    """

    def __init__(self, pid: int, lock: Path, remedy: str = "") -> None:
        super().__init__(
            f"The hub (process {pid}) holds {lock} but is not responding: it is hung or "
            "suspended.",
            remedy or "Stop it with: kmonitor hub stop   Training runs continue and lose no data.",
        )
        self.pid = pid


def silent_hub_error(folders: Folders) -> HubSilent | None:
    """Error to raise where no hub replied; None if no process holds its lock either."""
    pid = lock_holder(folders)
    return None if pid is None else HubSilent(pid, hub_lock_path(folders))


def lock_holder(folders: Folders) -> int | None:
    """Process id that is provably this user's hub: named in the lock, and with the lock open.

    None: there is no such process, or none that is visible from here.
    """
    path = hub_lock_path(folders)
    try:
        pid = int(read_own(path, KEY_BYTES).decode("ascii").strip())
        process = psutil.Process(pid)
        is_ours = process.username() == psutil.Process().username()
        opened = [each.path for each in process.open_files()]
    except (OSError, ValueError, psutil.Error):
        return None
    return pid if is_ours and os.path.realpath(path) in map(os.path.realpath, opened) else None


def end_silent_hub(folders: Folders, *, term_s: float = _TERM_S) -> int | None:
    """End a hub that does not reply.

    The hub may still commit received events; it is killed only if it is still running after
    `term_s` seconds.

    Returns:
        Process id of the ended hub; None if no process holds the lock any more.

    Raises:
        HubSilent: The hub could not be ended.
    """
    pid = lock_holder(folders)
    if pid is None:
        return None
    for number, wait_s in ((signal.SIGTERM, term_s), (getattr(signal, "SIGKILL", 9), _KILL_S)):
        if lock_holder(folders) == pid:
            _signal(pid, number)
        end_s = time.monotonic() + wait_s
        while time.monotonic() < end_s:
            if lock_holder(folders) != pid:
                return pid
            threading.Event().wait(_LOCK_POLL_S)
    raise HubSilent(pid, hub_lock_path(folders), f"It could not be stopped. Try: kill -9 {pid}")


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
        if hasattr(signal, "SIGCONT"):
            os.kill(pid, signal.SIGCONT)  # a stopped process does not hear the other one
    except OSError:
        pass  # gone meanwhile, or not ours to end: the caller sees which
