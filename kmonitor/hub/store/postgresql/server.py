"""Connections to a server: bounded in time, and coming back by themselves when they are lost."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from typing_extensions import override

from kmonitor.hub.log import LOG
from kmonitor.hub.store.connection import Found, StoreAway
from kmonitor.hub.store.postgresql.address import Address
from kmonitor.hub.store.postgresql.faults import translated, words_of

_SESSION: Final = """\
SELECT set_config('search_path', 'kmonitor', false),
 set_config('lock_timeout', '5s', false),
 set_config('statement_timeout', '120s', false),
 set_config('idle_in_transaction_session_timeout', '60s', false),
 set_config('default_transaction_read_only', %s, false),
 CASE WHEN current_setting('synchronous_commit') = 'off'
 THEN set_config('synchronous_commit', 'on', false) END"""
"""What was acknowledged must survive, also where somebody switched that off for all."""

WRITE_WITHIN_S: Final = 10.0
"""A server that does not answer holds the hub's loop up for so long, once."""

READ_WITHIN_S: Final = 60.0

_AGAIN_S: Final = 1.0
_AGAIN_MOST_S: Final = 15.0
_JOIN_S: Final = 10.0

_Result = TypeVar("_Result")


class BoundedConnection(psycopg.Connection[Any]):
    """A connection on which nothing takes longer than `within_s` seconds."""

    within_s: float = READ_WITHIN_S

    @override
    def wait(self, gen: PQGen[_Result], *args: Any, **options: Any) -> _Result:
        try:
            return super().wait(_bounded(gen, self.within_s), *args, **options)
        except _TooLong:
            self.close()
            raise


def connect(address: Address, within_s: float, *, only_reads: bool = False) -> BoundedConnection:
    """A new connection; each statement on it is its own transaction. Raises: `psycopg.Error`."""
    connection = BoundedConnection.connect(address.conninfo, autocommit=True)
    connection.within_s = within_s
    try:
        connection.execute(_SESSION, ("on" if only_reads else "off",))
    except BaseException:
        connection.close()
        raise
    return connection


class ServerConnection(ABC):
    """The hub's statements on a connection that may be lost; used by one thread."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Found:
        """As `Connection.execute`."""
        with self.in_use() as connection:
            return connection.execute(_placed(statement), _plain(values), binary=True)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> None:
        """As `Connection.executemany`."""
        plain = [_plain(row) for row in rows]
        if plain:
            with self.in_use() as connection, connection.cursor() as cursor:
                cursor.executemany(_placed(statement), plain)

    @abstractmethod
    def close(self) -> None:
        """Let the connection go."""

    @contextmanager
    def in_use(self) -> Generator[BoundedConnection]:
        """The connection, whose faults become those of a store. Raises: `StoreAway`."""
        connection = self._current()
        with translated():
            try:
                yield connection
            except psycopg.Error as exc:
                if connection.closed:
                    self._lost(exc)
                raise

    @abstractmethod
    def _current(self) -> BoundedConnection: ...

    @abstractmethod
    def _lost(self, exc: psycopg.Error) -> None: ...


class ReadingConnection(ServerConnection):
    """Connects anew when it is asked, at most once a second."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: BoundedConnection | None = None
        self._not_before_s = 0.0
        self._why = ""

    @override
    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    @override
    def _current(self) -> BoundedConnection:
        if self._connection is None:
            now_s = time.monotonic()
            if now_s < self._not_before_s:
                raise StoreAway(self._why)
            self._not_before_s = now_s + _AGAIN_S
            try:
                self._connection = connect(self._address, READ_WITHIN_S, only_reads=True)
            except psycopg.Error as exc:
                self._why = words_of(exc)
                raise StoreAway(self._why) from exc
        return self._connection

    @override
    def _lost(self, exc: psycopg.Error) -> None:
        self.close()


class WritingConnection(ServerConnection):
    """A thread of its own connects anew, so that the hub's loop never waits for that.

    Attributes:
        generation: Rises with each connection.
    """

    def __init__(self, address: Address, first: BoundedConnection) -> None:
        """Args: `first`: the connection to begin with."""
        self.generation = 1
        self._address = address
        self._connection: BoundedConnection | None = first
        self._why = ""
        self._coming: list[BoundedConnection] = []
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_away(self) -> bool:
        """Whether there is no connection now."""
        return self._connection is None and not self._coming

    @property
    def why(self) -> str:
        """Why there was none the last time that one was lost or not had."""
        return self._why

    @override
    def close(self) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join(_JOIN_S)
        for connection in (self._connection, *self._coming):
            if connection is not None:
                connection.close()
        self._connection = None
        self._coming.clear()

    @override
    def _current(self) -> BoundedConnection:
        if self._connection is None and self._coming:
            self._connection = self._coming.pop()
            self.generation += 1
        if self._connection is None:
            raise StoreAway(self._why)
        return self._connection

    @override
    def _lost(self, exc: psycopg.Error) -> None:
        if self._connection is None:
            return
        self._why = words_of(exc)
        LOG.warning("connection to %s lost: %s", self._address.shown, self._why)
        self._connection.close()
        self._connection = None
        if not self._is_over.is_set():
            self._thread = threading.Thread(
                target=self._come_back, name="kmonitor-hub-store", daemon=True
            )
            self._thread.start()

    def _come_back(self) -> None:
        pause_s = 0.0
        while not self._is_over.wait(pause_s):
            try:
                self._coming.append(connect(self._address, WRITE_WITHIN_S))
            except psycopg.Error as exc:
                self._why = words_of(exc)
                pause_s = min(_AGAIN_MOST_S, 2.0 * pause_s or _AGAIN_S / 4)
            else:
                LOG.info("connection to %s is back", self._address.shown)
                return


class _TooLong(psycopg.OperationalError):
    """The server did not answer in time."""


def _bounded(gen: PQGen[_Result], within_s: float) -> PQGen[_Result]:
    end_s = time.monotonic() + within_s
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if time.monotonic() > end_s:
                raise _TooLong(f"the server did not answer within {within_s:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


@lru_cache(1024)
def _placed(statement: str) -> bytes:
    """The statement with libpq's marks; only those of our own code come here."""
    return statement.replace("?", "%s").encode()


def _plain(values: Sequence[Any]) -> list[Any]:
    # A text of the server's cannot hold a NUL.
    return [each.replace("\0", "\ufffd") if isinstance(each, str) else each for each in values]
