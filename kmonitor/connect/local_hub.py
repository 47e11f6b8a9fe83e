"""This user's own hub: whether it answers, starting it when it does not, ending it."""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil

from kmonitor.base.errors import Expected
from kmonitor.connect.home import lack_of_room, make_home
from kmonitor.connect.hub_client import HubClient, HubUnreachable
from kmonitor.connect.silent_hub import silence
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.plain_files import is_plain, open_own, read_own
from kmonitor_agent.wire.local.sockets import view_socket
from kmonitor_agent.wire.messages.unions import HubTold

_ANSWER_S = 2.0
_LOOK_S = 0.25
_SILENT_S = 0.02
_ANOTHER_STARTED_IT = 3
"""Exit status of a hub that found another one running (`kmonitor.hub.service.EXIT_ANOTHER`)."""


_started: "list[subprocess.Popen[bytes]]" = []
"""Hubs that this process started, kept so that they can be reaped when they end."""


class HubDidNotStart(Expected):
    """A hub was started and does not answer; says why as far as it can be seen."""


def hub_answers(folders: Folders, *, timeout_s: float = _ANSWER_S) -> HubTold | None:
    """What this user's hub says of itself; None if none answers within `timeout_s` seconds."""
    if not somebody_listens(view_socket(folders)):
        return None
    with HubClient(folders=folders, timeout_s=timeout_s) as client:
        try:
            return client.hub()
        except HubUnreachable:
            return None


def ensure_hub(folders: Folders, *, timeout_s: float = 10.0) -> HubTold:
    """This user's hub; started as a process of its own when none answers.

    It outlives its starter: trainings go on when the window is closed. It ends by itself when for
    ten minutes no run was live and no desktop asked.

    Raises:
        HomeUnusable: A folder that it needs cannot be made, or is open to others.
        HubSilent: One is there that does not answer.
        HubDidNotStart: It refuses to run here, or does not answer in `timeout_s` seconds.
    """
    found = hub_answers(folders, timeout_s=_LOOK_S)
    if found is not None:
        return found
    make_home(folders)
    _reap()
    end_s = time.monotonic() + timeout_s
    process = _start(folders)
    while time.monotonic() < end_s:
        found = hub_answers(folders, timeout_s=_ANSWER_S)
        if found is not None:
            _withdraw(process, found)
            return found
        if process.poll() not in {None, _ANOTHER_STARTED_IT}:
            break
        if somebody_listens(view_socket(folders)):
            continue
        threading.Event().wait(_SILENT_S)
        if process.poll() == _ANOTHER_STARTED_IT:
            # Another one has the lock and no socket: it just starts, or it ends and leaves the
            # place to ours.
            process = _start(folders)
    raise silence(folders) or _failure(folders, process.poll(), timeout_s)


def stop_hub(folders: Folders, *, timeout_s: float = 10.0) -> bool:
    """End this user's hub after its last commit; False if none was running.

    Raises:
        HubUnreachable: It was asked to end, and is still there after `timeout_s` seconds.
    """
    if not somebody_listens(view_socket(folders)):
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
    _reap()
    return True


def somebody_listens(path: Path) -> bool:
    """Whether a process listens on a socket; also one that is stopped, or hangs."""
    # A hub that was killed leaves its socket's file; ZeroMQ would wait for it in silence.
    if not hasattr(socket, "AF_UNIX"):
        return path.exists()
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.fsencode(path))
        except OSError:
            return False
    return True


def _start(folders: Folders) -> "subprocess.Popen[bytes]":
    environ = {k: v for k, v in os.environ.items() if k != "KMONITOR_HOME"}
    if find_folders(environ) != folders:
        environ["KMONITOR_HOME"] = str(folders.state)
    with open_own(_first_words(folders), "wb") as first_words:
        # What trainings tell after it ended waits in their spools for the next hub.
        process = subprocess.Popen(
            [sys.executable, "-m", "kmonitor.hub", "--idle-s", "600"],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=first_words,
            cwd="/" if os.name == "posix" else None,
            start_new_session=True,
        )
    _started.append(process)
    return process


def _failure(folders: Folders, status: int | None, timeout_s: float) -> HubDidNotStart:
    lack = lack_of_room(folders)
    if lack:
        remedy = "Free some space, or set KMONITOR_HOME to a folder on another disk."
        return HubDidNotStart(f"The hub cannot start. {lack}", remedy)
    what = _said(folders)
    if not what and status is None:
        what = f"The hub was started but does not answer within {timeout_s:g} s."
    elif not what:
        what = f"The hub was started and ended at once, with exit status {status}."
    return HubDidNotStart(what, _where_it_tells_more(folders))


def _where_it_tells_more(folders: Folders) -> str:
    log = folders.logs / "hub.log"
    if is_plain(log) and log.lstat().st_size:
        return f"Its log is {log}."
    return "Run `kmonitor hub` in a terminal to see what it says."


def _first_words(folders: Folders) -> Path:
    return folders.logs / "hub.err"


def _said(folders: Folders) -> str:
    try:
        words = read_own(_first_words(folders)).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return words[-2000:].removeprefix("kmonitor hub: ")


def _withdraw(process: "subprocess.Popen[bytes]", found: HubTold) -> None:
    # Somebody else's hub was faster. Ours would end by itself, unless that one is stopped
    # meanwhile: then it would stay, unasked for.
    if process.pid != found.pid:
        process.terminate()
        process.wait()
        _reap()


def _reap() -> None:
    _started[:] = [process for process in _started if process.poll() is None]


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
