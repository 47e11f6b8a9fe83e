"""The database from the view of its one writer: runs, events, commands, audit, in one transaction.

The statements are shared; an abstract method has what SQLite and PostgreSQL do differently.
`SqliteDatabase` is this user's own: one file on this machine.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from kmonitor.hub.log import LOG
from kmonitor.hub.store.connection import HubIdRange, StoreConnection, newest_row
from kmonitor.hub.store.pages import Page, PageRequest, read_event_page
from kmonitor.hub.store.row_checks import SUMMED, NewEvent, count_of, summed, text, wall
from kmonitor.hub.store.salvage import DAMAGE, is_of_tables, newest_put_aside, salvage
from kmonitor.hub.store.sample_blocks import SampleBlock, remove_blocks, write_blocks
from kmonitor.hub.store.schema import open_reader, open_writer
from kmonitor_agent.wire.local.private_files import check_own, make_own_folder
from kmonitor_agent.wire.messages.fields import (
    MAX_ANSWER_ROWS_BYTES,
    MAX_COUNT,
    MAX_TEXT,
    is_id,
    new_id,
)
from kmonitor_agent.wire.messages.unions import AuditRow

MAX_AUDIT_ROWS: Final = 200_000
"""Maximum number of audit rows; the newest are kept."""


@dataclass(slots=True)
class WriteBatch:
    """Rows that one transaction writes.

    Attributes:
        events: New rows.
        runs: (key, run, change, record) of runs to insert or replace.
        commands: (id, entry, True if it is open) of commands to insert or replace.
        audit: (wall_s, who, what, run, subject, result).
        deleted: (key, run, change) of runs to remove.
        blocks: Samples that were packed.
        joined: (row,) of each event that a later one of these replaces.
    """

    events: list[NewEvent] = field(default_factory=list[NewEvent])
    runs: list[tuple[int, str, int, bytes]] = field(
        default_factory=list[tuple[int, str, int, bytes]]
    )
    commands: list[tuple[str, bytes, bool]] = field(default_factory=list[tuple[str, bytes, bool]])
    audit: list[tuple[float, str, str, str, str, str]] = field(
        default_factory=list[tuple[float, str, str, str, str, str]]
    )
    deleted: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])
    blocks: list[SampleBlock] = field(default_factory=list[SampleBlock])
    joined: list[tuple[int]] = field(default_factory=list[tuple[int]])

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts together."""
        return sum(len(getattr(self, name)) for name in _PARTS)

    def add(self, later: "WriteBatch") -> None:
        """Append the rows of a batch that came later."""
        for name in _PARTS:
            getattr(self, name).extend(getattr(later, name))

    def halves(self) -> "list[WriteBatch]":
        """Two parts: rows of one kind apart from the others, else the first half of the rows."""
        kinds = [name for name in _PARTS if getattr(self, name)]
        rows: list[Any] = getattr(self, kinds[0])
        if len(kinds) > 1:
            rest = {name: getattr(self, name) for name in kinds[1:]}
            return [WriteBatch(**{kinds[0]: rows}), WriteBatch(**rest)]
        middle = len(rows) // 2
        return [WriteBatch(**{kinds[0]: part}) for part in (rows[:middle], rows[middle:])]


_PARTS: Final = tuple(each.name for each in fields(WriteBatch))
_PUT_EVENT = f"INSERT INTO events ({SUMMED}) VALUES (?,?,?,?,?,?,?,?)"  # noqa: S608 - constant
_PUT_RUN = (
    "INSERT INTO runs (key, run, change, record) VALUES (?,?,?,?) ON CONFLICT (key) DO UPDATE"
    " SET run = excluded.run, change = excluded.change, record = excluded.record"
)

_PUT_DELETED = (
    "INSERT INTO deleted (run_key, run, change, swept) VALUES (?,?,?,FALSE)"
    " ON CONFLICT (run_key) DO UPDATE"
    " SET run = excluded.run, change = excluded.change, swept = FALSE"
)

