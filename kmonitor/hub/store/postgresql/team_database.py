"""A team's PostgreSQL database from the view of the one hub that writes it, and its tables.

The hub's runs have numbers of its own range; no hub writes in another's. Rows that could not be
written stay with the hub, which tries again. A commit whose answer was lost is not carried out
twice: the server counts the commits of each hub.
"""

import socket
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from typing_extensions import override

from kmonitor.hub.store.connection import (
    MOST_HUBS,
    HubIdRange,
    StoreConnection,
    StoreOutOfSync,
    StoreUnavailable,
)
from kmonitor.hub.store.database import Database, WriteBatch
from kmonitor.hub.store.postgresql.server import (
    WRITE_WITHIN_S,
    Address,
    BoundedConnection,
    ReadingConnection,
    ServerConnection,
    StoreUnusable,
    TakenOver,
    WritingConnection,
    connect,
    unusable,
)
from kmonitor.hub.store.row_checks import SUMMED, NewEvent, summed
from kmonitor.hub.store.schema import OtherDatabase
from kmonitor_agent.wire.local.private_files import KEY_BYTES, read_own, write_private
from kmonitor_agent.wire.messages.fields import new_id

IDENTITY_NAME: Final = "team-hub-id"
"""File beside the hub's own database with its identity in team databases."""

_SIZE_EVERY_S: Final = 60.0
_EVENT_TYPES: Final = ("int8", "int8", "int8", "float8", "float8", "text", "bytea", "int8")
_COPY_EVENTS: Final = f"COPY events ({SUMMED}) FROM STDIN (FORMAT BINARY)".encode()
_CLAIM: Final = (
    "UPDATE hubs SET commits = commits + 1, head = %s WHERE number = %s AND instance = %s"
)

_PUT_COMMAND: Final = (
    "INSERT INTO commands (id, entry, open, hub) VALUES (?,?,?,?)"
    " ON CONFLICT (id) DO UPDATE SET entry = excluded.entry, open = excluded.open"
)

_SIZE: Final = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = 'kmonitor' AND c.relkind = 'r'"
)


