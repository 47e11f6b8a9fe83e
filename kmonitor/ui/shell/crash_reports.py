"""Crash reports of the window: written when it fails, read at the next start, never sent.

A report holds versions, log lines and a traceback, without values, names and home folders. As a
fatal signal leaves no time to write one, each process keeps a trail: a file with its last log
lines, to which Python adds the stacks of its threads. The next start turns it into a report.
"""

import builtins
import faulthandler
import getpass
import importlib.metadata
import logging
import os
import platform
import re
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import TracebackType
from typing import Final

from typing_extensions import override

from kmonitor.base.errors import UserError
from kmonitor.ui.text.formats import moment_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.local.private_files import open_own, open_plain, write_private
from kmonitor_agent.wire.release import VERSION

_log = logging.getLogger(__name__)
WHAT: Final = "What:      "
"""Prefix of the line that names the failure."""

_FAULT: Final = re.compile(r"^(Fatal Python error: .*|Windows fatal exception: .*)$", re.MULTILINE)
_MOST_LINES: Final = 40
_MOST_REPORTS: Final = 5
_MOST_A_PROCESS: Final = 3
"""Maximum number of reports per process; repeated failures of one part are reported once."""

_MOST_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class CrashReport:
    """A report from an earlier start.

    Attributes:
        wall_s: Time of writing, UTC.
        is_fatal: True if the failure ended the window's process.
    """

    path: Path
    wall_s: float
    is_fatal: bool
    text: str

    def discard(self) -> None:
        """Delete the report; a failure to delete it is logged."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as exc:
            _log.warning("%s could not be removed: %s", self.path, exc)


class CrashReportHandler(logging.Handler):
    """Writes one file per process, with versions and the last log lines; `close` removes it.

    Python adds the stack of every thread when a fatal signal ends the process. Used from any
    thread: locks guard it.
    """

    def __init__(self, folder: Path) -> None:
        """Create the file.

        Args:
            folder: Folder of the logs; must exist.

        Raises:
            OSError: The file cannot be written.
        """
        super().__init__(logging.INFO)
        self._folder = folder
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._reported: set[str] = set()
        self._report_lock = threading.Lock()
        self._path = folder / f"window-{_stamp()}-{os.getpid()}.trail"
        self._fd = open_plain(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, own=True)
        _try_lock(self._fd)
        os.ftruncate(self._fd, 0)
        head = _nameless(crash_head_text("", _moment())).encode()
        os.write(self._fd, head)
        self._head_bytes = len(head)
        self._has_faults = not faulthandler.is_enabled()
        if self._has_faults:
            faulthandler.enable(self._fd)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(_nameless(log_record_text(record)))
        try:
            os.ftruncate(self._fd, self._head_bytes)
            os.write(self._fd, ("\n".join(self._lines) + "\n\n").encode("utf-8", "replace"))
        except OSError:
            # The log itself reports a full disk.
            return

    def report(
        self, kind: type[BaseException], value: BaseException | None, trace: TracebackType | None
    ) -> Path | None:
        """Write a report about an uncaught exception.

        Returns:
            File of the report; None if it was not written: the exception was reported before, or
            there are too many reports, or the file could not be written.
        """
        traceback_text = crash_traceback_text(kind, value, trace)
        with self._report_lock:
            if traceback_text in self._reported or len(self._reported) >= _MOST_A_PROCESS:
                return None
            self._reported.add(traceback_text)
            number = len(self._reported)
            lines = list(self._lines)
        head = crash_head_text(exception_title(kind), _moment())
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


def find_crash_reports(folder: Path) -> list[CrashReport]:
    """Return reports from earlier windows, newest first; trails without a fault are removed.

    Args:
        folder: Folder of the logs.
    """
    for trail in sorted(folder.glob("window-*.trail")):
        _finish_trail(trail)
    reports = sorted(folder.glob("crash-*.txt"), key=_written_s, reverse=True)
    for old in reports[_MOST_REPORTS:]:
        old.unlink(missing_ok=True)
    read = (_read(path) for path in reports[:_MOST_REPORTS])
    return [crash for crash in read if crash is not None]


def _finish_trail(trail: Path) -> None:
    """Turn the trail of a dead window into a report, or remove it if it has no fault."""
    try:
        with open_own(trail, "rb") as file:
            if not _try_lock(file.fileno()):
                return
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
            fault = _FAULT.search(text)
            if fault is not None:
                what = f"{WHAT}{fault[1]}"
                text = text.replace(WHAT.rstrip(), what, 1)
                name = trail.with_suffix(".txt").name.removeprefix("window-")
                path = trail.with_name(f"crash-{name}")
                wall_s = _written_s(trail)
                if not _write(path, _nameless(text)):
                    return
                os.utime(path, (wall_s, wall_s))
        trail.unlink(missing_ok=True)
    except OSError as exc:
        _log.warning("%s could not be read: %s", trail, exc)


def _read(path: Path) -> CrashReport | None:
    try:
        with open_own(path, "rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return CrashReport(path, _written_s(path), _FAULT.search(text) is not None, text)


def _write(path: Path, text: str) -> bool:
    try:
        write_private(path, text.encode("utf-8", "replace"))
    except OSError as exc:
        _log.warning("%s was not written: %s", path, exc)
        return False
    return True


def _try_lock(fd: int) -> bool:
    """Lock a file while it is open; False if a running window holds the lock."""
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
    return without_personal_names(text, home=home, user=user)


def _written_s(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _stamp() -> str:
    return time.strftime("%Y%m%d-%H%M%S")


def _moment() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %z")


@dataclass(frozen=True, slots=True)
class CrashNotice:
    """Texts of the bar about a report from an earlier start, and above the report.

    Attributes:
        title: Failure, and its time.
        text: Possible actions, and that nothing is sent.
        lead: Text above the report.
    """

    title: str
    text: str
    lead: str


def crash_notice(*, is_fatal: bool, wall_s: float, n: int, now_wall_s: float) -> CrashNotice:
    """Return the bar for the newest report.

    Args:
        is_fatal: True if the failure ended the window's process.
        wall_s: Time of writing, UTC.
        n: Number of reports, including this one.
    """
    when = moment_text(wall_s, now_wall_s=now_wall_s)
    if is_fatal:
        title = tr("The window crashed ({time}).").format(time=when)
    else:
        title = tr("Part of the window stopped working ({time}).").format(time=when)
    if n > 1:
        title = tr("{title} {n} reports were saved.").format(title=title, n=n)
    return CrashNotice(
        title,
        tr("A report was saved on this machine. kmonitor does not send it."),
        tr(
            "Contains versions, the last log lines and the traceback, but not your user name, "
            "your home folder or the names of runs and hosts. kmonitor sends nothing. To report "
            "the problem, copy or save this text and add a description of what you were doing."
        ),
    )


TITLE: Final = "kmonitor crash report"
LEFT_OUT: Final = "\u2026"
_PACKAGES: Final = (
    ("PySide6-Essentials", "PySide6"),
    ("shiboken6", "shiboken6"),
    ("pyqtgraph", "pyqtgraph"),
    ("numpy", "numpy"),
    ("pyzmq", "pyzmq"),
    ("msgspec", "msgspec"),
)

_FILE: Final = re.compile(r'File "([^"\n]*)"')
_LIBRARY: Final = re.compile(r".*[/\\]((?:site-packages|dist-packages|python3\.\d+)[/\\].*)")
_OURS: Final = re.compile(r".*[/\\]((?:kmonitor|kmonitor_agent)[/\\].*)")
_QUOTED: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d")
_PATH: Final = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\][^\s'\":,;)]+")
_IDENTIFIER: Final = re.compile(r"\w+")
_TYPE: Final = re.compile(r"NoneType|(?:PySide6|shiboken6|kmonitor|kmonitor_agent)\.[\w.]+")
_QT_LOGGER: Final = "kmonitor.ui.qt"


def crash_head_text(what: str, when: str) -> str:
    """Beginning of a report: failure, time, and versions.

    Args:
        what: Failure in one line; empty: not known yet.
        when: Time of the failure, with its time zone.
    """
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    lines = [
        TITLE,
        "Versions, log lines and traceback only: no training data, and nothing was sent.",
        "",
        f"{WHAT}{what}".rstrip(),
        f"When:      {when}",
        f"kmonitor:  {VERSION}",
        f"Python:    {platform.python_version()} on {system}",
        f"Packages:  {', '.join(_versions()[:3])},",
        f"           {', '.join(_versions()[3:])}",
        "",
        "Last log lines, without names and paths:",
    ]
    return "\n".join(lines) + "\n"


def _versions() -> list[str]:
    found: list[str] = []
    for package, name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} -")
    return found


def log_record_text(record: logging.LogRecord) -> str:
    """A log record in one line: its text as in the source, with numbers inserted."""
    if record.name == _QT_LOGGER:
        text = without_values(record.getMessage(), ())
    else:
        text = _filled(record)
    if record.exc_info and record.exc_info[0] is not None:
        text += f" ({record.exc_info[0].__name__})"
    text = " ".join(text.split())[:300]
    moment = logging.Formatter().formatTime(record, "%H:%M:%S")
    return f"  {moment} {record.levelname} {record.name}: {text}"


def _filled(record: logging.LogRecord) -> str:
    """Message with numbers inserted, and a placeholder for each other value."""
    args = record.args
    if not isinstance(args, tuple) or not args:
        return str(record.msg) if isinstance(record.msg, str) else LEFT_OUT
    shown = tuple(each if isinstance(each, int | float) else _Hidden() for each in args)
    try:
        return str(record.msg) % shown
    except (TypeError, ValueError):
        return str(record.msg)


class _Hidden:
    """Replaces a value in a log line that may be a name."""

    @override
    def __str__(self) -> str:
        return LEFT_OUT

    __repr__ = __str__


def crash_traceback_text(
    kind: type[BaseException], value: BaseException | None, trace: TracebackType | None
) -> str:
    """An exception with its causes and their frames; values in messages are left out."""
    whole = traceback.TracebackException(kind, value or kind(), trace)
    return "\n".join(_chain(whole, value)) + "\n"


def _chain(whole: traceback.TracebackException, value: BaseException | None) -> list[str]:
    lines: list[str] = []
    before = whole.__cause__ or (None if whole.__suppress_context__ else whole.__context__)
    if before is not None:
        is_cause = whole.__cause__ is not None
        cause = None if value is None else (value.__cause__ if is_cause else value.__context__)
        how = "is the direct cause of:" if is_cause else "was being handled when this happened:"
        lines += [*_chain(before, cause), "", f"The exception above {how}", ""]
    lines.append("Traceback (most recent call last):")
    lines += [line.rstrip("\n") for line in whole.stack.format()]
    kind = type(value)
    name = kind.__name__ if value is not None else "Exception"
    code = [frame.line or "" for frame in whole.stack]
    if value is None or isinstance(value, UserError):
        # Made for the user: it may name anything.
        return [*lines, f"{name}: {LEFT_OUT}"]
    text = without_values(str(value), code)[:1000]
    return [*lines, f"{name}: {text}" if text else name]


def exception_title(kind: type[BaseException]) -> str:
    return f"{kind.__name__} in part of the window"


def without_personal_names(text: str, *, home: str, user: str) -> str:
    """Shorten paths in a text, and remove home folder and user name.

    Args:
        home: Home folder; empty: not known.
        user: User name; empty: not known.
    """
    text = _FILE.sub(lambda found: f'File "{_short_path(found[1])}"', text)
    if len(home) > 1:
        text = text.replace(home, "~")
    if user:
        text = re.sub(rf"(?<![\w-]){re.escape(user)}(?![\w-])", "USER", text)
    return text


def _short_path(path: str) -> str:
    """Path of a file from its package on; for other files only the file name."""
    if path.startswith("<"):
        return path
    for pattern in (_LIBRARY, _OURS):
        found = pattern.fullmatch(path)
        if found is not None:
            return f"{LEFT_OUT}/{found[1]}"
    root = str(PurePath(sys.prefix))
    return path.removeprefix(root) if path.startswith(root) else PurePath(path).name


def without_values(message: str, code: Iterable[str]) -> str:
    """Remove quoted words and paths from a message, except those that occur in the code.

    Args:
        message: Message of an exception or of Qt.
        code: Lines of source that may be quoted.
    """
    known = {identifier for line in code for identifier in _IDENTIFIER.findall(line)}

    def shown(found: re.Match[str]) -> str:
        identifier = found[0][1:-1]
        is_ours = (
            identifier in known
            or hasattr(builtins, identifier)
            or bool(_TYPE.fullmatch(identifier))
        )
        return found[0] if is_ours else f"'{LEFT_OUT}'"

    return _PATH.sub(LEFT_OUT, _QUOTED.sub(shown, message))
