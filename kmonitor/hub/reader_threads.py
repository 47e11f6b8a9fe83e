"""Threads of the hub that read the database: their main, and the requests that they have open."""

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from kmonitor.hub.faults import EXTERNAL_FAULTS, fault_text
from kmonitor.hub.log import LOG
from kmonitor.hub.store.connection import StoreConnection
from kmonitor_agent.wire.messages.unions import ReplyPending, SeriesRequest, VerdictsRequest

_READ_AGAIN_S: Final = 1.0


def run_reader_thread(
    what: str,
    open_reader: Callable[[], StoreConnection],
    is_stopping: threading.Event,
    turn: Callable[[StoreConnection], None],
) -> None:
    """Main of a thread that reads the database: one turn after the other until it has to stop.

    An exception in a turn ends neither the thread nor its work: the next turn has a new
    connection.

    Args:
        what: Subject of its reading, for the log.
        is_stopping: Set when the thread has to stop.
    """
    last_text = ""
    while not is_stopping.is_set():
        try:
            with closing(open_reader()) as connection:
                while not is_stopping.is_set():
                    turn(connection)
        except Exception as exc:  # noqa: BLE001 - a thread's main
            text = f"{what}: {fault_text(exc)}"
            if text != last_text:
                is_fault = not isinstance(exc, EXTERNAL_FAULTS)
                LOG.warning("%s; trying again", text, exc_info=is_fault)
            last_text = text
            is_stopping.wait(_READ_AGAIN_S)


@dataclass(eq=False, slots=True)
class PendingRequest:
    """A request without a reply yet.

    Attributes:
        identity: Identity of the sender.
        n_events: Number of events of its run at the time of the request; 0: unknown.
        n_read: Number of them that were read; written by the thread that answers.
        is_late: True if it was open already at the last `late_replies`.
    """

    identity: bytes
    request: SeriesRequest | VerdictsRequest
    n_events: int
    n_read: int = 0
    is_late: bool = False


class PendingRequests:
    """Requests to one thread, each taken once; senders that wait get `ReplyPending`.

    Owned by the hub's main thread.

    Attributes:
        beat: Counts the progress of the thread that answers; written by that thread.
    """

    def __init__(self, most: int) -> None:
        """Args: `most`: maximum number of open requests."""
        self.beat = 0
        self._most = most
        self._open: list[PendingRequest] = []

    def __len__(self) -> int:
        return len(self._open)

    def take(
        self,
        identity: bytes,
        request: SeriesRequest | VerdictsRequest,
        n_events: int,
        start: Callable[[PendingRequest], None],
    ) -> bool:
        """Take a request; False when too many are open.

        Args:
            request: The request; a waiting client repeats it, which changes nothing.
            n_events: Number of events of its run; 0: unknown.
            start: Hands it to the thread.
        """
        if any(each.identity == identity and each.request == request for each in self._open):
            return True
        if len(self._open) >= self._most:
            return False
        pending = PendingRequest(identity, request, n_events)
        self._open.append(pending)
        start(pending)
        return True

    def end(self, request: PendingRequest) -> None:
        """Close a request that was answered."""
        self._open.remove(request)

    def late_replies(self) -> list[tuple[bytes, ReplyPending]]:
        """(routing id, message) for each that was open at the last call too."""
        replies = [(each.identity, self._pending(each)) for each in self._open if each.is_late]
        for each in self._open:
            each.is_late = True
        return replies

    def _pending(self, request: PendingRequest) -> ReplyPending:
        of = request.n_events
        n_read = min(request.n_read, of)
        return ReplyPending(
            request_id=request.request.request_id, done=n_read, of=of, beat=self.beat
        )