class TeamDatabase(Database):
    """Owned by the hub's main thread; its connection reconnects on a thread of its own.

    Attributes:
        number: This hub's number.
        server: The connection that writes.
    """

    is_shared = True

    def __init__(self, address: Address, folder: Path) -> None:
        """Connect, create missing tables, and claim this hub's numbers.

        Args:
            folder: Folder of the hub's databases, with its identity.

        Raises:
            StoreUnusable: The server is away or refuses; says why and what to do.
            OtherDatabase: Another version made the tables.
            OSError: The folder cannot be read or written.
        """
        self.address = address
        self.hub = _identity(folder / IDENTITY_NAME)
        self._instance = new_id()
        first = open_connection(address)
        try:
            number, self._commits, head = self._claim_hub_number(first)
        except psycopg.Error as exc:
            first.close()
            raise unusable(exc, address) from exc
        if number >= MOST_HUBS:
            first.close()
            raise StoreUnusable(
                f"{address.shown} already has {MOST_HUBS} hubs, the maximum supported.",
                "Use another database.",
            )
        self.number: int = number
        self.server = WritingConnection(address, first)
        id_range = HubIdRange.of_hub(number)
        super().__init__(self.server, id_range)
        self._seen = self.server.generation
        self._commit_in_flight: _CommitInFlight | None = None
        self._size_bytes = 0
        self._size_s = float("-inf")
        try:
            self._load(max(head, id_range.middle))
        except StoreUnavailable as exc:
            self.server.close()
            raise StoreUnusable(f"{address.shown} cannot be used: {exc}.") from exc
        self.next_key = max(self.next_key, id_range.middle + 1)

    @property
    @override
    def is_disconnected(self) -> bool:
        return self.server.is_disconnected

    @override
    def open_reader(self) -> StoreConnection:
        return ReadingConnection(self.address)

    @override
    def open_commands(self) -> Iterator[bytes]:
        for (entry,) in self.server.execute(
            "SELECT entry FROM commands WHERE open AND hub = ?", (self.number,)
        ):
            yield entry

    @override
    def sweep(self) -> bool:
        # As long as a commit is in doubt, the deleted runs are not known.
        return not self._is_in_doubt and super().sweep()

    @override
    def is_sweeping(self) -> bool:
        return self._is_in_doubt or super().is_sweeping()

    @override
    def trouble(self, exc: Exception) -> str:
        what = "cannot be reached" if self.is_disconnected else "cannot be written to"
        return f"the team's database {self.address.shown} {what} ({exc})"

    @override
    def lasting_trouble(self) -> str:
        if not self.server.is_disconnected:
            return ""
        return self.trouble(StoreUnavailable(self.server.last_error))

    @override
    def size_bytes(self) -> int:
        now_s = time.monotonic()
        if now_s - self._size_s > _SIZE_EVERY_S and not self.is_disconnected:
            self._size_s = now_s
            with suppress(StoreUnavailable):  # a hub reports its state then too
                self._size_bytes = int(self.server.execute(_SIZE).fetchone()[0])
        return self._size_bytes

    @override
    def used_bytes(self) -> int | None:
        return None

    @override
    def release_pages(self, pages: int) -> None:
        pass  # the server's autovacuum does

    @override
    def is_in_place(self) -> bool:
        return True

    @override
    def close(self) -> None:
        self.server.close()

    @override
    def _prepare(self, batch: WriteBatch) -> None:
        with self.server.in_use() as connection:
            if self._seen != self.server.generation:
                self.check_commit(connection, batch)
                self._seen = self.server.generation

    @override
    @contextmanager
    def _transaction(self, batch: WriteBatch) -> Generator[None]:
        self._commit_in_flight = _CommitInFlight.of(batch)
        with self.server.in_use() as connection:
            try:
                self._begin(connection, batch)
                yield
                connection.execute("COMMIT")
            except BaseException:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                    self._commit_in_flight = None
                raise
        self._commit_in_flight = None
        self._commits += 1

    @override
    def _put_events(self, events: Sequence[NewEvent]) -> None:
        put_events(self.server, summed(events))

    @override
    def _put_commands(self, commands: Sequence[tuple[str, bytes, bool]]) -> None:
        self.server.executemany(_PUT_COMMAND, [(*each, self.number) for each in commands])

    @property
    def _is_in_doubt(self) -> bool:
        return self._commit_in_flight is not None or self.is_disconnected

    def _claim_hub_number(self, connection: BoundedConnection) -> tuple[int, int, int]:
        """This hub's number, commits and head; from now on no other process writes as it."""
        found = connection.execute(
            "INSERT INTO hubs (hub, host, instance) VALUES (%s, %s, %s)"
            " ON CONFLICT (hub) DO UPDATE SET host = excluded.host, instance = excluded.instance"
            " RETURNING number, commits, head",
            (self.hub, socket.gethostname(), self._instance),
        ).fetchone()
        if found is None:
            raise psycopg.OperationalError("the server assigned no number to this hub")
        return found

    def _begin(self, connection: BoundedConnection, batch: WriteBatch) -> None:
        """A transaction, which continues only while no other process writes as this hub."""
        head = batch.events[-1][0] if batch.events else self.head
        connection.execute("BEGIN")
        claimed = connection.execute(_CLAIM, (head, self.number, self._instance))
        if not claimed.rowcount:
            raise self._takeover_error(connection)

    def _takeover_error(self, connection: BoundedConnection) -> Exception:
        found = _fetch_by_number(
            connection, "SELECT host FROM hubs WHERE number = %s", self.number
        )
        if found is None:
            return StoreOutOfSync("this hub is no longer registered in the database")
        return TakenOver(str(found[0]))

    def check_commit(self, connection: BoundedConnection, batch: WriteBatch) -> None:
        """Determine if the commit that was under way when the connection broke was carried out."""
        # The line is held by a commit that the server is still about: its end is waited for.
        query = "SELECT commits, head, instance FROM hubs WHERE number = %s FOR UPDATE"
        found = _fetch_by_number(connection, query, self.number)
        if found is None or found[2] != self._instance:
            raise self._takeover_error(connection)
        commits = int(found[0])
        head = int(found[1])
        in_flight = self._commit_in_flight
        if commits == self._commits + 1 and in_flight is not None:
            self._leave_out(in_flight, batch, head)
        elif commits != self._commits:
            raise StoreOutOfSync("the server's data differs from what it previously confirmed")
        self._commit_in_flight = None

    def _leave_out(self, in_flight: "_CommitInFlight", batch: WriteBatch, head: int) -> None:
        """Take out a commit that was carried out although its answer was lost."""
        if batch is in_flight.write_batch:
            del batch.audit[: in_flight.n_audit]
        else:
            # It was reported as refused, since the server had not answered, and is taken back.
            with self.server.in_use() as connection:
                connection.execute(
                    "DELETE FROM commands WHERE id = ANY(%s)", (in_flight.commands,)
                )
                connection.execute(
                    "DELETE FROM deleted WHERE run_key = ANY(%s)", (in_flight.deleted,)
                )
        batch.events = [event for event in batch.events if event[0] > head]
        self._commits += 1
        self._audit += in_flight.n_audit
        self.head = max(self.head, head)


