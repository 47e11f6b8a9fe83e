"""Starts the demo training as a process of its own."""

import importlib.util
import sys
from collections.abc import Callable

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal, Slot

from kmonitor.ui.shell.qt.detached import start_detached
from kmonitor_agent.wire.local.folders import Folders, find_folders

_MODULE = "kmonitor.demo.training"
_SHOWS_UP_MS = 90_000


class DemoStart(QObject):
    """Starts the demo at most once at a time; the demo outlives the window.

    Signals (main thread):
        changed: `is_starting` or `error` changed.
    """

    changed = Signal()

    def __init__(self, folders: Folders, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folders = folders
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SHOWS_UP_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        self._why: Callable[[], str] | None = None

    @property
    def error(self) -> str:
        """Why it could not be started, in the language in force; empty: it could."""
        return self._why() if self._why is not None else ""

    @property
    def is_starting(self) -> bool:
        """Whether the demo was started and has not shown up yet."""
        return self._timer.isActive()

    @Slot()
    def start(self) -> None:
        """Start it, or say in `error` why that cannot be."""
        self._why = self._missing()
        if self._why is None:
            process = QProcess()
            process.setProgram(sys.executable)
            process.setArguments(["-m", _MODULE])
            environment = QProcessEnvironment.systemEnvironment()
            if find_folders() != self._folders:
                environment.insert("KMONITOR_HOME", str(self._folders.state))
            process.setProcessEnvironment(environment)
            process.setStandardOutputFile(QProcess.nullDevice())
            process.setStandardErrorFile(QProcess.nullDevice())
            if start_detached(process):
                self._timer.start()
            else:
                self._why = self._not_started
        self.changed.emit()

    def shown_up(self) -> None:
        """A run is there."""
        if self._timer.isActive():
            self._timer.stop()
            self.changed.emit()

    @Slot()
    def _on_timer_timeout(self) -> None:
        self._why = self._not_shown_up
        self.changed.emit()

    def _not_started(self) -> str:
        text = self.tr("The demo could not be started: {program}")
        return text.format(program=sys.executable)

    def _not_shown_up(self) -> str:
        text = self.tr("The demo did not show up. Run in a terminal to see why: {line}")
        return text.format(line=f"python -m {_MODULE}")

    def _not_installed(self) -> str:
        return self.tr("This installation has no demo training.")

    def _lacking(self) -> str:
        text = self.tr(
            "The demo needs {packages}, which this Python lacks. In the clone: "
            'python -m pip install ".[demo]"'
        )
        return text.format(packages=self.tr(" and ").join(_missing_packages()))

    def _missing(self) -> Callable[[], str] | None:
        if importlib.util.find_spec("kmonitor.cli") and importlib.util.find_spec(_MODULE) is None:
            return self._not_installed
        return self._lacking if _missing_packages() else None


def _missing_packages() -> list[str]:
    return [m for m in ("keras", "tensorflow") if importlib.util.find_spec(m) is None]
