"""Salvage of a damaged SQLite database: everything readable goes into a new one.

A run whose row is lost is rebuilt from its events; missing events are found and filled or marked
by `hub.runs.verification`. Packed samples are packed again.
"""

import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from kmonitor.hub.log import LOG
from kmonitor.hub.store.connection import HubIdRange
from kmonitor.hub.store.row_checks import SUMMED, is_sound, repaired_body, summed
from kmonitor.hub.store.schema import as_text, open_writer
from kmonitor_agent.wire.local.private_files import open_own

_TABLES: Final = {
    "runs": "key, run, change, record",
    "deleted": "run_key, run, change, swept",
    "audit": "id, wall_s, who, what, run, subject, result",
}

_OTHERS: Final = ("facts", "commands")
"""Tables without a number for each row."""

DAMAGE: Final = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Errors that damaged pages raise; the latter where SQLite's own message holds them."""

_PAGE_BYTES: Final = 4096
_SIZE_VALID_FOR: Final = slice(92, 96)
_FREE_PAGES: Final = slice(32, 40)
"""Source: sqlite.org/fileformat2.html, 1.3."""

_ROOTS: Final = {"table": (b"\x02", b"\x05", b"\x0a", b"\x0d"), "index": (b"\x02", b"\x0a")}
"""First bytes of a table's or index's first page; tables may be kept as an index. Source: 1.6."""

_ROWS_AT_ONCE: Final = 10_000


def salvage(path: Path, why: Exception) -> None:
    """Put a new database in the place of a damaged one, which is kept beside it.

    Raises:
        sqlite3.Error, OSError: The new one cannot be written; the damaged one stays where it is.
    """
    fresh = path.with_name(f"{path.name}.new")
    _remove(fresh)
    try:
        with closing(open_writer(fresh)) as target:
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            n_events = _copy(_with_its_tables(path, fresh, target), target)
    except BaseException:
        _remove(fresh)
        raise
    finally:
        _remove(_patched(path))
    put_aside(path, why)
    fresh.rename(path)
    LOG.warning("%d events of the damaged database were recovered", n_events)


def is_of_tables(exc: sqlite3.OperationalError) -> bool:
    """True if a statement failed because a table or column of ours is missing."""
    return exc.sqlite_errorcode == sqlite3.SQLITE_ERROR


def _patched(path: Path) -> Path:
    return path.with_name(f"{path.name}.new-patched")


def _with_its_tables(path: Path, fresh: Path, target: sqlite3.Connection) -> Path:
    """The damaged file; a copy of it with a new first page if that one is damaged.

    It says where the tables begin, which is the same in every file that this program made.
    """
    query = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master ORDER BY name"
    with suppress(*DAMAGE), closing(sqlite3.connect(path)) as source:
        if source.execute(query).fetchall() == target.execute(query).fetchall():
            return path
    patched = _patched(path)
    with open_own(fresh, "rb") as sound, open_own(path, "rb") as damaged:
        if not _has_its_roots(damaged, target):
            return path  # anything but a database of ours: as large as it may be
        page = bytearray(sound.read(_PAGE_BYTES))
        page[_SIZE_VALID_FOR] = b"\xff" * 4  # the file's own size counts
        page[_FREE_PAGES] = bytes(8)
        damaged.seek(_PAGE_BYTES)
        with open_own(patched, "wb") as file:
            file.write(page)
            shutil.copyfileobj(damaged, file)
    return patched


def _has_its_roots(damaged: IO[Any], target: sqlite3.Connection) -> bool:
    """True if most pages at which the tables and indexes begin are such pages."""
    roots = target.execute(
        "SELECT type, rootpage FROM sqlite_master WHERE rootpage > 1"
    ).fetchall()
    n_sound = 0
    for kind, page in roots:
        damaged.seek((page - 1) * _PAGE_BYTES)
        n_sound += damaged.read(1) in _ROOTS[kind]
    return 2 * n_sound > len(roots)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _copy(path: Path, target: sqlite3.Connection) -> int:
    try:
        source = sqlite3.connect(path, isolation_level=None)
    except sqlite3.Error:
        return 0
    source.text_factory = as_text
    with closing(source):
        for table in _OTHERS:
            with suppress(*DAMAGE):
                for row in source.execute(f"SELECT * FROM {table}"):  # noqa: S608 - ours
                    _put(target, table, [row])
        for table, columns in _TABLES.items():
            _put(target, table, list(_readable(source, table, columns)))
        with suppress(*DAMAGE):
            # A run whose row is lost has its name in the index still.
            found = source.execute("SELECT key, run FROM runs INDEXED BY sqlite_autoindex_runs_1")
            _put(target, "runs", [(key, run, 0, b"") for key, run in found])
        return _copy_events(source, target)


