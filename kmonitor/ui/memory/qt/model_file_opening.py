"""*Open model file...*: asks for a file and has its model described beside the window."""

import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QStandardPaths, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from kmonitor.base.errors import Expected
from kmonitor.memory.model_files.description import GivenUp, describe_scaled
from kmonitor.memory.model_files.file_layout import layout_of_file
from kmonitor.memory.model_files.output_shapes import CannotTell
from kmonitor.memory.model_files.target import source_of
from kmonitor.ui.memory.file_subject import (
    SCALES,
    file_begun,
    file_described,
    file_refused,
    missing_of,
)
from kmonitor.ui.memory.qt.memory_map_controller import MemoryMapController
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.widgets.file_dialog_words import say_labels
from kmonitor_agent.wire.messages.model_layout import ModelLayout

_log = logging.getLogger(__name__)
_JOIN_S: Final = 5.0


@dataclass(slots=True)
class _Reading:
    """One file that is being read, by one thread."""

    path: Path
    custom: Path | None = None
    config: Path | None = None
    is_given_up: threading.Event = field(default_factory=threading.Event)


class ModelFileOpening(QObject):
    """Each file is read on a thread `kmonitor-model-file`, the model made by a child process.

    Signals (from that thread, so connect to methods of QObjects only):
        described: The reading, its layouts, and whether there will be no more.
        refused: The reading, why there is no map, and what to do.
    """

    described = Signal(object, object, bool)
    refused = Signal(object, str, str)

    def __init__(
        self, window: MainWindow, memory: MemoryMapController, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._memory = memory
        self._now: _Reading | None = None
        self._threads: list[threading.Thread] = []
        documents = QStandardPaths.StandardLocation.DocumentsLocation
        self._folder = QStandardPaths.writableLocation(documents)
        self.described.connect(self._on_self_described, Qt.ConnectionType.QueuedConnection)
        self.refused.connect(self._on_self_refused, Qt.ConnectionType.QueuedConnection)
        window.header.model_file_requested.connect(self.ask)
        window.shortcut("model_file").activated.connect(self.ask)
        memory.panel.file_requested.connect(self.ask)
        memory.panel.missing_requested.connect(self.ask_more)
        memory.left.connect(self.give_up)

    @property
    def path(self) -> Path | None:
        """The file that was opened last."""
        return self._now.path if self._now is not None else None

    @property
    def custom(self) -> Path | None:
        """The Python file with its classes, if one was named."""
        return self._now.custom if self._now is not None else None

    @property
    def config(self) -> Path | None:
        """The JSON file with its architecture, if one was named."""
        return self._now.config if self._now is not None else None

    @Slot()
    def ask(self) -> None:
        """Let the user choose a model file."""
        dialog = _ModelFileDialog(self._folder, self._window)
        dialog.fileSelected.connect(self.open)
        dialog.open()

    @Slot()
    def ask_more(self) -> None:
        """Let the user choose the file that is missing: own classes, or the architecture."""
        dialog = _MissingDialog(self._memory.needs, self._folder, self._window)
        dialog.fileSelected.connect(self._on_missing_file_selected)
        dialog.open()

    @Slot(str)
    def open(self, file: str) -> None:
        """Show the map of a file; what was read before is given up."""
        self._folder = str(Path(file).parent)
        self._begin(_Reading(Path(file)))

    def _begin(self, reading: _Reading) -> None:
        self.give_up()
        self._now = reading
        self._memory.open_file(file_begun(reading.path))
        thread = threading.Thread(
            target=self._main, args=(self._now,), name="kmonitor-model-file", daemon=True
        )
        self._threads = [each for each in self._threads if each.is_alive()]
        self._threads.append(thread)
        thread.start()

    @Slot()
    def give_up(self) -> None:
        """Read no more; the child process is ended within a fraction of a second."""
        if self._now is not None:
            self._now.is_given_up.set()

    def stop(self) -> None:
        """Give up, and wait for the threads."""
        self.give_up()
        for thread in self._threads:
            thread.join(_JOIN_S)

    def _main(self, reading: _Reading) -> None:
        try:
            self._read(reading)
        except Expected as exc:
            self.refused.emit(reading, exc.what, exc.remedy)
        except GivenUp:
            return
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("%s could not be described", reading.path)
            self.refused.emit(reading, f"{type(exc).__name__}: {exc}", "")

    def _read(self, reading: _Reading) -> None:
        source = source_of(str(reading.path), config=reading.config, custom=reading.custom)
        given_up = reading.is_given_up.is_set
        own = _without_framework(reading)
        if own is not None:
            self.described.emit(reading, [(1.0, own)], False)
        try:
            layouts = describe_scaled(source, SCALES, given_up)
        except Expected:
            if own is None:
                raise
            layouts = [(1.0, own)]
        self.described.emit(reading, layouts, True)

    @Slot(object, object, bool)
    def _on_self_described(
        self,
        reading: _Reading,
        layouts: list[tuple[float, ModelLayout]],
        is_whole: bool,
    ) -> None:
        if reading is self._now and not reading.is_given_up.is_set():
            self._memory.open_file(file_described(reading.path, layouts, is_whole=is_whole))

    @Slot(object, str, str)
    def _on_self_refused(self, reading: _Reading, what: str, remedy: str) -> None:
        if reading is self._now and not reading.is_given_up.is_set():
            refused = file_refused(reading.path, what, remedy)
            self._memory.open_file(refused, needs=missing_of(remedy))

    @Slot(str)
    def _on_missing_file_selected(self, file: str) -> None:
        now = self._now
        if now is None:
            return
        if self._memory.needs == "config":
            self._begin(_Reading(now.path, now.custom, Path(file)))
        else:
            self._begin(_Reading(now.path, Path(file), now.config))


def _without_framework(reading: _Reading) -> ModelLayout | None:
    """The model by the file alone, within a fraction of a second; None where it takes Keras."""
    if reading.path.suffix != ".keras" or reading.custom is not None:
        return None
    try:
        return layout_of_file(reading.path)
    except CannotTell:
        return None


class _ModelFileDialog(QFileDialog):
    def __init__(self, folder: str, parent: QWidget) -> None:
        super().__init__(parent, "", folder)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFileMode(QFileDialog.FileMode.ExistingFile)
        self._set_texts()

    def _set_texts(self) -> None:
        say_labels(self)
        self.setWindowTitle(self.tr("Open a model file"))
        models = self.tr("Models") + " (*.keras *.h5 *.hdf5 *.json)"
        self.setNameFilters([models, self.tr("All files") + " (*)"])


class _MissingDialog(QFileDialog):
    def __init__(self, needs: str, folder: str, parent: QWidget) -> None:
        super().__init__(parent, "", folder)
        self._needs = needs
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFileMode(QFileDialog.FileMode.ExistingFile)
        self._set_texts()

    def _set_texts(self) -> None:
        say_labels(self)
        if self._needs == "config":
            self.setWindowTitle(self.tr("The model's architecture, as to_json wrote it"))
            self.setNameFilters(["JSON (*.json)"])
        else:
            self.setWindowTitle(self.tr("The Python file with the model's classes"))
            self.setNameFilters(["Python (*.py)"])