_PUT_AUDIT = (
    "INSERT INTO audit (id, wall_s, who, what, run, subject, result) VALUES (?,?,?,?,?,?,?)"
)

_NEWEST_AUDIT = "SELECT max(id) FROM audit WHERE id BETWEEN ? AND ?"
_SWEEP_ROWS = 2_000
_SWEEP_BLOCKS = 200


class Database(ABC):
    """Owned by the hub's main thread.

    Attributes:
        hub: The hub's id; a new database has a new one.
        head: Newest row id ever stored; ids are never used twice.
        next_key: The next new run's key.
        id_range: Range of this hub's numbers.
        is_shared: True if other hubs store here too.
        is_disconnected: True if it cannot be reached now; requests fail with `StoreUnavailable`.
    """

    hub: str
    head: int
    next_key: int
    is_shared = False

    def __init__(self, connection: StoreConnection, id_range: HubIdRange) -> None:
        """Args: `connection`: the one that writes. `id_range`: range of this hub's numbers."""
        self._connection = connection
        self.id_range = id_range

    @property
    def is_disconnected(self) -> bool:
        return False

    @abstractmethod
    def open_reader(self) -> StoreConnection:
        """A connection that only reads, for a thread of its own."""

    @abstractmethod
    def trouble(self, exc: Exception) -> str:
        """Why a write failed, and the remedy; without its full stop."""

    @abstractmethod
    def lasting_trouble(self) -> str:
        """Trouble of the database until it is repaired; empty: none."""

    @abstractmethod
    def size_bytes(self) -> int:
        """Size of everything."""

    @abstractmethod
    def used_bytes(self) -> int | None:
        """Size of the stored data, without free pages; None: unknown for this hub alone."""

    @abstractmethod
    def release_pages(self, pages: int) -> None:
        """Give back at most this many free pages of 4 KiB, where nothing else does."""

    @abstractmethod
    def is_in_place(self) -> bool:
        """True if the open database is still the one that was opened."""

    @abstractmethod
    def close(self) -> None:
        """Close it; written data stays."""

    def _prepare(self, batch: WriteBatch) -> None:  # noqa: B027 - nothing, where none is ever lost
        """Take out of `batch` what an unconfirmed earlier attempt has written."""

    @abstractmethod
    def _transaction(self, batch: WriteBatch) -> AbstractContextManager[None]:
        """Commit everything done inside, and the newest row's number, or nothing."""

    @abstractmethod
    def _put_commands(self, commands: Sequence[tuple[str, bytes, bool]]) -> None:
        """Insert or replace commands, within a transaction."""

    def _put_events(self, events: Sequence[NewEvent]) -> None:
        self._connection.executemany(_PUT_EVENT, summed(events))

    def _load(self, head: int) -> None:
        """Read the newest numbers of this hub; `head` as it is remembered."""
        span = self.id_range
        self.head = max(head, newest_row(self._connection, span.first))
        self.next_key = 1 + max(
            self._newest("SELECT max(key) FROM runs WHERE key BETWEEN ? AND ?"),
            self._newest("SELECT max(run_key) FROM deleted WHERE run_key BETWEEN ? AND ?"),
        )
        self._audit = self._newest(_NEWEST_AUDIT)

    def write(self, batch: WriteBatch) -> None:
        """Commit all of the batch or nothing.

        Raises:
            RETRYABLE_ERRORS: Nothing was written: the disk is full, or the server is away.
            OUT_OF_SYNC_ERRORS: Nothing was written: the database holds rows that this hub does not
                know.
            REJECTED_ROW_ERRORS: Nothing was written: a value does not fit its column.
        """
        self._prepare(batch)
        audit = [(self._audit + n, *row) for n, row in enumerate(batch.audit, 1)]
        with self._transaction(batch):
            run_all = self._connection.executemany
            self._put_events(batch.events)
            run_all("DELETE FROM events WHERE row = ?", batch.joined)
            run_all(_PUT_RUN, batch.runs)
            self._put_commands(batch.commands)
            run_all(_PUT_AUDIT, audit)
            write_blocks(self._connection, batch.blocks)
            for key, _, _ in batch.deleted:
                self._connection.execute("DELETE FROM runs WHERE key = ?", (key,))
            run_all(_PUT_DELETED, batch.deleted)
        self._audit += len(audit)
        if batch.events:
            self.head = batch.events[-1][0]

    def runs(self) -> Iterator[tuple[int, object, object, object]]:
        """(key, run, record, largest seq) of every run of this hub, as they are stored."""
        yield from self._connection.execute(
            "SELECT key, run, record,"
            " (SELECT coalesce(max(seq), 0) FROM events WHERE run_key = key AND seq <= ?)"
            " FROM runs WHERE key BETWEEN ? AND ?",
            (MAX_COUNT, *self._ends),
        )

    @abstractmethod
    def open_commands(self) -> Iterator[bytes]:
        """Every command that is not final."""

    def command(self, command: str) -> bytes | None:
        found = self._connection.execute(
            "SELECT entry FROM commands WHERE id = ?", (command,)
        ).fetchone()
        return None if found is None else found[0]

    def deleted_runs(self) -> list[tuple[str, int]]:
        """(run, change) of every run that was deleted."""
        found = self._connection.execute(
            "SELECT run, change FROM deleted WHERE run_key BETWEEN ? AND ?", self._ends
        )
        return [(run, count_of(change)) for run, change in found if is_id(str(run))]

    def page(self, request: PageRequest) -> Page:
        """One page of rows; if runs of several hubs are requested, one hub's after the other's."""
        by_hub: dict[HubIdRange, list[int]] = {} if request.run_keys else {self.id_range: []}
        for key in sorted(request.run_keys):
            by_hub.setdefault(HubIdRange.range_of(key), []).append(key)
        for n, (span, keys) in enumerate(by_hub.items(), 1):
            head = self.head if span == self.id_range else newest_row(self._connection, span.first)
            if request.cursor < head:
                page = read_event_page(
                    self._connection, replace(request, run_keys=tuple(keys)), head
                )
                return replace(page, more=page.more or n < len(by_hub))
        return Page([], request.cursor, more=False)

    def audit_rows(self, before: int, limit: int) -> tuple[list[AuditRow], bool]:
        """Rows of the audit older than row `before` (0: from the newest), newest first.

        Returns:
            At most `limit` rows, as many as fit into an answer, and whether there are more.
        """
        found = self._connection.execute(
            "SELECT id, wall_s, who, what, run, subject, result FROM audit"
            " WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?",
            (self.id_range.first, before - 1 if before else self.id_range.last, limit + 1),
        )
        rows: list[AuditRow] = []
        n_bytes = 0
        for row, wall_s, *cells in found:
            texts = [text(cell, MAX_TEXT) for cell in cells]
            n_bytes += sum(len(each.encode()) for each in texts)
            if len(rows) == limit or (rows and n_bytes > MAX_ANSWER_ROWS_BYTES):
                return rows, True
            rows.append(AuditRow(row, wall(wall_s), *texts))
        return rows, False

    def bound_audit(self) -> None:
        """Remove the oldest rows of the audit beyond `MAX_AUDIT_ROWS`."""
        oldest = self._newest(_NEWEST_AUDIT) - MAX_AUDIT_ROWS
        self._connection.execute(
            "DELETE FROM audit WHERE id BETWEEN ? AND ?", (self.id_range.first, oldest)
        )

    def bodies(self, run_key: int, first: int, last: int) -> dict[int, bytes]:
        """Stored bodies by seq, `first` to `last` included."""
        return dict(
            self._connection.execute(
                "SELECT seq, body FROM events WHERE run_key = ? AND seq BETWEEN ? AND ?",
                (run_key, first, last),
            ).fetchall()
        )

    def newest_seq(self, run_key: int) -> int:
        """Largest number of a run's events; 0 if there is none."""
        found = self._connection.execute(
            "SELECT max(seq) FROM events WHERE run_key = ? AND seq BETWEEN 1 AND ?",
            (run_key, MAX_COUNT),
        ).fetchone()
        return count_of(found[0])

    def rows_after(self, after: int, last: int, limit: int) -> list[tuple[Any, ...]]:
        """Rows of `SUMMED` after row `after`, up to `last`, as stored; at most `limit`."""
        return self._connection.execute(
            f"SELECT {SUMMED} FROM events WHERE row > ? AND row <= ? ORDER BY row LIMIT ?",  # noqa: S608 - constant
            (after, last, limit),
        ).fetchall()

    def is_indexed(self, first: int, last: int) -> bool:
        """True if the indexes agree with rows `first` to `last`."""
        return True

    def has_sound_indexes(self) -> bool:
        """True if the indexes can be read from end to end; takes 0.1 s for a million rows."""
        return True

    def free_rows(self, after: int, before: int, n: int) -> list[int]:
        """At most `n` row ids between two others at which nothing is stored."""
        most = n + _SWEEP_ROWS
        found = self._connection.execute(
            "SELECT row FROM events WHERE row > ? AND row < ? ORDER BY row LIMIT ?",
            (after, before, most),
        ).fetchall()
        used_rows = {row for (row,) in found}
        end = found[-1][0] if len(found) == most else min(before, after + 1 + most)
        return [row for row in range(after + 1, end) if row not in used_rows][:n]

    def repair(self, rewritten: Sequence[NewEvent], added: Sequence[NewEvent]) -> None:
        """Write rows in the place of damaged ones, and at free row ids; all of it or nothing."""
        batch = WriteBatch()
        self._prepare(batch)
        with self._transaction(batch):
            self._connection.executemany(
                "UPDATE events SET t_s = ?, wall_s = ?, kind = ?, body = ?, crc = ? WHERE row = ?",
                [(*each[3:], each[0]) for each in summed(rewritten)],
            )
            self._put_events(added)

    def sweep(self) -> bool:
        """Remove some events of deleted runs; True if there is more to do."""
        found = self._connection.execute(
            "SELECT run_key FROM deleted WHERE NOT swept AND run_key BETWEEN ? AND ? LIMIT 1",
            self._ends,
        ).fetchone()
        if found is None:
            return False
        key = int(found[0])
        if remove_blocks(self._connection, key, _SWEEP_BLOCKS):
            return True
        gone = self._connection.execute(
            "DELETE FROM events WHERE row IN (SELECT row FROM events WHERE run_key = ? LIMIT ?)",
            (key, _SWEEP_ROWS),
        ).rowcount
        if gone < _SWEEP_ROWS:
            self._connection.execute("UPDATE deleted SET swept = TRUE WHERE run_key = ?", (key,))
        return True

    def is_sweeping(self) -> bool:
        """True if events of deleted runs are still to be removed."""
        found = self._connection.execute(
            "SELECT count(*) FROM deleted WHERE NOT swept AND run_key BETWEEN ? AND ?", self._ends
        )
        return bool(found.fetchone()[0])

    @property
    def _ends(self) -> tuple[int, int]:
        return self.id_range.first, self.id_range.last

    def _newest(self, query: str) -> int:
        found = self._connection.execute(query, self._ends).fetchone()
        return int(found[0] or self.id_range.first)


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
"""Queries that read each cell of the indexes: a bare count reads none of them."""

_PRIMARY: Final = 0xFF
"""The part of SQLite's error codes that is the same for all kinds of one error."""


class SqliteDatabase(Database):
    """Owned by the hub's main thread."""

    def __init__(self, path: Path) -> None:
        """Open or create the database; a damaged one is put aside.

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
            LOG.error("the hub ID in %s is not valid: assigning a new one", path)
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
