"""What a window that ends badly leaves behind, and what is found of it at the next start."""

import faulthandler
import getpass
import logging
import os
import re
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from typing_extensions import override

from kmonitor.ui.shell import crash_words
from kmonitor_agent.wire.local.plain_files import open_own, open_plain, write_private

_log = logging.getLogger(__name__)
_MOST_LINES: Final = 40
_MOST_REPORTS: Final = 5
_MOST_A_PROCESS: Final = 3
"""A part that fails at each repaint is told once; many parts that fail are told as far as this."""

_MOST_BYTES: Final = 256 * 1024
_FAULT: Final = re.compile(r"^(Fatal Python error: .*|Windows fatal exception: .*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Crash:
    """A report that was left behind.

    Attributes:
        path: Its file.
        wall_s: When it was written, UTC.
        is_fatal: Whether the window's process ended by it.
        text: All of it.
    """

    path: Path
    wall_s: float
    is_fatal: bool
    text: str

    def discard(self) -> None:
        """Delete it; what cannot be deleted is logged."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as exc:
            _log.warning("%s was not deleted: %s", self.path, exc)


class CrashTrail(logging.Handler):
    """One file a process, with versions and the last log lines, removed by `close`.

    Python adds to it where every thread stood when a fatal signal ends the process. Used from any
    thread: locks guard it.
    """

    def __init__(self, folder: Path) -> None:
        """Begin the file.

        Args:
            folder: Where logs are kept; exists.

        Raises:
            OSError: It cannot be written there.
        """
        super().__init__(logging.INFO)
        self._folder = folder
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._told: set[str] = set()
        self._telling = threading.Lock()
        self._path = folder / f"window-{_stamp()}-{os.getpid()}.trail"
        self._fd = open_plain(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, own=True)
        _hold(self._fd)
        os.ftruncate(self._fd, 0)
        head = _nameless(crash_words.head_text("", _moment())).encode()
        os.write(self._fd, head)
        self._head_bytes = len(head)
        self._has_faults = not faulthandler.is_enabled()
        if self._has_faults:
            faulthandler.enable(self._fd)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(_nameless(crash_words.log_text(record)))
        try:
            os.ftruncate(self._fd, self._head_bytes)
            os.write(self._fd, ("\n".join(self._lines) + "\n\n").encode("utf-8", "replace"))
        except OSError:
            # The log itself tells of a full disk.
            return

    def report(
        self, kind: type[BaseException], value: BaseException | None, trace: TracebackType | None
    ) -> Path | None:
        """Write a report on an exception that nobody caught; None where there is one already."""
        traceback_text = crash_words.exception_text(kind, value, trace)
        with self._telling:
            if traceback_text in self._told or len(self._told) >= _MOST_A_PROCESS:
                return None
            self._told.add(traceback_text)
            number, lines = len(self._told), list(self._lines)
        head = crash_words.head_text(crash_words.what_text(kind), _moment())
        text = "\n".join((head, *lines, "", traceback_text))
        path = self._folder / f"crash-{_stamp()}-{os.getpid()}-{number}.txt"
        return path if _write(path, _nameless(text)) else None

    @override
    def close(self) -> None:
        if self._has_faults:
            faulthandler.disable()
            self._has_faults = False
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._path.unlink(missing_ok=True)
        super().close()


def crashes_left(folder: Path) -> list[Crash]:
    """What earlier windows left behind, newest first; trails that say nothing are removed.

    Args:
        folder: Where logs are kept.
    """
    for trail in sorted(folder.glob("window-*.trail")):
        _settle(trail)
    reports = sorted(folder.glob("crash-*.txt"), key=_written_s, reverse=True)
    for old in reports[_MOST_REPORTS:]:
        old.unlink(missing_ok=True)
    read = (_read(path) for path in reports[:_MOST_REPORTS])
    return [crash for crash in read if crash is not None]


def _settle(trail: Path) -> None:
    """Make a report of a dead window's trail, or remove it where it died of nothing of ours."""
    try:
        with open_own(trail, "rb") as file:
            if not _hold(file.fileno()):
                return
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
            fault = _FAULT.search(text)
            if fault is not None:
                what = f"{crash_words.WHAT}{fault[1]}"
                text = text.replace(crash_words.WHAT.rstrip(), what, 1)
                name = trail.with_suffix(".txt").name.removeprefix("window-")
                path, wall_s = trail.with_name(f"crash-{name}"), _written_s(trail)
                if not _write(path, _nameless(text)):
                    return
                os.utime(path, (wall_s, wall_s))
        trail.unlink(missing_ok=True)
    except OSError as exc:
        _log.warning("%s was not read: %s", trail, exc)


def _read(path: Path) -> Crash | None:
    try:
        with open_own(path, "rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return Crash(path, _written_s(path), _FAULT.search(text) is not None, text)


def _write(path: Path, text: str) -> bool:
    try:
        write_private(path, text.encode("utf-8", "replace"))
    except OSError as exc:
        _log.warning("%s was not written: %s", path, exc)
        return False
    return True


def _hold(fd: int) -> bool:
    """Lock a file as long as it is open; False where a living window holds it."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _nameless(text: str) -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    try:
        home = str(Path.home())
    except RuntimeError:
        home = ""
    return crash_words.nameless(text, home=home, user=user)


def _written_s(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _stamp() -> str:
    return time.strftime("%Y%m%d-%H%M%S")


def _moment() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %z")
