"""Descriptors of ours in a process whose script may close them, and open others in their place.

`os.closerange(3, 256)` before a daemon's work is common; what the script opens then gets our
numbers. So a number is used or closed only while it still names the file that we opened.
"""

import os


class OwnDescriptor:
    """A descriptor and what it named when it was opened.

    Attributes:
        number: -1 once it is closed or lost.
    """

    __slots__ = ("_named", "number")

    def __init__(self, number: int) -> None:
        """Take an open descriptor over. Raises: OSError."""
        self.number = number
        self._named = _named_by(number)

    def is_ours(self) -> bool:
        """True if the number still names what was opened; if not, it is given up for good."""
        if self.number >= 0 and _named_by(self.number) != self._named:
            self.number = -1
        return self.number >= 0

    def close(self) -> None:
        """Close it, unless it is not ours any more; again is harmless."""
        if self.is_ours():
            number, self.number = self.number, -1
            os.close(number)


def _named_by(number: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return status.st_dev, status.st_ino
