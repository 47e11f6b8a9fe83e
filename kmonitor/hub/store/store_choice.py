"""Choice of the database that a hub stores in: its own file, or a team's on a server."""

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.base.installation import how_to_add
from kmonitor.hub.store.connection import StoreConnection
from kmonitor.hub.store.database import DATABASE_NAME, Database, SqliteDatabase
from kmonitor.hub.store.schema import open_reader
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import make_own_folder, read_own, write_private
from kmonitor_agent.wire.messages.fields import Text

if TYPE_CHECKING:
    from kmonitor.hub.store.postgresql.team_database import TeamDatabase

SETTING_NAME: Final = "store.json"
"""File in the settings folder that says where every hub of this user stores."""

HERE: Final = "here"
"""How the hub's own file is named where a URL could be."""

_SCHEMES: Final = ("postgresql://", "postgres://")


class StoreRefused(UserError):
    """The place to store in is invalid, or cannot be used here."""


class _Setting(msgspec.Struct, frozen=True):
    store: Text = ""


def open_database(folders: Folders, store: str) -> Database:
    """The database of this user's hub.

    Args:
        store: URL of a team's database; empty: the hub's own file.

    Raises:
        StoreRefused: The URL names none, or the library for it is not installed.
        UserError: It cannot be used; says why and what to do.
        sqlite3.Error: The hub's own cannot be opened even when new.
    """
    if not store:
        return SqliteDatabase(folders.database / DATABASE_NAME)
    return open_team_database(folders, store)


def open_team_database(folders: Folders, store: str) -> "TeamDatabase":
    """A team's database for this user's hub. Args, raises: as above."""
    check_store(store)
    from kmonitor.hub.store.postgresql.server import Address  # noqa: PLC0415 - an extra
    from kmonitor.hub.store.postgresql.team_database import (  # noqa: PLC0415 - an extra
        TeamDatabase,
    )

    return TeamDatabase(Address.read(store), folders.database)


def shown_store(store: str) -> str:
    """A team's database for people: its URL without passwords. Raises: as `check_store`."""
    check_store(store)
    from kmonitor.hub.store.postgresql.server import Address  # noqa: PLC0415 - an extra

    return Address.read(store).shown


def try_store(store: str) -> None:
    """Check that a team's database can be reached, and has no tables of a newer program.

    Raises:
        UserError: It cannot be used; says why and what to do.
    """
    check_store(store)
    from kmonitor.hub.store.postgresql.server import Address  # noqa: PLC0415 - an extra
    from kmonitor.hub.store.postgresql.team_database import (  # noqa: PLC0415 - an extra
        open_connection,
    )

    open_connection(Address.read(store)).close()


def open_stored(folders: Folders, store: str) -> StoreConnection:
    """A connection that only reads the hubs' history.

    Raises:
        UserError: The URL names no team's database, or the library for it is not installed.
        sqlite3.Error: The hub's own file cannot be opened.
    """
    if not store:
        return open_reader(folders.database / DATABASE_NAME)
    check_store(store)
    from kmonitor.hub.store.postgresql.server import (  # noqa: PLC0415 - an extra
        Address,
        ReadingConnection,
    )

    return ReadingConnection(Address.read(store))


def check_store(store: str, *, is_public: bool = False) -> None:
    """Check that a URL can be a team's database, without a request to the server.

    Args:
        is_public: True if it was written where others may read it, as on a command line.

    Raises:
        StoreRefused: It cannot.
        AddressUnreadable: libpq cannot read it.
    """
    if not store.startswith(_SCHEMES):
        raise StoreRefused(
            "The team database must be given as a URL.",
            "Use postgresql://USER@HOST:PORT/DATABASE.",
        )
    if is_public and _names_password(store):
        raise _password_shown()
    try:
        from kmonitor.hub.store.postgresql.server import Address  # noqa: PLC0415 - an extra
    except ImportError as exc:
        raise StoreRefused(
            f"A team database requires the psycopg library, which cannot be loaded ({exc}).",
            how_to_add("postgresql"),
        ) from exc
    if is_public and Address.read(store).has_password:
        raise _password_shown()


def _names_password(store: str) -> bool:
    """True if a URL contains a password, as far as that can be seen without libpq."""
    try:
        split = urlsplit(store)
    except ValueError:
        return False
    return split.password is not None or "password=" in split.query


def _password_shown() -> StoreRefused:
    return StoreRefused(
        "The URL contains a password, which everyone on this machine can see in the process list.",
        "Leave it out and put it in ~/.pgpass (mode 0600) as HOST:PORT:DATABASE:USER:PASSWORD,"
        " or use an entry in a connection service file: postgresql:///?service=NAME.",
    )


def store_named(name: str) -> str:
    """The store that was named on a command line: a URL without a password; empty for `here`.

    Raises: as `check_store`.
    """
    if name == HERE:
        return ""
    check_store(name, is_public=True)
    return name


def stored_store(folders: Folders) -> str:
    """Store of this user's hubs by the settings; empty: their own file.

    Raises:
        StoreRefused: The settings cannot be read: a hub must not begin another history then.
    """
    path = folders.settings / SETTING_NAME
    try:
        return msgspec.json.decode(read_own(path), type=_Setting).store
    except FileNotFoundError:
        return ""
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        remedy = "Set it again: kmonitor hub store URL, or kmonitor hub store here"
        raise StoreRefused(
            f"{path}, which says where hubs store their history, cannot be read: {_why(exc)}.",
            remedy,
        ) from exc


def _why(exc: Exception) -> str:
    return (exc.strerror or str(exc)) if isinstance(exc, OSError) else str(exc)


def write_store(folders: Folders, store: str) -> None:
    """Set the store of this user's hubs, from their next start on. Raises: OSError."""
    make_own_folder(folders.settings)
    write_private(folders.settings / SETTING_NAME, msgspec.json.encode(_Setting(store)))