def _copy_events(source: sqlite3.Connection, target: sqlite3.Connection) -> int:
    known = {key for (key,) in target.execute("SELECT key FROM runs")}
    n_events = 0
    rows = _readable(source, "events", SUMMED)
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        events = (row[:7] if is_sound(row) else repaired_body(row) for row in chunk)
        sound = summed(event for event in events if event is not None and event[1] in known)
        _put(target, "events", sound)
        n_events += len(sound)
    return n_events


def _put(target: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if not rows:
        return
    marks = ",".join("?" * len(rows[0]))
    target.execute("BEGIN")
    target.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)  # noqa: S608 - ours
    target.execute("COMMIT")


def _readable(source: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """All rows of a table that lie in pages which can be read."""
    key = columns.split(",", maxsplit=1)[0]
    low = 0
    step = 1
    most = HubIdRange.of_hub(0).last
    while low <= most:
        query = f"SELECT {columns} FROM {table} WHERE {key} >= ? ORDER BY {key}"  # noqa: S608 - ours
        try:
            for row in source.execute(query, (low,)):
                if row[0] >= low:
                    low = row[0] + 1
                    step = 1
                    yield row
        except DAMAGE:
            # Doubled, as a page may promise rows again and again that it does not have.
            low = max(low + step, _behind_damage(source, query + " LIMIT 1", low))
            step = 2 * step
        else:
            return


def _behind_damage(source: sqlite3.Connection, query: str, low: int) -> int:
    """The lowest key from which on rows can be read, or at which none are left."""
    bad = 0
    good = 1
    while not _can_read(source, query, low + good):
        bad, good = good, 2 * good
        if good > HubIdRange.of_hub(0).last:
            return low + good
    while good - bad > 1:
        middle = (bad + good) // 2
        if _can_read(source, query, low + middle):
            good = middle
        else:
            bad = middle
    return low + good


def _can_read(source: sqlite3.Connection, query: str, low: int) -> bool:
    try:
        source.execute(query, (low,)).fetchone()
    except DAMAGE:
        return False
    return True


_NANOSECONDS: Final = 1e9
_STAMP: Final = re.compile(r"\.damaged-(\d{1,19})\Z")


@dataclass(frozen=True, slots=True)
class PutAside:
    """A damaged database that lies beside the one that took its place.

    Attributes:
        wall_s: When it was put aside, UTC epoch seconds.
    """

    path: Path
    wall_s: float

    def text(self) -> str:
        """Event and remedy, in one sentence without its full stop."""
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.wall_s))
        return (
            f"on {when}, the database was found to be damaged and was renamed to {self.path}; "
            "everything readable was recovered, and the affected runs show what is missing. "
            "Remove that file to clear this message"
        )


def put_aside(path: Path, why: Exception) -> None:
    """Rename a damaged database, so that another one can take its place."""
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    LOG.error("%s is damaged (%s); kept as %s", path, why, aside.name)
    path.rename(aside)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        path.with_name(f"{path.name}-wal").rename(aside.with_name(f"{aside.name}-wal"))


def newest_put_aside(path: Path) -> PutAside | None:
    """The damaged database that was last put aside for this one; None if none lies there."""
    found = [
        PutAside(each, int(stamp[1]) / _NANOSECONDS)
        for each in path.parent.glob(f"{path.name}.damaged-*")
        if (stamp := _STAMP.search(each.name))
    ]
    return max(found, key=lambda each: each.wall_s, default=None)
