"""The tables on a PostgreSQL server."""

from typing import TYPE_CHECKING, Any, Final

from kmonitor.hub.store.postgresql.address import Address
from kmonitor.hub.store.postgresql.faults import StoreUnusable
from kmonitor.hub.store.schema import OtherDatabase

if TYPE_CHECKING:
    import psycopg

SCHEMA_VERSION: Final = 1
"""`about.version` of a database that this program writes."""

_LOCK: Final = 0x6B6D6F6E
"""Two hubs that start at once make the tables one after the other."""

_TABLES: Final = (
    "CREATE TABLE about (version INTEGER NOT NULL)",
    "INSERT INTO about VALUES (1)",
    # `instance` is the process that writes; `commits` tells whether a commit whose answer was
    # lost was carried out; `moved_from` is the SQLite database whose history was moved here.
    (
        "CREATE TABLE hubs (number INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " hub TEXT NOT NULL UNIQUE, host TEXT NOT NULL, instance TEXT NOT NULL,"
        " commits BIGINT NOT NULL DEFAULT 0, head BIGINT NOT NULL DEFAULT 0,"
        " moved_from TEXT NOT NULL DEFAULT '')"
    ),
    # Whose a run or row is, its number tells: see numbering.Span.
    (
        "CREATE TABLE runs (key BIGINT PRIMARY KEY, run TEXT NOT NULL,"
        " change BIGINT NOT NULL, record BYTEA NOT NULL) WITH (fillfactor = 50)"
    ),
    "CREATE UNIQUE INDEX runs_by_id ON runs (run, (key >> 40))",
    # `crc` is `row_sums.checksum` of the row.
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
    """Make the tables if they are not there; all of it or nothing.

    Raises:
        OtherDatabase: Another version made them; nothing was touched.
        StoreUnusable: The database's texts are not in UTF-8.
        psycopg.Error: The server refuses.
    """
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreUnusable(
            f"{address.shown} stores texts as {encoding}, which cannot hold all names of runs.",
            "Make a database with ENCODING 'UTF8'.",
        )
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
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
