"""Passes messages from a follower's thread to the window: one wake-up at a time, in a budget."""

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from kmonitor.connect.follower import Connected, Disconnected, HubStatusChanged, News, RouteChanged
from kmonitor.ui.hosts.hosts import HERE
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.hub_address import SCHEME

if TYPE_CHECKING:
    from collections import deque

_BUDGET_S = 0.008


class FollowedHub(Protocol):
    """A followed hub, here or on another host: `HubFollower`, `HostFollower`."""

    @property
    def inbox(self) -> "deque[News]":
        """Messages that have arrived, oldest first."""
        ...

    def start(self) -> None: ...

    def stop(self) -> None:
        """Stop all threads."""
        ...

    def send_request(self, message: msgspec.Struct) -> int:
        """Send a request; returns the request number that its replies carry."""
        ...

    def retry_now(self) -> None:
        """Retry without waiting for the next attempt."""
        ...

    def drained(self) -> None:
        """Report that the inbox is empty, so that the next message wakes the window again."""
        ...


class HubBridge(QObject):
    """Owns a follower and its threads; everything else here runs on the main thread.

    Signals:
        drained: Messages were processed; main thread.
        link_changed: The hub was connected (True) or lost (False); main thread.
        route_changed: State of the route to the host; main thread.
        _woken: From the follower's thread; queued to the main one.

    Attributes:
        at: Address of the hub's host; `HERE`: this machine.
        takers: Receivers of each reply before the workspace; one that returns True consumes it.
    """

    drained = Signal()
    link_changed = Signal(bool)
    route_changed = Signal(str, object)
    _woken = Signal()

    def __init__(
        self,
        make_follower: Callable[[Callable[[], None]], FollowedHub],
        parent: QObject | None = None,
        *,
        at: str = HERE,
    ) -> None:
        """Does nothing before `start`.

        Args:
            make_follower: Creates the follower, given the function that wakes this bridge.
            at: See `at` of the class.
        """
        super().__init__(parent)
        self.at = at
        self.takers: list[Callable[[msgspec.Struct], bool]] = []
        self._workspace: Workspace | None = None
        self._is_started = False
        self._follower = make_follower(self._emit_woken)
        self._woken.connect(self._on_self_woken, Qt.ConnectionType.QueuedConnection)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(0)
        self._rest.timeout.connect(self._on_self_woken)

    def start(self, workspace: Workspace) -> None:
        """Start following; messages go to this workspace."""
        self._workspace = workspace
        self._is_started = True
        workspace.attach_hub(self._follower.send_request, self.at)
        self._follower.start()

    def stop(self) -> None:
        """Stop the follower's threads."""
        self._rest.stop()
        if self._workspace is not None and self._is_started:
            self._is_started = False
            self._workspace.detach_hub(self.at)
            self._follower.stop()

    def send_request(self, message: msgspec.Struct) -> int:
        """Send a message to the hub; returns the request number that its reply carries."""
        return self._follower.send_request(message)

    @Slot()
    def retry_now(self) -> None:
        self._follower.retry_now()

    def _emit_woken(self) -> None:
        self._woken.emit()

    @Slot()
    def _on_self_woken(self) -> None:
        workspace = self._workspace
        if workspace is None or not self._is_started:
            return
        end = time.monotonic() + _BUDGET_S
        inbox = self._follower.inbox
        while inbox:
            self._apply_news(workspace, inbox.popleft())
            if time.monotonic() > end:
                break
        if inbox:
            self._rest.start()
        else:
            self._follower.drained()
        self.drained.emit()

    def _apply_news(self, workspace: Workspace, news: object) -> None:
        match news:
            case Connected():
                workspace.connected(news.hub, self.at)
                self.link_changed.emit(True)
            case HubStatusChanged():
                workspace.condition(news.hub, self.at)
            case Disconnected():
                workspace.disconnected(
                    news.why,
                    retry_in_s=math.inf if news.retry_in_s is None else news.retry_in_s,
                    since_wall_s=news.since_wall_s,
                    at=self.at,
                )
                if self.at.startswith(SCHEME):
                    # Nothing else reports its route: it is the network itself.
                    workspace.set_route(
                        self.at, "closed", news.why, "", retry_in_s=news.retry_in_s
                    )
                self.link_changed.emit(False)
            case RouteChanged():
                workspace.set_route(
                    self.at, news.stage, news.what, news.remedy, retry_in_s=news.retry_in_s
                )
                self.route_changed.emit(self.at, news)
            case msgspec.Struct():
                if not any(takes(news) for takes in self.takers):
                    workspace.apply_message(news, self.at)
            case _:
                return
