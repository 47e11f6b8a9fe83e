"""Lets every widget take up the style sheet anew, a few at a time, so that the window is heard."""

import time
from typing import Final

import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication, QWidget

_SLICE_S: Final = 0.010
"""A widget takes 0.06 ms, hence some 160 of them: those that a usual window shows."""

_HIDDEN_SLICE_S: Final = 0.004
"""Beside all that is painted then."""


class Restyling(QObject):
    """What is shown comes first, and is painted when all of it is done; main thread only.

    Signals (main thread):
        shown_restyled: What is shown has taken it up and is about to be painted. Within `begin`
            where there is little to do.
    """

    shown_restyled = Signal()

    def __init__(self, app: QApplication, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._shown: list[QWidget] = []
        self._hidden: list[QWidget] = []
        self._held: list[QWidget] = []
        self._is_told = True
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._on_timer_timeout)

    def begin(self) -> None:
        """From now on; what was under way begins anew."""
        # Those that were never polished are when they are first shown.
        polished = Qt.WidgetAttribute.WA_WState_Polished
        found = [each for each in self._app.allWidgets() if each.testAttribute(polished)]
        self._shown = [each for each in found if each.isVisible()]
        self._hidden = [each for each in found if not each.isVisible()]
        self._is_told = False
        _restyle(self._shown, _SLICE_S)
        if self._shown:
            self._hold()
        else:
            self._tell()
        self._timer.start()

    def _tell(self) -> None:
        self._is_told = True
        self.shown_restyled.emit()
        for window in self._held:
            if shiboken6.isValid(window):
                window.setUpdatesEnabled(True)
        self._held = []
        for window in self._app.topLevelWidgets():
            window.update()

    def _hold(self) -> None:
        # Nobody is shown a window that is half dark and half light.
        if not self._held:
            windows = self._app.topLevelWidgets()
            self._held = [each for each in windows if each.isVisible() and each.updatesEnabled()]
            for window in self._held:
                window.setUpdatesEnabled(False)

    @Slot()
    def _on_timer_timeout(self) -> None:
        if self._shown:
            _restyle(self._shown, _SLICE_S)
        elif not self._is_told:
            self._tell()
        elif self._hidden:
            _restyle(self._hidden, _HIDDEN_SLICE_S)
        else:
            self._timer.stop()


def _restyle(widgets: list[QWidget], slice_s: float) -> None:
    """Take widgets from the list until it is empty or the time is up."""
    # By what this thread worked: on a busy machine no more passes are needed.
    end_s = time.thread_time() + slice_s
    while widgets and time.thread_time() < end_s:
        widget = widgets.pop()
        if shiboken6.isValid(widget):
            widget.style().polish(widget)
