"""Programs started from the window: another window for a folder with runs, and the demo."""

import importlib.util
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from kmonitor.base.errors import UserError
from kmonitor.connect.folder_hub import require_spools
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.widgets.dialogs import message_box, translate_labels
from kmonitor_agent.wire.local.folders import Folders, find_folders

_log = logging.getLogger(__name__)
_JOIN_S = 5.0


class FolderOpener(QObject):
    """Lets the user choose a folder, and opens a window for its runs.

    Reads the folder on the thread `kmonitor-folder-look`: a network may be slow.

    Signals (from that thread, so connect to methods of QObjects only):
        found: The folder has runs.
        refused: The folder cannot be shown; with the remedy.
        opened: A window was started for this folder; main thread.
    """

    found = Signal(str)
    refused = Signal(str, str)
    opened = Signal(str)

    def __init__(self, window: MainWindow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._thread: threading.Thread | None = None
        self.found.connect(self._on_self_found, Qt.ConnectionType.QueuedConnection)
        self.refused.connect(self._on_self_refused, Qt.ConnectionType.QueuedConnection)
        window.run_tree.folder_requested.connect(self.choose_folder)
        window.first_start.folder_requested.connect(self.choose_folder)
        window.shortcut("folder").activated.connect(self.choose_folder)

    @Slot()
    def choose_folder(self) -> None:
        dialog = _FolderDialog(self._window)
        dialog.fileSelected.connect(self.open_if_runs)
        dialog.open()

    @Slot(str)
    def open_if_runs(self, folder: str) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        self._thread = threading.Thread(
            target=self._main, args=(folder,), name="kmonitor-folder-look", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Wait for the thread; a folder that does not respond is abandoned."""
        if self._thread is not None:
            self._thread.join(_JOIN_S)

    def _main(self, folder: str) -> None:
        try:
            require_spools(Path(folder))
        except UserError as exc:
            self.refused.emit(exc.what, exc.remedy)
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("a folder could not be opened")
            self.refused.emit(f"{type(exc).__name__}: {exc}", "")
        else:
            self.found.emit(folder)

    @Slot(str)
    def _on_self_found(self, folder: str) -> None:
        process = QProcess()
        process.setProgram(sys.executable)
        process.setArguments(["-m", "kmonitor.cli.main", "--folder", folder])
        if start_detached(process):
            self.opened.emit(folder)
        else:
            self._on_self_refused(self.tr("A second window could not be opened."), "")

    @Slot(str, str)
    def _on_self_refused(self, what: str, remedy: str) -> None:
        message_box(what, remedy, self._window).open()


class _FolderDialog(QFileDialog):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFileMode(QFileDialog.FileMode.Directory)
        self.setOption(QFileDialog.Option.ShowDirsOnly)
        self._set_texts()

    def _set_texts(self) -> None:
        translate_labels(self)
        self.setWindowTitle(self.tr("Open a folder with runs"))


_DEMO_MODULE = "kmonitor.demo.training"
_DEMO_STARTS_MS = 90_000


class DemoLauncher(QObject):
    """Starts at most one demo at a time; the demo outlives the window.

    Signals (main thread):
        changed: `is_starting` or `error` changed.
    """

    changed = Signal()

    def __init__(self, folders: Folders, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folders = folders
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DEMO_STARTS_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        self._why: Callable[[], str] | None = None

    @property
    def error(self) -> str:
        """Reason why the demo could not be started, in the language in force; empty: it could."""
        return self._why() if self._why is not None else ""

    @property
    def is_starting(self) -> bool:
        """True after the demo was started until its run appears."""
        return self._timer.isActive()

    @Slot()
    def start(self) -> None:
        """Start the demo, or set `error` to the reason why it cannot start."""
        self._why = self._missing()
        if self._why is None:
            process = QProcess()
            process.setProgram(sys.executable)
            process.setArguments(["-m", _DEMO_MODULE])
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

    def mark_running(self) -> None:
        if self._timer.isActive():
            self._timer.stop()
            self.changed.emit()

    @Slot()
    def _on_timer_timeout(self) -> None:
        self._why = self._timeout_text
        self.changed.emit()

    def _not_started(self) -> str:
        text = self.tr("The demo could not be started: {program} cannot be run")
        return text.format(program=sys.executable)

    def _timeout_text(self) -> str:
        text = self.tr("The demo did not start. Run this in a terminal to see why: {line}")
        return text.format(line=f"python -m {_DEMO_MODULE}")

    def _not_installed(self) -> str:
        return self.tr("This installation does not include the demo.")

    def _missing_packages_text(self) -> str:
        text = self.tr(
            "The demo needs {packages}, which are not installed. In your clone of the"
            ' repository, run: python -m pip install ".[demo]"'
        )
        return text.format(packages=self.tr(" and ").join(_missing_packages()))

    def _missing(self) -> Callable[[], str] | None:
        if (
            importlib.util.find_spec("kmonitor.cli")
            and importlib.util.find_spec(_DEMO_MODULE) is None
        ):
            return self._not_installed
        return self._missing_packages_text if _missing_packages() else None


def _missing_packages() -> list[str]:
    return [m for m in ("keras", "tensorflow") if importlib.util.find_spec(m) is None]


def start_detached(process: QProcess) -> bool:
    """Start a program that outlives the window; True if it started.

    PySide6 returns a bool, or a bool and the process id, depending on its version; its type stubs
    declare the latter.
    """
    started = cast("bool | tuple[bool, int]", process.startDetached())
    return started[0] if isinstance(started, tuple) else started
