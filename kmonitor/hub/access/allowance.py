"""How much one key may send: enough for many trainings, not enough to drown the hub."""

from dataclasses import dataclass
from typing import Final

MESSAGES_PER_S: Final = 4000
BYTES_PER_S: Final = 32 * 1024 * 1024
_BURST_S: Final = 2.0
_MAX_HOLDERS: Final = 2000

RETRY_MS: Final = 1000
"""When who was over it is asked to try again, milliseconds."""


@dataclass(slots=True)
class _Left:
    messages: float
    n_bytes: float
    at_s: float


class Allowance:
    """A bucket a key, refilled steadily, that holds two seconds' worth."""

    def __init__(self) -> None:
        self._left: dict[str, _Left] = {}

    def take(self, key: str, n_bytes: int, now_s: float) -> bool:
        """Whether a message of so many bytes is within what the key may send now.

        Args:
            key: Whose.
            n_bytes: Size of the message.
            now_s: Monotonic time.
        """
        left = self._left.get(key)
        if left is None:
            if len(self._left) >= _MAX_HOLDERS:
                self._left.clear()
            left = _Left(_BURST_S * MESSAGES_PER_S, _BURST_S * BYTES_PER_S, now_s)
            self._left[key] = left
        passed_s = max(0.0, now_s - left.at_s)
        left.at_s = now_s
        left.messages = min(_BURST_S * MESSAGES_PER_S, left.messages + passed_s * MESSAGES_PER_S)
        left.n_bytes = min(_BURST_S * BYTES_PER_S, left.n_bytes + passed_s * BYTES_PER_S)
        if left.messages < 1 or left.n_bytes < n_bytes:
            return False
        left.messages -= 1
        left.n_bytes -= n_bytes
        return True
