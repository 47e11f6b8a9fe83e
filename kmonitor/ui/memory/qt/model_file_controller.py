"""Opens model files: their memory map, their content, and the cost of loading them.

Threads do the work and emit signals of these objects; slots run on the main thread.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QStandardPaths, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from kmonitor.base.errors import UserError
from kmonitor.memory.model_files.description import (
    DescriptionCancelled,
    describe_scaled,
    model_source_of,
)
from kmonitor.memory.model_files.file_layout import layout_of_file
from kmonitor.memory.model_files.inspection import ModelFile, inspect_file
from kmonitor.memory.model_files.load_cost import LoadCost, measure, possible_methods
from kmonitor.memory.model_files.output_shapes import CannotTell
from kmonitor.ui.memory.load_cost import LoadCostStore
from kmonitor.ui.memory.model_file import (
    ModelFileState,
    model_file_state,
    reading_file,
    refused_file,
)
from kmonitor.ui.memory.qt.memory_map_controller import MemoryMapController
from kmonitor.ui.memory.qt.model_file_window import ModelFileWindow
from kmonitor.ui.memory.subjects import (
    SCALES,
    file_described,
    file_loading,
    file_refused,
    missing_of,
)
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.widgets.dialogs import translate_labels
from kmonitor_agent.wire.messages.model_layout import ModelLayout

_log = logging.getLogger(__name__)
_JOIN_S: Final = 5.0


class ModelFileController(QObject):
    """Opens model files, and one window for the last one.

    Inspects and measures on threads `kmonitor-load-cost`, one per task.

    Signals (from those threads, so connect to methods of QObjects only; each with the number of
    the window that requested the work):
        inspected: Content of the file.
        not_inspected: Reason why the file cannot be read, and the remedy.
        progressed: Number of ended processes, and of all processes.
        measured: Costs of each way to load the file.
        not_measured: Reason why nothing was measured, and the remedy.
    """

    inspected = Signal(int, object)
    not_inspected = Signal(int, str, str)
    progressed = Signal(int, int, int)
    measured = Signal(int, object)
    not_measured = Signal(int, str, str)

    def __init__(
        self,
        window: MainWindow,
        memory: MemoryMapController,
        theme: Theme,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._window = window
        self.file_opener = ModelFileOpener(window, memory, self)
        memory.panel.details_requested.connect(self.open)
        self._theme = theme
        self._number = 0
        self.shown: ModelFileWindow | None = None
        self._cost_store = LoadCostStore()
        self._found: ModelFile | ModelFileState | None = None
        self._cancelled = threading.Event()
        self._threads: list[threading.Thread] = []
        queued = Qt.ConnectionType.QueuedConnection
        self.inspected.connect(self._on_self_inspected, queued)
        self.not_inspected.connect(self._on_self_not_inspected, queued)
        self.progressed.connect(self._on_self_progressed, queued)
        self.measured.connect(self._on_self_measured, queued)
        self.not_measured.connect(self._on_self_not_measured, queued)

    @Slot()
    def open(self) -> None:
        """Open the window for the current file, or raise it."""
        path = self.file_opener.path
        if path is None:
            return
        if self.shown is not None:
            self.shown.close()
        self._number += 1
        self._cost_store = LoadCostStore()
        self._cancelled = threading.Event()
        self._found = reading_file()
        shown = ModelFileWindow(self._theme, path.name, self._window)
        shown.closed.connect(self._on_shown_closed)
        shown.cost.measure_requested.connect(self._on_cost_measure_requested)
        shown.cost.cancel_requested.connect(self._on_cost_cancel_requested)
        self.shown = shown
        self.refresh()
        shown.show()
        self._start(partial(self._inspect, self._number, path))

    @Slot()
    def refresh(self) -> None:
        """Update the window, in the language in force."""
        if self.shown is None or self._found is None:
            return
        found = self._found
        state = model_file_state(found) if isinstance(found, ModelFile) else found
        self.shown.show_file(state)
        self.shown.cost.show_state(self._cost_store.state())

    def stop(self) -> None:
        """Cancel all work, including the opening of a file, and wait for the threads."""
        self._cancelled.set()
        self.file_opener.stop()
        for thread in self._threads:
            thread.join(_JOIN_S)

    def _start(self, task: Callable[[], None]) -> None:
        self._threads = [each for each in self._threads if each.is_alive()]
        thread = threading.Thread(target=task, name="kmonitor-load-cost", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _inspect(self, number: int, path: Path) -> None:
        try:
            self.inspected.emit(number, inspect_file(path))
        except UserError as exc:
            self.not_inspected.emit(number, exc.what, exc.remedy)
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("%s could not be inspected", path)
            self.not_inspected.emit(number, f"{type(exc).__name__}: {exc}", "")

    def _measure(self, number: int, path: Path, repeats: int, cancelled: threading.Event) -> None:
        try:
            methods = possible_methods(path)
            source = model_source_of(
                str(path), config=self.file_opener.config, custom=self.file_opener.custom
            )
            costs = measure(
                path,
                source,
                methods,
                repeats=repeats,
                on_progress=partial(self.progressed.emit, number),
                is_cancelled=cancelled.is_set,
            )
            self.measured.emit(number, costs)
        except DescriptionCancelled:
            return
        except UserError as exc:
            self.not_measured.emit(number, exc.what, exc.remedy)
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("the cost of loading %s could not be measured", path)
            self.not_measured.emit(number, f"{type(exc).__name__}: {exc}", "")

    @Slot(int)
    def _on_cost_measure_requested(self, repeats: int) -> None:
        path = self.file_opener.path
        if path is None or self._cost_store.is_running:
            return
        self._cost_store.begin()
        self._cancelled = threading.Event()
        self.refresh()
        self._start(partial(self._measure, self._number, path, repeats, self._cancelled))

    @Slot()
    def _on_cost_cancel_requested(self) -> None:
        self._cancelled.set()
        self._cost_store.cancel()
        self.refresh()

    @Slot()
    def _on_shown_closed(self) -> None:
        self._cancelled.set()
        self.shown = None

    @Slot(int, object)
    def _on_self_inspected(self, number: int, found: ModelFile) -> None:
        if number == self._number:
            self._found = found
            self.refresh()

    @Slot(int, str, str)
    def _on_self_not_inspected(self, number: int, what: str, remedy: str) -> None:
        if number == self._number:
            self._found = refused_file(what, remedy)
            self.refresh()

    @Slot(int, int, int)
    def _on_self_progressed(self, number: int, n_done: int, total: int) -> None:
        if number == self._number and self._cost_store.is_running:
            self._cost_store.progress(n_done, total)
            self.refresh()

    @Slot(int, object)
    def _on_self_measured(self, number: int, costs: list[LoadCost]) -> None:
        if number == self._number and self._cost_store.is_running:
            self._cost_store.finish(costs)
            self.refresh()

    @Slot(int, str, str)
    def _on_self_not_measured(self, number: int, what: str, remedy: str) -> None:
        if number == self._number and self._cost_store.is_running:
            self._cost_store.refuse(what, remedy)
            self.refresh()


@dataclass(slots=True)
class ModelReading:
    """A file that a thread reads."""

    path: Path
    custom: Path | None = None
    config: Path | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)


class ModelFileOpener(QObject):
    """Describes a chosen file and shows its memory map.

    A thread `kmonitor-model-file` reads each file; a child process builds the model.

    Signals (from that thread, so connect to methods of QObjects only):
        described: The reading, its layouts, and True if they are complete.
        refused: The reading, the reason why there is no map, and the remedy.
    """

    described = Signal(object, object, bool)
    refused = Signal(object, str, str)

    def __init__(
        self, window: MainWindow, memory: MemoryMapController, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._memory = memory
        self.reading: ModelReading | None = None
        self._threads: list[threading.Thread] = []
        documents = QStandardPaths.StandardLocation.DocumentsLocation
        self._folder = QStandardPaths.writableLocation(documents)
        self.described.connect(self._on_self_described, Qt.ConnectionType.QueuedConnection)
        self.refused.connect(self._on_self_refused, Qt.ConnectionType.QueuedConnection)
        window.header.model_file_requested.connect(self.choose_file)
        window.shortcut("model_file").activated.connect(self.choose_file)
        memory.panel.file_requested.connect(self.choose_file)
        memory.panel.missing_requested.connect(self.choose_missing_file)
        memory.left.connect(self.cancel)

    @property
    def path(self) -> Path | None:
        """File opened last."""
        return self.reading.path if self.reading is not None else None

    @property
    def custom(self) -> Path | None:
        """Python file with the model's classes, if the user chose one."""
        return self.reading.custom if self.reading is not None else None

    @property
    def config(self) -> Path | None:
        """JSON file with the model's architecture, if the user chose one."""
        return self.reading.config if self.reading is not None else None

    @Slot()
    def choose_file(self) -> None:
        dialog = _ModelFileDialog(self._folder, self._window)
        dialog.fileSelected.connect(self.open)
        dialog.open()

    @Slot()
    def choose_missing_file(self) -> None:
        """Let the user choose the missing file: own classes, or the architecture."""
        dialog = _MissingDialog(self._memory.needs, self._folder, self._window)
        dialog.fileSelected.connect(self._on_missing_file_selected)
        dialog.open()

    @Slot(str)
    def open(self, file: str) -> None:
        """Show the map of a file; earlier readings are cancelled."""
        self._folder = str(Path(file).parent)
        self._begin(ModelReading(Path(file)))

    def _begin(self, reading: ModelReading) -> None:
        self.cancel()
        self.reading = reading
        self._memory.open_file(file_loading(reading.path))
        thread = threading.Thread(
            target=self._main, args=(self.reading,), name="kmonitor-model-file", daemon=True
        )
        self._threads = [each for each in self._threads if each.is_alive()]
        self._threads.append(thread)
        thread.start()

    @Slot()
    def cancel(self) -> None:
        """Cancel the reading; its child process ends within a fraction of a second."""
        if self.reading is not None:
            self.reading.cancelled.set()

    def stop(self) -> None:
        """Cancel all work, and wait for the threads."""
        self.cancel()
        for thread in self._threads:
            thread.join(_JOIN_S)

    def _main(self, reading: ModelReading) -> None:
        try:
            self._read(reading)
        except UserError as exc:
            self.refused.emit(reading, exc.what, exc.remedy)
        except DescriptionCancelled:
            return
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("%s could not be analyzed", reading.path)
            self.refused.emit(reading, f"{type(exc).__name__}: {exc}", "")

    def _read(self, reading: ModelReading) -> None:
        source = model_source_of(str(reading.path), config=reading.config, custom=reading.custom)
        is_cancelled = reading.cancelled.is_set
        own = _without_framework(reading)
        if own is not None:
            self.described.emit(reading, [(1.0, own)], False)
        try:
            layouts = describe_scaled(source, SCALES, is_cancelled)
        except UserError:
            if own is None:
                raise
            layouts = [(1.0, own)]
        self.described.emit(reading, layouts, True)

    @Slot(object, object, bool)
    def _on_self_described(
        self,
        reading: ModelReading,
        layouts: list[tuple[float, ModelLayout]],
        is_whole: bool,
    ) -> None:
        if reading is self.reading and not reading.cancelled.is_set():
            self._memory.open_file(file_described(reading.path, layouts, is_whole=is_whole))

    @Slot(object, str, str)
    def _on_self_refused(self, reading: ModelReading, what: str, remedy: str) -> None:
        if reading is self.reading and not reading.cancelled.is_set():
            refused = file_refused(reading.path, what, remedy)
            self._memory.open_file(refused, needs=missing_of(remedy))

    @Slot(str)
    def _on_missing_file_selected(self, file: str) -> None:
        reading = self.reading
        if reading is None:
            return
        if self._memory.needs == "config":
            self._begin(ModelReading(reading.path, reading.custom, Path(file)))
        else:
            self._begin(ModelReading(reading.path, Path(file), reading.config))


def _without_framework(reading: ModelReading) -> ModelLayout | None:
    """Model from the file alone, within a fraction of a second; None if that needs Keras."""
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
        translate_labels(self)
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
        translate_labels(self)
        if self._needs == "config":
            self.setWindowTitle(self.tr("Model architecture (written by to_json)"))
            self.setNameFilters(["JSON (*.json)"])
        else:
            self.setWindowTitle(self.tr("The Python file with the model's classes"))
            self.setNameFilters(["Python (*.py)"])
