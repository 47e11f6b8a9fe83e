"""Garbage is collected on the main thread only."""

import gc

from PySide6.QtCore import QObject, QTimer, Slot

_INTERVAL_MS = 1000
_EVERY_FULL = 30


class GarbageTimer(QObject):
    """Collects from a timer of the main thread while automatic collection is off.

    A collection on another thread that meets a dropped plot ends the process: Qt objects must be
    deleted where they live.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rounds = 0
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        self._timer.start()

    def stop(self) -> None:
        """Leave collection to Python again."""
        self._timer.stop()
        gc.enable()

    @Slot()
    def _on_timer_timeout(self) -> None:
        self._rounds += 1
        young, _, _ = gc.get_count()
        if self._rounds % _EVERY_FULL == 0:
            gc.collect(1)
        elif young > gc.get_threshold()[0]:
            gc.collect(0)
