"""Draws the window into a file once its data are shown."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QBuffer, QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from kmonitor.base.errors import UserError

_WAITS_S: Final = 20.0
_SETTLES_S: Final = 1.5
_POLL_MS: Final = 100


class ScreenshotTimer(QObject):
    """Waits until the window's data are stable, or for 20 s; main thread only.

    Signals:
        due: The screenshot should be taken now.
    """

    due = Signal()

    def __init__(self, is_settled: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_settled = is_settled
        self._started_s = 0.0
        self._settled_s: float | None = None
        self._timer = QTimer(self, interval=_POLL_MS)
        self._timer.timeout.connect(self._on_timer_timeout)

    @property
    def has_settled(self) -> bool:
        """True if the window had data to show."""
        return self._settled_s is not None

    def start(self) -> None:
        self._started_s = time.monotonic()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    @Slot()
    def _on_timer_timeout(self) -> None:
        now_s = time.monotonic()
        if self._settled_s is None and self._is_settled():
            self._settled_s = now_s
        has_settled = self._settled_s is not None and now_s - self._settled_s > _SETTLES_S
        if has_settled or now_s - self._started_s > _WAITS_S:
            self.stop()
            self.due.emit()


class NoScreenshot(UserError):
    """A screenshot was requested, and is missing or shows no data."""


def save_screenshot(widget: QWidget, path: Path) -> None:
    """Draw a widget into a PNG file.

    Raises:
        OSError: The file cannot be written.
    """
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    widget.grab().save(buffer, "PNG")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written by Python, whose errors say why.
    path.write_bytes(buffer.data().data())