@dataclass(frozen=True, slots=True)
class _CommitInFlight:
    """A commit whose answer has not come yet; the hub may add to its `write_batch`."""

    write_batch: WriteBatch
    n_audit: int
    commands: list[str]
    deleted: list[int]

    @classmethod
    def of(cls, batch: WriteBatch) -> "_CommitInFlight":
        commands = [each[0] for each in batch.commands]
        deleted = [each[0] for each in batch.deleted]
        return cls(batch, len(batch.audit), commands, deleted)


def put_events(server: ServerConnection, events: Sequence[tuple[Any, ...]]) -> None:
    """Store rows of `SUMMED`, all or none. Raises: `StoreUnavailable`, `StoreOutOfSync`."""
    if not events:
        return
    with (
        server.in_use() as connection,
        connection.cursor() as cursor,
        cursor.copy(_COPY_EVENTS) as copy,
    ):
        copy.set_types(_EVENT_TYPES)
        for event in events:
            copy.write_row(event)


def open_connection(address: Address) -> BoundedConnection:
    """A connection to a database whose tables are there and up to date.

    Raises:
        StoreUnusable: The server is away or refuses; says why and what to do.
        OtherDatabase: Another version made the tables.
    """
    try:
        connection = connect(address, WRITE_WITHIN_S)
        try:
            make_tables(connection, address)
        except BaseException:
            connection.close()
            raise
    except psycopg.Error as exc:
        raise unusable(exc, address) from exc
    return connection


def _fetch_by_number(
    connection: BoundedConnection, query: str, number: int
) -> tuple[Any, ...] | None:
    return connection.execute(query.encode(), (number,)).fetchone()


def _identity(path: Path) -> str:
    try:
        found = read_own(path, KEY_BYTES).decode("ascii").strip()
    except FileNotFoundError:
        found = ""
    if not found:
        found = new_id()
        write_private(path, found.encode())
    return found


SCHEMA_VERSION: Final = 1
"""`about.version` of a database that this program writes."""

_TABLES_LOCK: Final = 0x6B6D6F6E
"""Lock by which two hubs that start at once create the tables one after the other."""

