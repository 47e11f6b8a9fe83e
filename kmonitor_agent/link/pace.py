"""How much may be sent now: the window, the batch size, and the search for a refused event."""

from typing import Final

from kmonitor_agent.wire.messages.version import MAX_BATCH_EVENTS, MAX_WINDOW_EVENTS


class Pace:
    """Numbers only; the sender asks before each batch.

    Attributes:
        next_seq: First number not sent yet.
        acked: Up to where the hub has committed.
    """

    def __init__(self) -> None:
        self.next_seq = 1
        self.acked = 0
        self._max_batch: int = MAX_BATCH_EVENTS
        self._careful_batch: int = MAX_BATCH_EVENTS
        self._careful_until = 0

    def rewind(self, acked: int, max_batch: int) -> None:
        """A hub's welcome: begin again behind `acked`, with batches it can take."""
        self.acked = acked
        self.next_seq = acked + 1
        self._max_batch = min(max_batch, MAX_BATCH_EVENTS)
        self._careful_until = self._careful_until if self._careful_until > acked else 0

    def allowed(self) -> int:
        """Most events that the next batch may hold; 0: wait for the hub."""
        in_flight = self.next_seq - 1 - self.acked
        if self._careful_until:
            # One batch at a time: what the hub says next is then about this one.
            return 0 if in_flight else min(self._careful_batch, self._max_batch)
        return max(0, min(self._max_batch, MAX_WINDOW_EVENTS - in_flight))

    def sent(self, n: int) -> None:
        """So many more are on their way."""
        self.next_seq += n

    def ack(self, acked: int) -> None:
        """The hub committed up to here."""
        self.acked = acked
        self.next_seq = max(self.next_seq, acked + 1)
        if acked >= self._careful_until:
            self._careful_until = 0

    def refused(self, first: int, n: int) -> int | None:
        """The hub refused a batch: halve it, or name the one event that is left to blame."""
        if first + n - 1 <= self.acked or first >= self.next_seq:
            return None
        self._careful_until = max(self._careful_until, first + n - 1)
        self._careful_batch = max(1, n // 2)
        self.next_seq = max(first, self.acked + 1)
        return first if n == 1 else None


SEND_AT_ONCE: Final = 4
"""Batches sent in one turn of the agent's loop, so that a backlog does not hold the GIL."""
