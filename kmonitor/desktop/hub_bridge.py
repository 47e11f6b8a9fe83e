"""From the follower's thread into the window: one wake-up at a time, drained within a budget."""

import time

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from kmonitor.connect.follower import Connected, Disconnected, HubFollower
from kmonitor.presenters.desk import Desk

_BUDGET_S = 0.008


class HubBridge(QObject):
    """Owns the follower and its thread; everything else here runs on the main thread.

    Signals:
        drained: Something was taken in; main thread.
        link_changed: The hub was reached (True) or is not (False); main thread.
        _woken: From the follower's thread; queued to the main one.
    """

    drained = Signal()
    link_changed = Signal(bool)
    _woken = Signal()

    def __init__(self, endpoint: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._desk: Desk | None = None
        self._is_started = False
        self._follower = HubFollower(endpoint, wake=self._wake)
        self._woken.connect(self._on_self_woken, Qt.ConnectionType.QueuedConnection)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(0)
        self._rest.timeout.connect(self._on_self_woken)

    def start(self, desk: Desk) -> None:
        """Start following; what comes goes to this desk."""
        self._desk = desk
        self._is_started = True
        self._follower.start()

    def stop(self) -> None:
        """End the follower's thread."""
        self._rest.stop()
        if self._is_started:
            self._is_started = False
            self._follower.stop()

    def ask(self, message: msgspec.Struct) -> int:
        """Send a message to the hub; returns the number of its answer."""
        return self._follower.ask(message)

    @Slot()
    def retry_now(self) -> None:
        """Do not wait for the next attempt."""
        self._follower.retry_now()

    def _wake(self) -> None:
        self._woken.emit()

    @Slot()
    def _on_self_woken(self) -> None:
        desk = self._desk
        if desk is None or not self._is_started:
            return
        end = time.monotonic() + _BUDGET_S
        inbox = self._follower.inbox
        while inbox:
            self._take(desk, inbox.popleft())
            if time.monotonic() > end:
                break
        if inbox:
            self._rest.start()
        else:
            self._follower.drained()
        self.drained.emit()

    def _take(self, desk: Desk, news: object) -> None:
        match news:
            case Connected():
                desk.connected(news.hub)
                self.link_changed.emit(True)
            case Disconnected():
                desk.disconnected(
                    news.why, retry_in_s=news.retry_in_s, since_wall_s=news.since_wall_s
                )
                self.link_changed.emit(False)
            case msgspec.Struct():
                desk.take(news)
            case _:
                return
