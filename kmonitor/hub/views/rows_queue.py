"""Requests for pages of rows that wait: a crowd that asks at once holds nobody up for long."""

from collections import deque
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.unions import RowsRequest

TURN_S: Final = 0.02
"""So long pages are answered before everybody else has a turn; one takes up to 5 ms."""

MOST_OF_ONE: Final = 8
"""Requests of one desktop that wait; of more the oldest goes, whose asker repeats it."""

_PAGE_ROWS: Final = 1000
_LEAST_ROWS: Final = 50


class RowsQueue:
    """Who asks is answered in turn, with the shorter a page the more of them wait.

    Owned by the hub's main thread.
    """

    def __init__(self, answer: Callable[[bytes, RowsRequest], None], clock: Clock) -> None:
        """Args: `answer`: Reads and sends one page. `clock`: When a turn is over."""
        self._answer = answer
        self._clock = clock
        self._waiting: dict[bytes, deque[RowsRequest]] = {}
        self._end_s = clock.monotonic_s() + TURN_S

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, identity: bytes, request: RowsRequest) -> None:
        """Answer a request, now if nobody waits and the turn is not over."""
        if not self._waiting and self._clock.monotonic_s() < self._end_s:
            self._answer(identity, request)
            return
        requests = self._waiting.setdefault(identity, deque(maxlen=MOST_OF_ONE))
        if request not in requests:
            requests.append(request)

    def serve(self) -> None:
        """Begin a turn: answer who waits, each once before anybody twice."""
        self._end_s = self._clock.monotonic_s() + TURN_S
        while self._waiting and self._clock.monotonic_s() < self._end_s:
            most = max(_LEAST_ROWS, _PAGE_ROWS // len(self._waiting))
            identity, requests = next(iter(self._waiting.items()))
            request = requests.popleft()
            del self._waiting[identity]
            if requests:
                self._waiting[identity] = requests  # behind all others
            self._answer(identity, replace(request, limit=min(request.limit, most)))

    def forget(self, identity: bytes) -> None:
        """Drop the requests of somebody who is gone."""
        self._waiting.pop(identity, None)
