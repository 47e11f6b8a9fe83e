"""Keys that no control handled: they move between parts of the window, runs and charts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from kmonitor.ui.shell.qt.window import MainWindow

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.charts_controller import ChartsController

_OF_RUNS: Final = {Qt.Key.Key_Up.value: -1, Qt.Key.Key_Down.value: 1}


class RegionKeys(QObject):
    """Handles keys that no control handled; main thread only.

    Signals:
        run_stepped: Number of runs to move up (below 0) or down.
    """

    run_stepped = Signal(int)

    def __init__(self, window: MainWindow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._charts_controller: ChartsController | None = None
        window.key_left_over.connect(self._on_window_key_left_over)
        window.shortcut("next_region").activated.connect(self._on_next_activated)
        window.shortcut("previous_region").activated.connect(self._on_previous_activated)

    def attach_controller(self, controller: "ChartsController") -> None:
        self._charts_controller = controller

    def step(self, by: int) -> None:
        """Move the focus to the next or previous part of the window that can take it.

        Args:
            by: 1: next; -1: previous.
        """
        regions = [region for region in self._window.regions() if _first_in(region) is not None]
        if not regions:
            return
        at = _region_index(QApplication.focusWidget(), regions)
        start = -1 if at is None and by > 0 else at or 0
        first = _first_in(regions[(start + by) % len(regions)])
        if first is not None:
            first.setFocus(Qt.FocusReason.TabFocusReason)

    @Slot()
    def _on_next_activated(self) -> None:
        self.step(1)

    @Slot()
    def _on_previous_activated(self) -> None:
        self.step(-1)

    @Slot(QKeyEvent)
    def _on_window_key_left_over(self, event: QKeyEvent) -> None:
        if event.key() in _OF_RUNS:
            self.run_stepped.emit(_OF_RUNS[event.key()])
        elif self._charts_controller is not None:
            self._charts_controller.press_key(event)


def _region_index(widget: QWidget | None, regions: Sequence[QWidget]) -> int | None:
    """Index of the region that contains a widget; None: none does."""
    if widget is None:
        return None
    inside = (at for at, each in enumerate(regions) if each is widget or each.isAncestorOf(widget))
    return next(inside, None)


def _first_in(region: QWidget) -> QWidget | None:
    """First control of a region that the Tab key would reach; None if there is none."""
    if not region.isVisible():
        return None
    widget = region.nextInFocusChain()
    while widget is not None and widget is not region:
        takes_tab = bool(widget.focusPolicy().value & Qt.FocusPolicy.TabFocus.value)
        if takes_tab and region.isAncestorOf(widget) and widget.isVisible() and widget.isEnabled():
            return widget
        widget = widget.nextInFocusChain()
    return None
