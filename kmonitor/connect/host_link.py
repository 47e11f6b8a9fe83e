"""A hub on another host, followed as one on this machine is: a follower, and a way kept open."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kmonitor.connect.follower import HubFollower, News, WayTold
from kmonitor.connect.host_book import RememberedHost
from kmonitor.connect.host_connection import HostKeeper
from kmonitor_agent.wire.local.sockets import ipc

if TYPE_CHECKING:
    from collections import deque


class HostLink:
    """What `HubFollower` is for this machine's hub; two threads, `kmonitor-follower` and -`host`.

    While the way is closed the follower rests, and its news is what the keeper says of the way.
    """

    def __init__(self, host: RememberedHost, local: Path, *, wake: Callable[[], None]) -> None:
        """Nothing happens before `start`.

        Args:
            host: Which one, and what is remembered of it.
            local: Where its hub's socket is to appear here.
            wake: See `HubFollower`.
        """
        self._follower = HubFollower(
            ipc(local), wake=wake, on_link=self._on_link, place=f"on {host.address}"
        )
        self._follower.hold("not connected yet")
        self._keeper = HostKeeper(host, local, self._on_way)

    @property
    def inbox(self) -> "deque[News]":
        """What came, oldest first; the reader takes from the left."""
        return self._follower.inbox

    def start(self) -> None:
        """Start connecting and following."""
        self._follower.start()
        self._keeper.start()

    def stop(self) -> None:
        """End threads and ssh; hub and trainings there go on."""
        self._keeper.stop()
        self._follower.stop()

    def ask(self, message: msgspec.Struct) -> int:
        """See `HubFollower.ask`."""
        return self._follower.ask(message)

    def retry_now(self) -> None:
        """Do not wait for the next attempt; from any thread."""
        self._keeper.retry_now()
        self._follower.retry_now()

    def drained(self) -> None:
        """See `HubFollower.drained`."""
        self._follower.drained()

    def _on_way(self, told: WayTold) -> None:
        if told.stage == "closed":
            self._follower.hold(told.what or "the connection ended")
        self._follower.tell(told)
        if told.stage == "open":
            self._follower.release()

    def _on_link(self, is_reached: bool) -> None:  # noqa: FBT001 - as the follower calls it
        if is_reached:
            self._keeper.reached()
        else:
            self._keeper.missed()
