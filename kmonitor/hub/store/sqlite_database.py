"""This user's own database: one SQLite file on this machine."""

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from typing_extensions import override

from kmonitor.hub.log import LOG
from kmonitor.hub.store.connection import HubIdRange, StoreConnection
from kmonitor.hub.store.database import Database, WriteBatch
from kmonitor.hub.store.salvage import DAMAGE, is_of_tables, newest_put_aside, salvage
from kmonitor.hub.store.schema import open_reader, open_writer
from kmonitor_agent.wire.local.private_files import check_own, make_own_folder
from kmonitor_agent.wire.messages.fields import is_id, new_id

DATABASE_NAME: Final = "hub.sqlite3"
"""File name of the hub's database in its folder."""

_UNINDEXED: Final = (
    "SELECT 1 FROM events AS e WHERE row BETWEEN ? AND ? AND NOT (EXISTS ("
    "SELECT 1 FROM events AS x INDEXED BY events_by_seq"
    " WHERE x.run_key = e.run_key AND x.seq = e.seq AND x.row = e.row) AND EXISTS ("
    "SELECT 1 FROM events AS y INDEXED BY events_by_kind"
    " WHERE y.run_key = e.run_key AND y.kind = e.kind AND y.row = e.row)) LIMIT 1"
)

_INDEXED: Final = tuple(
    f"SELECT count(*), total(row), total({cell}) FROM events INDEXED BY {name}"  # noqa: S608 - ours
    for name, cell in (("events_by_seq", "seq"), ("events_by_kind", "length(kind)"))
)
"""Reads each cell of the indexes: a bare count looks at none of them."""

_PRIMARY: Final = 0xFF
"""The part of SQLite's error codes that is the same for all kinds of one error."""


class SqliteDatabase(Database):
    """Owned by the hub's main thread.

    Attributes:
        path: Its file.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the database; one that is damaged is put aside.

        Raises:
            OtherDatabase: Another version wrote it.
            UnsafePath: Its folder or file is not this user's alone, or no plain file.
            OSError: Its folder cannot be made.
            sqlite3.Error: It cannot be opened even when new.
        """
        self.path = path
        make_own_folder(path.parent)
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                check_own(path.with_name(path.name + suffix))
        self._file = _open(path)
        super().__init__(self._file, HubIdRange.of_hub(0))
        self._inode = path.lstat().st_ino
        self.hub = self._fact_or_new("hub", new_id())
        if not is_id(self.hub):
            LOG.error("the hub id in %s is not valid: assigning a new one", path)
            self.hub = self._new_fact("hub", new_id())
        self._load(self._stored_head())

    @override
    def open_reader(self) -> StoreConnection:
        return open_reader(self.path)

    @override
    def open_commands(self) -> Iterator[bytes]:
        for (entry,) in self._file.execute("SELECT entry FROM commands WHERE open"):
            yield entry

    @override
    def trouble(self, exc: Exception) -> str:
        folder = self.path.parent
        code = getattr(exc, "sqlite_errorcode", 0)
        if code & _PRIMARY == sqlite3.SQLITE_FULL:
            return f"the disk that holds {folder} is full; free some space"
        return f"the database in {folder} cannot be written to ({exc})"

    @override
    def lasting_trouble(self) -> str:
        aside = newest_put_aside(self.path)
        return "" if aside is None else aside.text()

    @override
    def used_bytes(self) -> int:
        pages = self._pragma("page_count") - self._pragma("freelist_count")
        return pages * self._pragma("page_size")

    @override
    def release_pages(self, pages: int) -> None:
        # Not `execute`: it takes one step of a statement without columns, which frees one page.
        self._file.executescript(f"PRAGMA incremental_vacuum({pages:d})")

    @override
    def size_bytes(self) -> int:
        paths = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(path.stat().st_size for path in paths if path.exists())

    @override
    def is_in_place(self) -> bool:
        try:
            return self.path.lstat().st_ino == self._inode
        except OSError:
            return False

    @override
    def is_indexed(self, first: int, last: int) -> bool:
        return self._file.execute(_UNINDEXED, (first, last)).fetchone() is None

    @override
    def has_sound_indexes(self) -> bool:
        found = {self._file.execute(each).fetchone()[:2] for each in _INDEXED}
        return len(found) == 1

    def limit_pages(self, n: int) -> None:
        """Let the database grow to `n` pages of 4096 bytes and no further."""
        self._file.execute(f"PRAGMA max_page_count={n:d}")

    @override
    def close(self) -> None:
        self._file.close()  # its last act is a checkpoint

    @override
    @contextmanager
    def _transaction(self, batch: WriteBatch) -> Generator[None]:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
            if batch.events:
                head = batch.events[-1][0]
                self._file.execute("UPDATE facts SET value = ? WHERE name = 'head'", (head,))
            self._file.execute("COMMIT")
        except BaseException:
            # A full disk has ended the transaction already.
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise

    @override
    def _put_commands(self, commands: Sequence[tuple[str, bytes, bool]]) -> None:
        self._file.executemany("INSERT OR REPLACE INTO commands VALUES (?,?,?)", commands)

    def _pragma(self, name: str) -> int:
        return int(self._file.execute(f"PRAGMA {name}").fetchone()[0])

    def _stored_head(self) -> int:
        stored = self._fact_or_new("head", 0)
        if stored.isdecimal() and int(stored) in self.id_range:
            return int(stored)
        LOG.error(
            "%s gives %.40r as its newest row, which is not valid: searching for the newest row",
            self.path,
            stored,
        )
        self._new_fact("head", 0)
        return 0

    def _new_fact(self, name: str, value: str | int) -> str:
        self._file.execute("UPDATE facts SET value = ? WHERE name = ?", (value, name))
        return str(value)

    def _fact_or_new(self, name: str, value: str | int) -> str:
        self._file.execute("INSERT OR IGNORE INTO facts VALUES (?,?)", (name, value))
        found = self._file.execute("SELECT value FROM facts WHERE name = ?", (name,))
        return str(found.fetchone()[0])


def _open(path: Path) -> sqlite3.Connection:
    try:
        return open_writer(path)
    except sqlite3.OperationalError as exc:
        if not is_of_tables(exc):
            raise  # locked, unreadable, no room: not the file's fault
        salvage(path, exc)
    except DAMAGE as exc:
        salvage(path, exc)
    return open_writer(path)
