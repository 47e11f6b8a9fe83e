"""The team's PostgreSQL server: its address, its errors as text, and connections to it.

Every statement is bounded in time, and a connection that is lost comes back by itself.
"""

import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typing_extensions import override

from kmonitor.base.errors import UserError
from kmonitor.hub.log import LOG
from kmonitor.hub.store.connection import QueryResult, RowConflicts, RowRefused, StoreUnavailable

_SECRET: Final = ("password", "sslpassword", "oauth_client_secret", "scram_client_key")

_DEFAULTS: Final[dict[str, Any]] = {
    "application_name": "kmonitor hub",
    "client_encoding": "utf8",
    "connect_timeout": 5,
    # A server that vanished is noticed within some ten seconds.
    "keepalives_idle": 10,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


class AddressUnreadable(UserError):
    """The text is no address of a PostgreSQL database; the error does not repeat it."""

    def __init__(self) -> None:
        super().__init__(
            "The address of the PostgreSQL database is not valid.",
            "Use postgresql://USER@HOST:PORT/DATABASE. Within any of its parts, write / as %2F "
            "and @ as %40.",
        )


@dataclass(frozen=True, slots=True)
class Address:
    """A database on a server.

    Attributes:
        conninfo: Address for libpq; missing parts come from libpq's environment and files.
        shown: For people, without passwords.
        has_password: True if it contains a password.
    """

    conninfo: str = field(repr=False)
    shown: str
    has_password: bool

    @classmethod
    def read(cls, text: str) -> "Address":
        """The address that a URL names. Raises: `AddressUnreadable`."""
        try:
            fields = {name: value for name, value in conninfo_to_dict(text).items() if value}
        except psycopg.Error:
            # Not `from exc`: libpq repeats the part it stumbled over, which may be a password.
            raise AddressUnreadable from None
        if not _is_plain(fields):
            raise AddressUnreadable
        has_password = any(name in fields for name in _SECRET)
        return cls(make_conninfo("", **{**_DEFAULTS, **fields}), _shown(fields), has_password)


def _is_plain(fields: dict[str, Any]) -> bool:
    # A `/` or `@` in a password that is not written as %2F or %40 ends up in other parts.
    is_port = all(each.isdigit() for each in str(fields.get("port", "0")).split(","))
    named = [str(fields.get(name, "")) for name in ("host", "dbname", "user")]
    return is_port and not any("@" in each for each in named) and "/" not in named[1]


def _shown(fields: dict[str, Any]) -> str:
    user = f"{fields['user']}@" if "user" in fields else ""
    port = f":{fields['port']}" if "port" in fields else ""
    query = f"?service={fields['service']}" if "service" in fields else ""
    host = fields.get("host", fields.get("hostaddr", ""))
    return f"postgresql://{user}{host}{port}/{fields.get('dbname', '')}{query}"


_LONGEST_TEXT: Final = 400

_QUESTION: Final = re.compile(r" Is the server running [^?]*\?")
"""Question that libpq adds to a refused connection; we give the remedy ourselves."""

_RIGHTS: Final = (
    "Ask the owner of the database to run `CREATE SCHEMA kmonitor AUTHORIZATION the_role`, or to"
    " grant the role access to all tables in that schema."
)
_TO_PGPASS: Final = (
    "Put it in ~/.pgpass (mode 0600) as HOST:PORT:DATABASE:USER:PASSWORD, or set PGPASSFILE to"
    " such a file."
)


class StoreUnusable(UserError):
    """A team's database cannot be used; says why and what to do."""


class TakenOver(UserError):
    """Another hub writes in the place of this one."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"Another hub, on {host}, stores its runs under the same ID.",
            "Both have the same team-hub-id file next to their databases. Remove it from the hub"
            " that is the copy, and restart that hub.",
        )


@contextmanager
def translated() -> Generator[None]:
    """Translate psycopg's exceptions into those of the store."""
    try:
        yield
    except psycopg.IntegrityError as exc:
        raise RowConflicts(error_text(exc)) from exc
    except psycopg.DataError as exc:
        raise RowRefused(error_text(exc)) from exc
    except psycopg.Error as exc:
        raise StoreUnavailable(error_text(exc)) from exc


def error_text(exc: psycopg.Error) -> str:
    """Message of the server or libpq, in one line, without its full stop."""
    text = exc.diag.message_primary or str(exc)
    line = _QUESTION.sub("", " ".join(text.split()))
    return line[:_LONGEST_TEXT].rstrip(".") or type(exc).__name__


def unusable(exc: psycopg.Error, address: Address) -> StoreUnusable:
    """The error for a hub that cannot start with this database, with its remedy."""
    error = error_text(exc)
    shown = address.shown
    if isinstance(exc, errors.InsufficientPrivilege):
        return StoreUnusable(
            f"{shown}: kmonitor does not have permission to create or use its tables: {error}.",
            _RIGHTS,
        )
    pgconn = exc.pgconn
    if pgconn is not None and pgconn.needs_password:
        return StoreUnusable(f"{shown} needs a password, and none is set.", _TO_PGPASS)
    if "password authentication failed" in error:
        return StoreUnusable(f"{shown} rejected the password.", _TO_PGPASS)
    if "does not exist" in error:
        return StoreUnusable(
            f"{shown}: {error}.", "Create it on the server first, or use another."
        )
    remedy = (
        "Check that the server is running and accepts connections from this host; psql may"
        " show more details."
    )
    return StoreUnusable(f"{shown} cannot be used: {error}.", remedy)


_SESSION: Final = """\
SELECT set_config('search_path', 'kmonitor', false),
 set_config('lock_timeout', '5s', false),
 set_config('statement_timeout', '120s', false),
 set_config('idle_in_transaction_session_timeout', '60s', false),
 set_config('default_transaction_read_only', %s, false),
 CASE WHEN current_setting('synchronous_commit') = 'off'
 THEN set_config('synchronous_commit', 'on', false) END"""
"""Settings of a session. Acknowledged rows must survive, also where `synchronous_commit` was
switched off for all."""

WRITE_WITHIN_S: Final = 10.0
"""Time for which a server that does not answer delays the hub's loop, once, seconds."""

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

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> QueryResult:
        with self.in_use() as connection:
            return connection.execute(_placed(statement), _plain(values), binary=True)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> None:
        plain = [_plain(row) for row in rows]
        if plain:
            with self.in_use() as connection, connection.cursor() as cursor:
                cursor.executemany(_placed(statement), plain)

    @abstractmethod
    def close(self) -> None: ...

    @contextmanager
    def in_use(self) -> Generator[BoundedConnection]:
        """The connection, whose faults become those of a store. Raises: `StoreUnavailable`."""
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
    """Reconnects when it is used, at most once a second."""

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
                raise StoreUnavailable(self._why)
            self._not_before_s = now_s + _AGAIN_S
            try:
                self._connection = connect(self._address, READ_WITHIN_S, only_reads=True)
            except psycopg.Error as exc:
                self._why = error_text(exc)
                raise StoreUnavailable(self._why) from exc
        return self._connection

    @override
    def _lost(self, exc: psycopg.Error) -> None:
        self.close()


class WritingConnection(ServerConnection):
    """Reconnects on a thread of its own, so that the hub's loop never waits for that.

    Attributes:
        generation: Rises with each connection.
    """

    def __init__(self, address: Address, first: BoundedConnection) -> None:
        self.generation = 1
        self._address = address
        self._connection: BoundedConnection | None = first
        self._why = ""
        self._coming: list[BoundedConnection] = []
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_disconnected(self) -> bool:
        return self._connection is None and not self._coming

    @property
    def last_error(self) -> str:
        """Reason for the last lost or failed connection."""
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
            raise StoreUnavailable(self._why)
        return self._connection

    @override
    def _lost(self, exc: psycopg.Error) -> None:
        if self._connection is None:
            return
        self._why = error_text(exc)
        LOG.warning("connection to %s lost: %s", self._address.shown, self._why)
        self._connection.close()
        self._connection = None
        if not self._is_over.is_set():
            self._thread = threading.Thread(
                target=self._reconnect, name="kmonitor-hub-store", daemon=True
            )
            self._thread.start()

    def _reconnect(self) -> None:
        pause_s = 0.0
        while not self._is_over.wait(pause_s):
            try:
                self._coming.append(connect(self._address, WRITE_WITHIN_S))
            except psycopg.Error as exc:
                self._why = error_text(exc)
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
                raise _TooLong(f"the server did not respond within {within_s:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


@lru_cache(1024)
def _placed(statement: str) -> bytes:
    """The statement with libpq's placeholders; only statements of our own code come here."""
    return statement.replace("?", "%s").encode()


def _plain(values: Sequence[Any]) -> list[Any]:
    # A text of the server's cannot hold a NUL.
    return [each.replace("\0", "\ufffd") if isinstance(each, str) else each for each in values]
