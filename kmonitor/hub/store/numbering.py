"""Numbers of rows and runs: each hub has a stretch of its own, so that several share one database.

A row or run tells by its number whose it is, and all statements are the same whether a database
has one hub or many. In SQLite there is one, number 0.
"""

from dataclasses import dataclass
from typing import Final

from kmonitor_agent.wire.messages.version import MAX_COUNT

_HUB_BITS: Final = 40
"""A hub may store 10^12 rows."""

MOST_HUBS: Final = MAX_COUNT >> _HUB_BITS
"""So many hubs may share a database, 8192: then all numbers are counts that a message can have."""


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers of one hub.

    Attributes:
        first: The smallest; no row has it.
        last: The largest.
    """

    first: int
    last: int

    @classmethod
    def of_hub(cls, number: int) -> "Span":
        """That of the hub of this number."""
        return cls(number << _HUB_BITS, (number + 1 << _HUB_BITS) - 1)

    @classmethod
    def around(cls, number: int) -> "Span":
        """That in which a row's or run's number lies."""
        return cls.of_hub(number >> _HUB_BITS)

    @property
    def middle(self) -> int:
        """Below it lies what was moved here from elsewhere, which is older than what came here."""
        return self.first + (1 << _HUB_BITS - 1)

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last
