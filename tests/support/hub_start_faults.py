"""Starts hubs in which one call to the system fails, and prints how each ended; run as a program.

Each hub is a fork of this process, where a hook of Python's own fails the first call of a kind at
one line of ours. Prints one JSON line for each.
"""

import errno
import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from inspect import currentframe
from pathlib import Path
from types import FrameType
from typing import Any, Final

from kmonitor.hub import loop, service
from tests.support.source_tree import ROOT

AUDITED: Final = frozenset(
    {"open", "sqlite3.connect", "resource.setrlimit", "socket.bind", "socket.__new__"}
    | {f"os.{name}" for name in ("mkdir", "chmod", "rename", "remove", "rmdir", "listdir")}
    | {f"os.{name}" for name in ("scandir", "utime", "truncate")}
    | {f"fcntl.{name}" for name in ("flock", "lockf", "fcntl")}
)
"""Calls that Python announces before it makes them."""

WRAPPED: Final = ("lstat", "stat", "fstat", "ftruncate", "fsync")
"""Calls of `os` of which it does not."""

ERRNOS: Final = ("ENOSPC", "EMFILE", "ENOLCK", "EIO", "EROFS")
AT_ONCE: Final = 24
LONGEST_S: Final = 120.0

Heard = Callable[[str, str], object]
"""Called with the call and the line before each call."""


def main() -> None:
    """Args: a folder for homes; and `all` for each error at each line, not one of them."""
    folder, is_whole = Path(sys.argv[1]), "all" in sys.argv
    assert loop
    sites = _sites(folder)
    cases = [
        (call, line, name)
        for n, (call, line) in enumerate(sites)
        for name in (ERRNOS if is_whole else [ERRNOS[n % len(ERRNOS)]])
    ]
    running: list[_Hub] = []
    while cases or running:
        while cases and len(running) < AT_ONCE:
            running.append(_Hub.start(folder / f"home{len(cases)}", cases.pop()))
        for hub in [hub for hub in running if hub.has_ended()]:
            running.remove(hub)
            told = {"case": hub.case, "status": hub.status, "said": hub.said()}
            sys.stdout.write(json.dumps(told) + "\n")
        time.sleep(0.005)


@dataclass
class _Hub:
    home: Path
    case: tuple[str, str, str]
    pid: int
    until_s: float
    status: int | None = None

    @classmethod
    def start(cls, home: Path, case: tuple[str, str, str]) -> "_Hub":
        call, line, name = case
        failed: list[str] = []

        def heard(called: str, at: str) -> None:
            if (called, at) == (call, line) and not failed:
                failed.append(line)
                number = getattr(errno, name)
                raise OSError(number, os.strerror(number), "/some/path")

        home.mkdir(mode=0o700)
        pid = _forked(home, heard)
        return cls(home, case, pid, time.monotonic() + LONGEST_S)

    def has_ended(self) -> bool:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.status = os.waitstatus_to_exitcode(status)
        elif time.monotonic() > self.until_s:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        else:
            return False
        return True

    def said(self) -> str:
        """Its standard error."""
        text = (self.home / "said").read_text("utf-8", "replace")
        shutil.rmtree(self.home)
        return text


def _sites(folder: Path) -> list[tuple[str, str]]:
    """Each call that a hub makes from its start to its end, with the line."""
    home, found = folder / "first", folder / "sites"
    home.mkdir(mode=0o700)
    write = os.open(found, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    pid = _forked(home, lambda call, line: os.write(write, f"{call} {line}\n".encode()))
    assert os.waitpid(pid, 0)[1] == 0, (home / "said").read_text()
    seen = dict.fromkeys(found.read_text().splitlines())
    return [(call, line) for call, _, line in (each.partition(" ") for each in seen)]


def _forked(home: Path, heard: Heard) -> int:
    if pid := os.fork():
        return pid
    os.environ["KMONITOR_HOME"] = str(home)
    os.dup2(os.open(home / "said", os.O_WRONLY | os.O_CREAT), 2)
    status = 99
    try:
        _listen(heard)
        status = service.main(["--idle-s", "0.1"])
    except BaseException:  # noqa: BLE001 - a fork must not go on with its parent's work
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stderr.flush()
        os._exit(status)


def _listen(heard: Heard) -> None:
    def audited(event: str, _args: tuple[Any, ...]) -> None:
        if event in AUDITED and (line := _line_of_ours(currentframe())):
            heard(event, line)

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            if line := _line_of_ours(currentframe()):
                heard(f"os.{name}", line)
            return real(*args, **named)

        return call

    sys.addaudithook(audited)
    for name in WRAPPED:
        setattr(os, name, wrapped(name, getattr(os, name)))


def _line_of_ours(frame: FrameType | None) -> str:
    """The innermost line of the package; empty within an import."""
    line = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if "importlib" in file:
            return ""
        if not line and file.startswith(str(ROOT / "kmonitor")):
            line = f"{Path(file).relative_to(ROOT)}:{frame.f_lineno}"
        frame = frame.f_back
    return line


if __name__ == "__main__":
    main()
