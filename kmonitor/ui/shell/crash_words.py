"""The text of a crash report: what helps to find a fault, without data, names and places."""

import builtins
import importlib.metadata
import logging
import platform
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import PurePath
from types import TracebackType
from typing import Final

from typing_extensions import override

from kmonitor.base.errors import Expected
from kmonitor_agent.wire.release import VERSION

TITLE: Final = "kmonitor crash report"
WHAT: Final = "What:      "
"""Begins the line that says what happened."""

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
_WORD: Final = re.compile(r"\w+")
_TYPE: Final = re.compile(r"NoneType|(?:PySide6|shiboken6|kmonitor|kmonitor_agent)\.[\w.]+")
_QT_LOGGER: Final = "kmonitor.ui.qt"


def head_text(what: str, when: str) -> str:
    """The beginning of a report: what, when, and with which versions.

    Args:
        what: In one line; empty: nobody knows yet.
        when: The moment, with its zone.
    """
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    lines = [
        TITLE,
        "Versions, log lines and traceback only: no data of trainings, nothing was sent.",
        "",
        f"{WHAT}{what}".rstrip(),
        f"When:      {when}",
        f"kmonitor:  {VERSION}",
        f"Python:    {platform.python_version()} on {system}",
        f"Packages:  {', '.join(_versions()[:3])},",
        f"           {', '.join(_versions()[3:])}",
        "",
        "Last log lines, names and places left out:",
    ]
    return "\n".join(lines) + "\n"


def log_text(record: logging.LogRecord) -> str:
    """A log record in one line: its words as they stand in the source, and numbers."""
    if record.name == _QT_LOGGER:
        words = without_values(record.getMessage(), ())
    else:
        words = _filled(record)
    if record.exc_info and record.exc_info[0] is not None:
        words += f" ({record.exc_info[0].__name__})"
    words = " ".join(words.split())[:300]
    moment = logging.Formatter().formatTime(record, "%H:%M:%S")
    return f"  {moment} {record.levelname} {record.name}: {words}"


def exception_text(
    kind: type[BaseException], value: BaseException | None, trace: TracebackType | None
) -> str:
    """An exception with its causes, each with its frames; values in messages are left out."""
    whole = traceback.TracebackException(kind, value or kind(), trace)
    return "\n".join(_chain(whole, value)) + "\n"


def what_text(kind: type[BaseException]) -> str:
    """What happened, in one line."""
    return f"{kind.__name__} in a part of the window"


def nameless(text: str, *, home: str, user: str) -> str:
    """The same text with shortened paths, and without home folder and user name.

    Args:
        text: A report.
        home: Home folder; empty: not known.
        user: User name; empty: not known.
    """
    text = _FILE.sub(lambda found: f'File "{_short(found[1])}"', text)
    if len(home) > 1:
        text = text.replace(home, "~")
    if user:
        text = re.sub(rf"(?<![\w-]){re.escape(user)}(?![\w-])", "USER", text)
    return text


def without_values(message: str, code: Iterable[str]) -> str:
    """A message whose quoted words and paths are left out, unless they stand in the code.

    Args:
        message: Of an exception or of Qt.
        code: Lines of source that may be quoted.
    """
    known = {word for line in code for word in _WORD.findall(line)}

    def shown(found: re.Match[str]) -> str:
        word = found[0][1:-1]
        is_ours = word in known or hasattr(builtins, word) or bool(_TYPE.fullmatch(word))
        return found[0] if is_ours else f"'{LEFT_OUT}'"

    return _PATH.sub(LEFT_OUT, _QUOTED.sub(shown, message))


def _versions() -> list[str]:
    found: list[str] = []
    for package, name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} -")
    return found


def _filled(record: logging.LogRecord) -> str:
    """The message with numbers filled in, and a mark for each other value."""
    args = record.args
    if not isinstance(args, tuple) or not args:
        return str(record.msg) if isinstance(record.msg, str) else LEFT_OUT
    shown = tuple(each if isinstance(each, int | float) else _Hidden() for each in args)
    try:
        return str(record.msg) % shown
    except (TypeError, ValueError):
        return str(record.msg)


class _Hidden:
    """Stands in a log line for a value that may be a name."""

    @override
    def __str__(self) -> str:
        return LEFT_OUT

    __repr__ = __str__


def _chain(whole: traceback.TracebackException, value: BaseException | None) -> list[str]:
    lines: list[str] = []
    before = whole.__cause__ or (None if whole.__suppress_context__ else whole.__context__)
    if before is not None:
        is_cause = whole.__cause__ is not None
        cause = None if value is None else (value.__cause__ if is_cause else value.__context__)
        how = "is the direct cause of:" if is_cause else "was handled when this happened:"
        lines += [*_chain(before, cause), "", f"The exception above {how}", ""]
    lines.append("Traceback (most recent call last):")
    lines += [line.rstrip("\n") for line in whole.stack.format()]
    kind = type(value)
    name = kind.__name__ if value is not None else "Exception"
    code = [frame.line or "" for frame in whole.stack]
    if value is None or isinstance(value, Expected):
        # Made for the user: it may name anything.
        return [*lines, f"{name}: {LEFT_OUT}"]
    words = without_values(str(value), code)[:1000]
    return [*lines, f"{name}: {words}" if words else name]


def _short(path: str) -> str:
    """A file's path from its package on; of other files the name alone."""
    if path.startswith("<"):
        return path
    for pattern in (_LIBRARY, _OURS):
        found = pattern.fullmatch(path)
        if found is not None:
            return f"{LEFT_OUT}/{found[1]}"
    root = str(PurePath(sys.prefix))
    return path.removeprefix(root) if path.startswith(root) else PurePath(path).name
