"""Questions that a thread of the hub has yet to answer: taken once each, and who waits is told."""

from dataclasses import dataclass

import msgspec

from kmonitor_agent.wire.messages.unions import ReplyPending, SeriesRequest, VerdictsRequest


@dataclass(eq=False, slots=True)
class PendingRequest:
    """One of them.

    Attributes:
        identity: Who asked.
        request: The question.
        n_events: Events of its run when it was asked; 0: not known.
        n_read: How many of them were read; written by the thread that answers.
        is_late: It was open already when those who wait were last told.
    """

    identity: bytes
    request: SeriesRequest | VerdictsRequest
    n_events: int
    n_read: int = 0
    is_late: bool = False


class PendingRequests:
    """Owned by the hub's main thread.

    Attributes:
        beat: Counts what the thread that answers gets done; written by that thread.
    """

    def __init__(self, most: int) -> None:
        """Args: `most`: So many at a time."""
        self.beat = 0
        self._most = most
        self._open: list[PendingRequest] = []

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether no more are taken."""
        return len(self._open) >= self._most

    def has(self, identity: bytes, request: msgspec.Struct) -> bool:
        """Whether it is open already: who waits asks again."""
        return any(each.identity == identity and each.request == request for each in self._open)

    def add(
        self, identity: bytes, query: SeriesRequest | VerdictsRequest, n_events: int
    ) -> PendingRequest:
        """Take a question."""
        request = PendingRequest(identity, query, n_events)
        self._open.append(request)
        return request

    def end(self, request: PendingRequest) -> None:
        """It was answered."""
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
