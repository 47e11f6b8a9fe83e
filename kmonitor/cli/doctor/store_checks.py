"""Checks of `kmonitor doctor` for the store of the history, and for the stored events."""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from kmonitor.base.errors import UserError
from kmonitor.cli.doctor.host_checks import Finding
from kmonitor.hub.store.connection import READ_ERRORS, StoreConnection
from kmonitor.hub.store.row_checks import SUMMED, is_sound
from kmonitor.hub.store.sqlite_database import DATABASE_NAME
from kmonitor.hub.store.store_choice import open_stored, shown_store, stored_store, try_store
from kmonitor.ui.text.formats import count_text
from kmonitor_agent.wire.local.folders import Folders

_ROWS_AT_ONCE: Final = 10_000
_REMEDY: Final = (
    "The hub repairs what it can when idle, and marks the rest as lost: kmonitor hub status"
)


def examine_store(folders: Folders) -> Iterator[Finding]:
    """Check a team's database, if one is set; nothing where history is kept here."""
    try:
        store = stored_store(folders)
        if not store:
            return
        try_store(store)
        found = Finding("history", "ok", f"in {shown_store(store)}, which answers")
    except UserError as exc:
        found = Finding("history", "bad", exc.what, exc.remedy)
    yield found


def verify_store(folders: Folders) -> Finding:
    """Compare each stored event with its checksum; reads all of them."""
    try:
        store = stored_store(folders)
        if not store and not (folders.database / DATABASE_NAME).exists():
            return Finding("stored events", "ok", "none yet")
        with closing(open_stored(folders, store)) as connection:
            n_sound, n_damaged = _verified(connection)
            broken = "" if store else _broken(connection)
    except UserError as exc:
        return Finding("stored events", "bad", exc.what, exc.remedy)
    except (OSError, *READ_ERRORS) as exc:
        return Finding("stored events", "bad", f"they cannot be read completely: {exc}", _REMEDY)
    sound = f"{count_text(n_sound)} are intact"
    if n_damaged or broken:
        found = f"{count_text(n_damaged)} are damaged{broken}; {sound}"
        return Finding("stored events", "bad", found, _REMEDY)
    return Finding("stored events", "ok", sound)


def _verified(connection: StoreConnection) -> tuple[int, int]:
    """Numbers of sound and of damaged events."""
    n_sound = n_damaged = 0
    last = 0
    while True:
        found = connection.execute(
            f"SELECT {SUMMED} FROM events WHERE row > ? ORDER BY row LIMIT ?",  # noqa: S608 - constant
            (last, _ROWS_AT_ONCE),
        ).fetchall()
        if not found:
            return n_sound, n_damaged
        sound = sum(map(is_sound, found))
        n_sound += sound
        n_damaged += len(found) - sound
        last = found[-1][0]


def _broken(connection: StoreConnection) -> str:
    """Damage that SQLite finds in its own file, as text; empty if none."""
    (outcome,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    return "" if outcome == "ok" else f", and so is the database ({outcome})"
