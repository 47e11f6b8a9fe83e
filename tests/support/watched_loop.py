"""The event loop of a window, one pass at a time, with a watch on what fails in it."""

import sys
import threading
import time
from collections.abc import Callable

from PySide6.QtCore import (
    QAbstractEventDispatcher,
    QEvent,
    QEventLoop,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtWidgets import QApplication

from tests.support.waiting import wait_until

_ALL = QEventLoop.ProcessEventsFlag.AllEvents
_UNSUPPORTED = "This plugin does not support"
"""Begin of the warning on something that the offscreen platform lacks and does not need."""


class WatchedLoop:
    """Runs the loop by hand; main thread only.

    Attributes:
        faults: Exceptions of any thread and warnings of Qt, in words.
    """

    def __init__(self, qt: QApplication) -> None:
        self.faults: list[str] = []
        self._qt = qt
        dispatcher = QAbstractEventDispatcher.instance()
        assert dispatcher is not None
        self._dispatcher = dispatcher

    def listen(self) -> None:
        """Take exceptions and warnings from now on, in the place of the app's log."""
        sys.excepthook = lambda kind, value, _trace: self.faults.append(
            f"{kind.__name__}: {value} {_line_of(value)}"
        )
        threading.excepthook = lambda args: self.faults.append(
            f"{args.thread}: {args.exc_value!r}"
        )
        qInstallMessageHandler(self._take_message)

    def watched(self, kind: str, what: str, act: Callable[[], object]) -> None:
        """Do something, then all that follows from it, pass by pass."""
        self.hold(kind, what, act)
        self.turn(kind, what)

    def turn(self, kind: str, what: str, passes: int = 4) -> None:
        """Let the loop go round while it has something to do, a few times at most."""
        for _ in range(passes):
            self.hold(kind, what, lambda: self._dispatcher.processEvents(_ALL))
            self._qt.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[arg-type]

    def hold(self, kind: str, what: str, act: Callable[[], object]) -> None:
        """Do something that holds the loop up; the benchmark measures for how long."""
        del kind, what
        act()

    def rest(self, seconds: float) -> None:
        """Let it go round for so long."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self.turn("rest", "rest", 1)
            threading.Event().wait(0.002)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let it go round until this holds."""

        def holds() -> object:
            self._dispatcher.processEvents(_ALL)
            return condition()

        wait_until(holds, what=what)

    def _take_message(self, kind: QtMsgType, _context: object, text: str) -> None:
        if kind != QtMsgType.QtDebugMsg and _UNSUPPORTED not in text:
            self.faults.append(f"Qt: {text}")


def _line_of(value: BaseException) -> str:
    trace = value.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f"({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
