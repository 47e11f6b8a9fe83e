"""Binds the window about a model file: inspects it, and measures what a load takes."""

import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal, Slot

from kmonitor.base.errors import Expected
from kmonitor.memory.model_files.description import GivenUp
from kmonitor.memory.model_files.inspection import ModelFile, inspect_file
from kmonitor.memory.model_files.load_cost import LoadCost, measure, possible_ways
from kmonitor.memory.model_files.target import source_of
from kmonitor.ui.memory.load_cost import LoadCostDesk
from kmonitor.ui.memory.model_file import FilePicture, file_picture, reading_file, refused_file
from kmonitor.ui.memory.qt.memory_map_controller import MemoryMapController
from kmonitor.ui.memory.qt.model_file import ModelFileWindow
from kmonitor.ui.memory.qt.model_file_opening import ModelFileOpening
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Look

_log = logging.getLogger(__name__)
_JOIN_S: Final = 5.0


class ModelFileController(QObject):
    """Opens model files, with one window about the last of them.

    That works on threads `kmonitor-load-cost`, one a task.

    Signals (from those threads, so connect to methods of QObjects only; each with the number of
    the window that it is for):
        inspected: What is in the file.
        not_inspected: Why that cannot be said, and what to do.
        progressed: How many processes have ended, and of how many.
        measured: What each way takes.
        not_measured: Why not, and what to do.
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
        look: Look,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._opening = ModelFileOpening(window, memory, self)
        memory.panel.details_requested.connect(self.open)
        self._look = look
        self._number = 0
        self._shown: ModelFileWindow | None = None
        self._desk = LoadCostDesk()
        self._found: ModelFile | FilePicture | None = None
        self._is_given_up = threading.Event()
        self._threads: list[threading.Thread] = []
        queued = Qt.ConnectionType.QueuedConnection
        self.inspected.connect(self._on_self_inspected, queued)
        self.not_inspected.connect(self._on_self_not_inspected, queued)
        self.progressed.connect(self._on_self_progressed, queued)
        self.measured.connect(self._on_self_measured, queued)
        self.not_measured.connect(self._on_self_not_measured, queued)

    @Slot()
    def open(self) -> None:
        """Show the window about the file that is looked at, or bring it up."""
        path = self._opening.path
        if path is None:
            return
        if self._shown is not None:
            self._shown.close()
        self._number += 1
        self._desk = LoadCostDesk()
        self._is_given_up = threading.Event()
        self._found = reading_file()
        shown = ModelFileWindow(self._look, path.name, self._window)
        shown.closed.connect(self._on_shown_closed)
        shown.cost.measure_requested.connect(self._on_cost_measure_requested)
        shown.cost.cancel_requested.connect(self._on_cost_cancel_requested)
        self._shown = shown
        self.refresh()
        shown.show()
        self._start(partial(self._inspect, self._number, path))

    @Slot()
    def refresh(self) -> None:
        """Show what is known, in the language in force."""
        if self._shown is None or self._found is None:
            return
        found = self._found
        picture = file_picture(found) if isinstance(found, ModelFile) else found
        self._shown.show_file(picture)
        self._shown.cost.show_picture(self._desk.picture())

    def stop(self) -> None:
        """Give up, also the opening of a file, and wait for the threads."""
        self._is_given_up.set()
        self._opening.stop()
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
        except Expected as exc:
            self.not_inspected.emit(number, exc.what, exc.remedy)
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("%s could not be inspected", path)
            self.not_inspected.emit(number, f"{type(exc).__name__}: {exc}", "")

    def _measure(self, number: int, path: Path, repeats: int, given_up: threading.Event) -> None:
        try:
            ways = possible_ways(path)
            source = source_of(str(path), config=self._opening.config, custom=self._opening.custom)
            costs = measure(
                path,
                source,
                ways,
                repeats=repeats,
                told=partial(self.progressed.emit, number),
                is_given_up=given_up.is_set,
            )
            self.measured.emit(number, costs)
        except GivenUp:
            return
        except Expected as exc:
            self.not_measured.emit(number, exc.what, exc.remedy)
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("the load of %s could not be measured", path)
            self.not_measured.emit(number, f"{type(exc).__name__}: {exc}", "")

    @Slot(int)
    def _on_cost_measure_requested(self, repeats: int) -> None:
        path = self._opening.path
        if path is None or self._desk.is_running:
            return
        self._desk.begin()
        self._is_given_up = threading.Event()
        self.refresh()
        self._start(partial(self._measure, self._number, path, repeats, self._is_given_up))

    @Slot()
    def _on_cost_cancel_requested(self) -> None:
        self._is_given_up.set()
        self._desk.give_up()
        self.refresh()

    @Slot()
    def _on_shown_closed(self) -> None:
        self._is_given_up.set()
        self._shown = None

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
    def _on_self_progressed(self, number: int, done: int, total: int) -> None:
        if number == self._number and self._desk.is_running:
            self._desk.progress(done, total)
            self.refresh()

    @Slot(int, object)
    def _on_self_measured(self, number: int, costs: list[LoadCost]) -> None:
        if number == self._number and self._desk.is_running:
            self._desk.finish(costs)
            self.refresh()

    @Slot(int, str, str)
    def _on_self_not_measured(self, number: int, what: str, remedy: str) -> None:
        if number == self._number and self._desk.is_running:
            self._desk.refuse(what, remedy)
            self.refresh()
