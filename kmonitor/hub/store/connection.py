"""Database protocol for SQLite and PostgreSQL, its failures, and each hub's range of row numbers.

Several hubs may store in one database; the upper bits of a row's or run's number name its hub.
"""

import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kmonitor_agent.wire.messages.fields import MAX_COUNT


class QueryResult(Protocol):
    """Result of one statement: each row is read once, in order, by the connection's thread."""

    @property
    def rowcount(self) -> int:
        """Number of rows that were changed."""
        ...

    def fetchone(self) -> Any:
        """The next row, None after the last."""
        ...

    def fetchmany(self, size: int, /) -> list[Any]:
        """The next rows, at most this many."""
        ...

    def fetchall(self) -> list[Any]:
        """All remaining rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class StoreConnection(Protocol):
    """One connection, used by one thread; outside of a transaction each statement is its own.

    Statements have `?` for values. They fail with one of `READ_ERRORS`.
    """

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> QueryResult: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Carry out a statement for each row of values."""
        ...

    def close(self) -> None: ...


class StoreUnavailable(Exception):
    """The database cannot be used now; later it may. The text says why, without a full stop."""


class StoreOutOfSync(Exception):
    """The database differs from what this hub knows of it: it has to be read again."""


class RowConflicts(StoreOutOfSync):
    """Another row has the number or key of a row to be stored."""


class RowRefused(Exception):
    """The database takes no row with such a value, now or later."""


RETRYABLE_ERRORS: Final = (sqlite3.OperationalError, StoreUnavailable)
"""Errors after which a retry may help: a full disk, a lock, a server that is away."""

OUT_OF_SYNC_ERRORS: Final = (sqlite3.IntegrityError, StoreOutOfSync)
"""Errors that show a difference between the hub's knowledge and the database."""

CONFLICT_ERRORS: Final = (sqlite3.IntegrityError, RowConflicts)
"""Those of them that concern one row."""

REJECTED_ROW_ERRORS: Final = (
    RowRefused,
    sqlite3.DataError,
    struct.error,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
    ValueError,
    TypeError,
)
"""A value of one row cannot be stored: all other rows can."""

READ_ERRORS: Final = (sqlite3.Error, StoreUnavailable, StoreOutOfSync, RowRefused)
"""Errors of a query."""

_HUB_BITS: Final = 40
"""Bits of a number within a hub: a hub may store 10^12 rows."""

MOST_HUBS: Final = MAX_COUNT >> _HUB_BITS
"""Maximum number of hubs that share a database, 8192: then all numbers are counts that a message
can carry."""


@dataclass(frozen=True, slots=True)
class HubIdRange:
    """The numbers of one hub.

    Attributes:
        first: The smallest number; no row has it.
        last: The largest number.
    """

    first: int
    last: int

    @classmethod
    def of_hub(cls, number: int) -> "HubIdRange":
        return cls(number << _HUB_BITS, (number + 1 << _HUB_BITS) - 1)

    @classmethod
    def range_of(cls, number: int) -> "HubIdRange":
        """The range in which a row's or run's number lies."""
        return cls.of_hub(number >> _HUB_BITS)

    @property
    def middle(self) -> int:
        """Middle of the range; lower numbers are of moved history, older than the hub's own."""
        return self.first + (1 << _HUB_BITS - 1)

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last


def newest_row(connection: StoreConnection, number: int) -> int:
    """Newest row stored by the hub in whose range `number` lies; the range's first if none is.

    Args:
        connection: Any connection on the hub's database.
        number: A run's key, or a row.
    """
    id_range = HubIdRange.range_of(number)
    found = connection.execute(
        "SELECT max(row) FROM events WHERE row BETWEEN ? AND ?", (id_range.first, id_range.last)
    ).fetchone()
    return int(found[0] or id_range.first)
