"""What libpq and the server say, as the hub tells it: what is wrong, and what to do."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import errors

from kmonitor.base.errors import Expected
from kmonitor.hub.store.connection import RowConflicts, RowRefused, StoreAway
from kmonitor.hub.store.postgresql.address import Address

_MOST_WORDS: Final = 400

_QUESTION: Final = re.compile(r" Is the server running [^?]*\?")
"""What libpq adds to a refused connection; what to do is said by us."""

_RIGHTS: Final = (
    "Have who owns the database run there: CREATE SCHEMA kmonitor AUTHORIZATION the_role; or let "
    "the role use all tables that are in it."
)
_TO_PGPASS: Final = (
    "Write it into ~/.pgpass (mode 0600) as HOST:PORT:DATABASE:USER:PASSWORD, or name such a file "
    "in PGPASSFILE."
)


class StoreUnusable(Expected):
    """A team's database cannot be used: who asked is told why, and what to do."""


class TakenOver(Expected):
    """Another hub writes in the place of this one."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"Another hub, on {host}, stores its runs in the place of this one.",
            "Both have the same file team-hub-id beside their databases: remove that of the one "
            "that was copied, and start it again.",
        )


@contextmanager
def translated() -> Generator[None]:
    """Have what psycopg raises raised as a fault of the store."""
    try:
        yield
    except psycopg.IntegrityError as exc:
        raise RowConflicts(words_of(exc)) from exc
    except psycopg.DataError as exc:
        raise RowRefused(words_of(exc)) from exc
    except psycopg.Error as exc:
        raise StoreAway(words_of(exc)) from exc


def words_of(exc: psycopg.Error) -> str:
    """What the server or libpq says, in one line, without its full stop."""
    text = exc.diag.message_primary or str(exc)
    line = _QUESTION.sub("", " ".join(text.split()))
    return line[:_MOST_WORDS].rstrip(".") or type(exc).__name__


def unusable(exc: psycopg.Error, address: Address) -> StoreUnusable:
    """Why a hub cannot begin with this database."""
    words, shown = words_of(exc), address.shown
    if isinstance(exc, errors.InsufficientPrivilege):
        return StoreUnusable(
            f"{shown}: kmonitor may not make or use its tables: {words}.", _RIGHTS
        )
    pgconn = exc.pgconn
    if pgconn is not None and pgconn.needs_password:
        return StoreUnusable(f"{shown} wants a password, and none is known.", _TO_PGPASS)
    if "password authentication failed" in words:
        return StoreUnusable(f"{shown} refuses the password that is known for it.", _TO_PGPASS)
    if "does not exist" in words:
        return StoreUnusable(
            f"{shown}: {words}.", "Make it on the server first, or write another."
        )
    remedy = "See whether the server runs and lets this host in: psql says the same or more."
    return StoreUnusable(f"{shown} cannot be used: {words}.", remedy)
