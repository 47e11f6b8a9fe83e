"""*Open folder...*: asks for a folder and shows its runs in a window of their own."""

import logging
import sys
import threading
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from kmonitor.base.errors import Expected
from kmonitor.connect.folder_hub import see_spools
from kmonitor.ui.shell.qt.detached import start_detached
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.widgets.file_dialog_words import say_labels
from kmonitor.ui.widgets.questions import message_box

_log = logging.getLogger(__name__)
_JOIN_S = 5.0


class FolderOpening(QObject):
    """Looks into the folder on the thread `kmonitor-folder-look`: a network may take its time.

    Signals (from that thread, so connect to methods of QObjects only):
        found: There are runs in this folder.
        refused: It cannot be shown, with what to do.
        opened: A window was started on this folder; main thread.
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
        window.run_tree.folder_requested.connect(self.ask)
        window.first_start.folder_requested.connect(self.ask)
        window.shortcut("folder").activated.connect(self.ask)

    @Slot()
    def ask(self) -> None:
        """Let the user choose a folder."""
        dialog = _FolderDialog(self._window)
        dialog.fileSelected.connect(self.look)
        dialog.open()

    @Slot(str)
    def look(self, folder: str) -> None:
        """Look whether there are runs in a folder, and open it."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._thread = threading.Thread(
            target=self._main, args=(folder,), name="kmonitor-folder-look", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Wait for the thread; a folder that does not answer is left alone."""
        if self._thread is not None:
            self._thread.join(_JOIN_S)

    def _main(self, folder: str) -> None:
        try:
            see_spools(Path(folder))
        except Expected as exc:
            self.refused.emit(exc.what, exc.remedy)
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("a folder could not be looked at")
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
            self._on_self_refused(self.tr("A second window could not be started."), "")

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
        say_labels(self)
        self.setWindowTitle(self.tr("Open a folder with runs"))
