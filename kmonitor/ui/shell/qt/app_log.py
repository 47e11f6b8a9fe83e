"""The app's log file and exception hooks, so that no failure is silent."""

import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from kmonitor.base.log_file import OwnLogHandler
from kmonitor.ui.shell.crash_reports import CrashReport, CrashReportHandler, find_crash_reports

_log = logging.getLogger("kmonitor.ui")
_QT = logging.getLogger("kmonitor.ui.qt")
_BYTES = 2 * 1024 * 1024
_FILES = 5

_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


class AppLog:
    """Writes `<state>/logs/app.log`; `close` restores the previous hooks.

    Attributes:
        crashes: Crash reports of earlier windows, newest first.
    """

    def __init__(self, folder: Path, on_failure: Callable[[str], None]) -> None:
        """Start logging.

        Args:
            on_failure: Called on the failed thread with one line for the user.
        """
        self._on_failure = on_failure
        self._handler: logging.Handler | None = None
        self._report_handler: CrashReportHandler | None = None
        self.crashes: list[CrashReport] = []
        self._open(folder)
        self._hooks = (sys.excepthook, threading.excepthook)
        sys.excepthook = self._excepthook
        threading.excepthook = self._thread_excepthook
        qInstallMessageHandler(_log_qt_message)

    def close(self) -> None:
        """Stop logging and restore the hooks."""
        sys.excepthook, threading.excepthook = self._hooks
        qInstallMessageHandler(None)
        for handler in (self._report_handler, self._handler):
            if handler is not None:
                logging.getLogger("kmonitor").removeHandler(handler)
                handler.close()

    def _open(self, folder: Path) -> None:
        try:
            handler = OwnLogHandler(folder / "app.log", max_bytes=_BYTES, old_files=_FILES - 1)
            self.crashes = find_crash_reports(folder)
            self._report_handler = CrashReportHandler(folder)
        except OSError as exc:
            _log.warning("no log file: %s", exc)
            return
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root = logging.getLogger("kmonitor")
        root.addHandler(handler)
        root.addHandler(self._report_handler)
        if root.level == logging.NOTSET:
            root.setLevel(logging.INFO)
        self._handler = handler

    def _excepthook(
        self, kind: type[BaseException], value: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._hooks[0](kind, value, trace)
            return
        # The log and a banner are for later: who started it in a terminal looks there.
        sys.__excepthook__(kind, value, trace)
        _log.error("part of the window failed", exc_info=(kind, value, trace))
        self._report(kind, value, trace)
        self._on_failure(f"{kind.__name__}: {value}")

    def _thread_excepthook(self, args: threading.ExceptHookArgs) -> None:
        value = args.exc_value
        if value is not None:
            threading.__excepthook__(args)
            _log.error("thread %s failed", args.thread, exc_info=value)
            self._report(args.exc_type, value, args.exc_traceback)
            self._on_failure(f"{args.exc_type.__name__}: {value}")

    def _report(
        self, kind: type[BaseException], value: BaseException, trace: TracebackType | None
    ) -> None:
        if self._report_handler is not None:
            self._report_handler.report(kind, value, trace)


def _log_qt_message(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    del context
    _QT.log(_LEVELS.get(kind, logging.WARNING), "%s", text)
