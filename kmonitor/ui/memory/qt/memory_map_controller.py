"""Binds the page of the memory map: its subject, questions and answers."""

import time
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from kmonitor.ui.memory.batch_curve import batch_curve, peak_reduction_rows
from kmonitor.ui.memory.layers import map_rows, map_tiles, parts_legend
from kmonitor.ui.memory.map_estimator import MapEstimator, map_page_state
from kmonitor.ui.memory.qt.memory_map_view import MemoryMapPanel
from kmonitor.ui.memory.run_subject import run_device_split, run_subject, with_measured
from kmonitor.ui.memory.subjects import MapSubject, Missing
from kmonitor.ui.memory.totals import map_totals_state
from kmonitor.ui.memory.what_if import (
    batch_choices,
    device_limit_bytes,
    what_if_controls_state,
)
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.workspace.workspace import Workspace

_BUDGET_S: Final = 0.008
"""Time per turn of the event loop, seconds: curve, limit and advice take hundreds of estimates."""


class MemoryMapController(QObject):
    """Refreshed by the window's controller; main thread only.

    Signals:
        left: The map of a model file was closed.

    Attributes:
        map_estimator: Computes the answers for the page.
        needs: File that would complete the displayed one.
        work_timer: Active while answers remain to be computed.
    """

    left = Signal()

    def __init__(
        self, window: MainWindow, workspace: Workspace, theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._runs = workspace
        self.map_estimator = MapEstimator()
        self.panel = MemoryMapPanel(theme)
        self._by = "layer"
        self._file: MapSubject | None = None
        self.needs: Missing = ""
        self.work_timer = QTimer(self, interval=0)
        self.work_timer.timeout.connect(self._on_work_timeout)
        window.add_page(self.panel)
        self._connect()

    @property
    def is_open(self) -> bool:
        return not self.panel.isHidden()

    @Slot()
    def open(self) -> None:
        self._leave_file()
        self._show_page()

    def open_file(self, subject: MapSubject, *, needs: Missing = "") -> None:
        """Show a model file's map, or the progress of reading the file.

        Args:
            needs: File that would complete this one.
        """
        self._file = with_measured(self._runs, subject)
        self.needs = needs
        if self.is_open:
            self.refresh()
        else:
            self._show_page()

    @Slot()
    def close(self) -> None:
        """Show the charts again."""
        self.work_timer.stop()
        self._leave_file()
        self._window.show_page(None)
        self._window.leave_focus_alone()

    def refresh(self) -> None:
        if not self.is_open:
            return
        run = self._runs.run_store.current() if self._file is None else None
        subject = run_subject(self._runs, run) if run is not None else self._file
        if subject is None:
            self.map_estimator = MapEstimator()
        elif self.map_estimator.show(subject):
            self._begin()
        page = map_page_state(self.map_estimator)
        self.panel.show_page(page, needs=self.needs)
        if run is not None and self.panel.view == "device":
            self.panel.split.show_state(run_device_split(self._runs, run, self.map_estimator))

    @Slot()
    def refresh_texts(self) -> None:
        """Rewrite every size in the units in force."""
        if self.map_estimator.subject is not None:
            self._show_map()
        self.refresh()

    def _leave_file(self) -> None:
        if self._file is not None:
            self._file = None
            self.needs = ""
            self.left.emit()

    def _show_page(self) -> None:
        self._window.show_page(self.panel)
        self.refresh()
        self.panel.focus_first()

    def _begin(self) -> None:
        """Show the map itself; the rest is computed when the event loop is idle."""
        self._show_map()
        self.work_timer.start()

    def _show_map(self) -> None:
        estimator = self.map_estimator
        found = estimator.map_estimate.found
        subject = estimator.subject
        layout = estimator.layout
        self.panel.if_sidebar.controls.show_state(
            what_if_controls_state(estimator.subject, estimator.what_if)
        )
        if found is not None and subject is not None and layout is not None:
            limit = device_limit_bytes(subject, estimator.what_if)
            totals = map_totals_state(estimator.map_estimate, subject, limit)
            self.panel.totals.show_state(totals)
            self.panel.icicle.show_tiles(map_tiles(found))
            table = map_rows(found, has_calls=bool(layout.calls), by=self._by)
            self.panel.show_layers(table, parts_legend())
        self._show_rest()

    def _show_rest(self) -> None:
        answer = self.map_estimator.map_estimate
        self.panel.if_sidebar.show_curve(batch_curve(self.map_estimator))
        self.panel.if_sidebar.show_advice(
            peak_reduction_rows(answer.advice), is_whole=answer.is_whole
        )

    def _connect(self) -> None:
        panel = self.panel
        controls = self.panel.if_sidebar.controls
        panel.close_requested.connect(self.close)
        panel.view_chosen.connect(self._on_panel_view_chosen)
        panel.sort_requested.connect(self._on_panel_sort_requested)
        controls.batch_moved.connect(self._on_controls_batch_moved)
        controls.size_moved.connect(self._on_controls_size_moved)
        controls.menu_chosen.connect(self._on_controls_menu_chosen)
        controls.reset_requested.connect(self._on_controls_reset_requested)
        self._window.shortcut("memory_map").activated.connect(self.open)

    def _choose(self, **changed: object) -> None:
        self.map_estimator.choose(**changed)
        self._begin()

    @Slot()
    def _on_work_timeout(self) -> None:
        ends_s = time.monotonic() + _BUDGET_S
        while time.monotonic() < ends_s:
            if not self.map_estimator.step():
                self.work_timer.stop()
                self._show_rest()
                return

    @Slot(str)
    def _on_panel_view_chosen(self, view: str) -> None:
        del view
        self.refresh()

    @Slot(str)
    def _on_panel_sort_requested(self, key: str) -> None:
        self._by = "layer" if key == self._by else key
        self.panel.show_order(self._by)
        self._show_map()

    @Slot(int)
    def _on_controls_batch_moved(self, at: int) -> None:
        if self.map_estimator.subject is not None:
            self._choose(batch=batch_choices(self.map_estimator.subject)[at])

    @Slot(int)
    def _on_controls_size_moved(self, at: int) -> None:
        self._choose(size=at)

    @Slot(str, str)
    def _on_controls_menu_chosen(self, name: str, key: str) -> None:
        if name == "limit":
            self._choose(limit_bytes=int(key))
        else:
            self._choose(**{name: key})

    @Slot()
    def _on_controls_reset_requested(self) -> None:
        self.map_estimator.reset()
        self._begin()