_TABLES: Final = (
    "CREATE TABLE about (version INTEGER NOT NULL)",
    "INSERT INTO about VALUES (1)",
    # `instance` is the process that writes; `commits` shows whether a commit whose answer was
    # lost was carried out; `moved_from` is the SQLite database whose history was moved here.
    (
        "CREATE TABLE hubs (number INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " hub TEXT NOT NULL UNIQUE, host TEXT NOT NULL, instance TEXT NOT NULL,"
        " commits BIGINT NOT NULL DEFAULT 0, head BIGINT NOT NULL DEFAULT 0,"
        " moved_from TEXT NOT NULL DEFAULT '')"
    ),
    # The number of a run or row names its hub: see `HubIdRange`.
    (
        "CREATE TABLE runs (key BIGINT PRIMARY KEY, run TEXT NOT NULL,"
        " change BIGINT NOT NULL, record BYTEA NOT NULL) WITH (fillfactor = 50)"
    ),
    "CREATE UNIQUE INDEX runs_by_id ON runs (run, (key >> 40))",
    # `crc` is `row_checks.checksum` of the row.
    (
        'CREATE TABLE events ("row" BIGINT PRIMARY KEY, run_key BIGINT NOT NULL,'
        " seq BIGINT NOT NULL, t_s DOUBLE PRECISION NOT NULL,"
        " wall_s DOUBLE PRECISION NOT NULL, kind TEXT NOT NULL, body BYTEA NOT NULL,"
        " crc BIGINT NOT NULL)"
    ),
    "CREATE UNIQUE INDEX events_by_seq ON events (run_key, seq)",
    'CREATE INDEX events_by_kind ON events (run_key, kind, "row")',
    (
        "CREATE TABLE commands (id TEXT PRIMARY KEY, entry BYTEA NOT NULL,"
        " open BOOLEAN NOT NULL, hub INTEGER NOT NULL)"
    ),
    "CREATE INDEX open_commands ON commands (hub) WHERE open",
    (
        "CREATE TABLE audit (id BIGINT PRIMARY KEY, wall_s DOUBLE PRECISION NOT NULL,"
        " who TEXT NOT NULL, what TEXT NOT NULL, run TEXT NOT NULL, subject TEXT NOT NULL,"
        " result TEXT NOT NULL)"
    ),
    (
        "CREATE TABLE deleted (run_key BIGINT PRIMARY KEY, run TEXT NOT NULL,"
        " change BIGINT NOT NULL, swept BOOLEAN NOT NULL)"
    ),
    (
        "CREATE TABLE sample_blocks (run_key BIGINT NOT NULL, name TEXT NOT NULL,"
        " last_row BIGINT NOT NULL, n_samples INTEGER NOT NULL, body BYTEA NOT NULL,"
        " PRIMARY KEY (run_key, name, last_row))"
    ),
    # They are packed already.
    "ALTER TABLE sample_blocks ALTER COLUMN body SET STORAGE EXTERNAL",
)


def make_tables(connection: "psycopg.Connection[Any]", address: Address) -> None:
    """Create missing tables; all or nothing.

    Raises:
        OtherDatabase: Another version created them; nothing was changed.
        StoreUnusable: The database's texts are not in UTF-8.
        psycopg.Error: The server refuses.
    """
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreUnusable(
            f"{address.shown} uses the encoding {encoding}, which cannot store all run names.",
            "Create a database with ENCODING 'UTF8'.",
        )
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_TABLES_LOCK,))
        if not _exists(connection, "to_regnamespace", "kmonitor"):
            # Not IF NOT EXISTS, which asks for the right to make one also where it is there.
            connection.execute("CREATE SCHEMA kmonitor")
        version = _version(connection)
        if version not in (0, SCHEMA_VERSION):
            raise OtherDatabase(
                address.shown, version, SCHEMA_VERSION, "Install that version on this host."
            )
        for statement in () if version else _TABLES:
            connection.execute(statement.encode())


def _version(connection: "psycopg.Connection[Any]") -> int:
    if not _exists(connection, "to_regclass", "kmonitor.about"):
        return 0
    found = connection.execute("SELECT version FROM about").fetchone()
    return 0 if found is None else int(found[0])


def _exists(connection: "psycopg.Connection[Any]", kind: str, name: str) -> bool:
    found = connection.execute(f"SELECT {kind}(%s) IS NOT NULL".encode(), (name,)).fetchone()
    return found is not None and bool(found[0])
