"""The tables, and how a database is opened."""

import sqlite3
from pathlib import Path

from kmonitor.base.errors import UserError

SCHEMA_VERSION = 1
"""`PRAGMA user_version` of a database that this program writes."""

_BUSY_S = 0.5
"""Time for which a foreign lock on the database may delay the hub's loop, seconds."""

TABLES = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    # `record` is the fold of the run's events (run_record.RunRecord as msgpack).
    (
        "CREATE TABLE runs (key INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE,"
        " change INTEGER NOT NULL, record BLOB NOT NULL)"
    ),
    # `t_s` is run time; `wall_s` is when the hub took the event; `crc` is `row_checks.checksum`.
    (
        "CREATE TABLE events (row INTEGER PRIMARY KEY, run_key INTEGER NOT NULL,"
        " seq INTEGER NOT NULL, t_s REAL NOT NULL, wall_s REAL NOT NULL,"
        " kind TEXT NOT NULL, body BLOB NOT NULL, crc INTEGER NOT NULL)"
    ),
    "CREATE UNIQUE INDEX events_by_seq ON events (run_key, seq)",
    # The row id is the last part of every index: pages of one kind come in order.
    "CREATE INDEX events_by_kind ON events (run_key, kind)",
    (
        "CREATE TABLE commands (id TEXT PRIMARY KEY, entry BLOB NOT NULL,"
        " open INTEGER NOT NULL)"
        " WITHOUT ROWID"
    ),
    "CREATE INDEX open_commands ON commands (open) WHERE open",
    (
        "CREATE TABLE audit (id INTEGER PRIMARY KEY, wall_s REAL NOT NULL, who TEXT NOT NULL,"
        " what TEXT NOT NULL, run TEXT NOT NULL, subject TEXT NOT NULL, result TEXT NOT NULL)"
    ),
    # `swept`: the run's events are gone too, not only the run.
    (
        "CREATE TABLE deleted (run_key INTEGER PRIMARY KEY, run TEXT NOT NULL,"
        " change INTEGER NOT NULL, swept INTEGER NOT NULL)"
    ),
    "CREATE INDEX deleted_by_run ON deleted (run)",
    # One column of consecutive samples of a run, packed; the events stay the truth.
    (
        "CREATE TABLE sample_blocks (run_key INTEGER NOT NULL, name TEXT NOT NULL,"
        " last_row INTEGER NOT NULL, n_samples INTEGER NOT NULL, body BLOB NOT NULL)"
    ),
    "CREATE UNIQUE INDEX blocks_by_name ON sample_blocks (run_key, name, last_row)",
    f"PRAGMA user_version={SCHEMA_VERSION:d}",
)


class OtherDatabase(UserError):
    """Another version of kmonitor wrote this database.

    Attributes:
        version: Its schema.
    """

    def __init__(self, where: str, version: int, known: int, remedy: str) -> None:
        """Args: `known`: the schema that this program writes."""
        super().__init__(
            f"{where} was written by another version of kmonitor (its schema is {version}; this"
            f" version uses {known}).",
            remedy,
        )
        self.version = version


def open_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes.

    Raises:
        OtherDatabase: Another version of this program wrote it.
        sqlite3.DatabaseError: It is no database, or is damaged.
    """
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_S)
    connection.text_factory = as_text
    try:
        version = _version(connection, path)
        _configure(connection)
        if not version:
            _make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that can only read, for a thread of its own."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5.0)
    connection.text_factory = as_text
    return connection


def as_text(cell: bytes) -> str:
    """A stored text; invalid bytes are replaced."""
    # Python's own raises for a damaged one, and with it for all rows behind it.
    return cell.decode("utf-8", "replace")


def _configure(connection: sqlite3.Connection) -> None:
    # Only of use before the first table: what removed runs took can then be given back.
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute("PRAGMA journal_mode=WAL")
    # NORMAL forgets acknowledged rows when power is lost (measured); with group commits FULL
    # costs one fsync for some hundred rows.
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA journal_size_limit=67108864")
    connection.execute("PRAGMA cache_size=-16384")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    # Before anything else: a database of another version is not touched.
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version not in (0, SCHEMA_VERSION):
        remedy = "Run that version, or set KMONITOR_HOME to another folder."
        raise OtherDatabase(str(path), version, SCHEMA_VERSION, remedy)
    return version


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in TABLES:
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has ended the transaction already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
