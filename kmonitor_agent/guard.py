"""Faults of our own: counted, logged, sent as events, and never raised into the training."""

import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import ContextDecorator, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from kmonitor_agent.wire.local.private_files import is_plain, make_own_folder, open_own, write_all

LOG_BYTES: Final = 2_000_000
"""Size at which a log file is rotated, bytes."""

LOG_FILES: Final = 5
"""Number of old log files that are kept."""

_FULL_TRACEBACKS: Final = 3
_LINES_HELD: Final = 200
_TEXT_LIMIT: Final = 4096

OnFault = Callable[[str, int, str], None]
"""Called for a fault with its location, its count so far, and its type and message."""


class FaultLog:
    """Counts faults by part and writes some of them to `<state>/logs/agent.log`.

    `record` may be called from any thread and does no input or output: the lines wait in memory
    until the agent's thread calls `write_out`. For each part, the first three faults are logged
    with their traceback, then the 4th, 8th, 16th, ... so that a fault in a hot loop fills no disk.

    Args:
        log_file: File to write to; None: only count.
        private: True to leave messages and tracebacks out; the exception's type stays.
        on_fault: Called for each fault that is logged, on the thread in which it occurred.
    """

    def __init__(
        self,
        log_file: Path | None = None,
        *,
        private: bool = False,
        on_fault: OnFault | None = None,
    ) -> None:
        self._on_fault = on_fault
        self._log_file = log_file
        self._private = private
        self._lock = threading.RLock()  # a finaliser may fail while this thread records
        self._counts: dict[str, int] = {}
        self._lines: deque[str] = deque(maxlen=_LINES_HELD)

    def record(self, where: str, exc: BaseException) -> None:
        """Count a fault; never raises.

        Args:
            where: Name of the part that failed, such as "run.epoch_end".
        """
        # No memory may be left to count it in, and its own text may fail to print: there is
        # nowhere left to report that. `suppress` would need memory before it helps.
        try:  # noqa: SIM105 - see above
            self._record(where, exc)
        except Exception:  # noqa: BLE001, S110
            pass

    def _record(self, where: str, exc: BaseException) -> None:
        with self._lock:
            count = self._counts.get(where, 0) + 1
            self._counts[where] = count
        if count > _FULL_TRACEBACKS and count & (count - 1):
            return
        text = self._text(exc)
        try:
            self._lines.append(self._entry(where, count, text, exc))
        finally:
            if self._on_fault is not None:
                self._on_fault(where, count, text)

    def counts(self) -> dict[str, int]:
        """Number of faults of each part."""
        with self._lock:
            return dict(self._counts)

    def guarded(self, where: str) -> "Guard":
        """A context manager, or decorator, that turns any exception into a recorded fault."""
        return Guard(self, where)

    def write_out(self) -> None:
        """Append waiting lines to the log file, on the agent's thread; a full disk loses them."""
        if self._log_file is None or not self._lines:
            return
        lines: list[str] = []
        while self._lines:
            lines.append(self._lines.popleft())
        with suppress(OSError):
            _append(self._log_file, "".join(lines))

    def _text(self, exc: BaseException) -> str:
        name = type(exc).__name__
        return name if self._private else f"{name}: {exception_message(exc)}"[:_TEXT_LIMIT]

    def _entry(self, where: str, count: int, text: str, exc: BaseException) -> str:
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        head = f"{timestamp} pid {os.getpid()} {where} (fault {count}): {text}\n"
        if self._private or count > _FULL_TRACEBACKS:
            return head
        return head + "".join(traceback.format_exception(exc))


class Guard(ContextDecorator):
    """Swallows and records every `Exception` of a block or function that is one of ours.

    KeyboardInterrupt and SystemExit pass, and exceptions of the script's signal handlers: they are
    the user's.
    """

    def __init__(self, faults: FaultLog, where: str) -> None:
        self._faults = faults
        self._where = where

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Record an `Exception` and continue behind the block."""
        if not isinstance(exc, Exception) or is_from_signal_handler(exc):
            return False
        self._faults.record(self._where, exc)
        return True


def is_from_signal_handler(error: BaseException) -> bool:
    """True if a signal handler of the script raised the exception, while other code ran."""
    try:
        handlers = map(signal.getsignal, signal.valid_signals())
        codes = {_code_of(each) for each in handlers if callable(each)} - {None}
        trace = error.__traceback__ if codes else None
        while trace is not None:
            if trace.tb_frame.f_code in codes:
                return True
            trace = trace.tb_next
    except Exception:  # noqa: BLE001 - then it is taken for one of ours
        return False
    return False


def _code_of(handler: Any) -> object:
    handler = getattr(handler, "func", handler)  # of a `functools.partial`
    called = handler if hasattr(handler, "__code__") else handler.__call__  # of an object
    return getattr(called, "__code__", None)


def exception_message(exc: BaseException) -> str:
    """An exception's message, or a note that it cannot be printed."""
    try:
        return str(exc)
    except Exception as failure:  # noqa: BLE001 - a script's own class may raise whatever it likes
        return f"(its message cannot be read: {type(failure).__name__})"


def describe_exception(exc: BaseException) -> str:
    """An exception's type and message, at most 1000 letters."""
    name = type(exc).__name__
    text = exception_message(exc)
    return f"{name}: {text}"[:1000] if text else name


def _append(path: Path, text: str) -> None:
    make_own_folder(path.parent)
    if is_plain(path) and path.lstat().st_size + len(text) > LOG_BYTES:
        _turn_over(path)
    # Created 0600: a log names the user's files and functions.
    with open_own(path, "ab") as log:
        write_all(log.fileno(), text.encode(errors="backslashreplace"))


def _turn_over(path: Path) -> None:
    for number in range(LOG_FILES - 1, 0, -1):
        older = path.with_suffix(f".log.{number}")
        if older.exists():
            older.replace(path.with_suffix(f".log.{number + 1}"))
    path.replace(path.with_suffix(".log.1"))
