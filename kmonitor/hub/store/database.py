"""The database as its one writer sees it: facts, runs, events and commands in one transaction."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kmonitor.hub.store.aside import put_aside
from kmonitor.hub.store.audit import bound_audit, read_audit
from kmonitor.hub.store.pages import Page, Wanted, read_page
from kmonitor.hub.store.sample_blocks import SampleBlock, remove_blocks, write_blocks
from kmonitor.hub.store.schema import open_writer
from kmonitor_agent.protocol.identity import new_id
from kmonitor_agent.protocol.messages import AuditRow

NewEvent = tuple[int, int, int, float, float, str, bytes]
"""row, run key, seq, run time in seconds, wall time in seconds, kind, body."""

_SWEEP_ROWS = 2_000
_SWEEP_BLOCKS = 200


@dataclass(slots=True)
class Changes:
    """What one transaction writes.

    Attributes:
        events: New rows.
        runs: (key, run, change, record) of runs to insert or replace.
        commands: (id, entry, whether it is open) likewise.
        audit: (wall_s, who, what, run, subject, result).
        deleted: (key, run, change) of runs to remove.
        blocks: Samples that were packed.
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


class Database:
    """Owned by the hub's main thread.

    Attributes:
        path: Its file.
        hub: The hub's id; a new database has a new one.
        head: Newest row id ever stored; ids are never used twice.
        next_key: The next new run's key.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the database; one that is damaged is put aside.

        Raises:
            NewerDatabase: A newer program wrote it.
            OSError: Its folder cannot be made.
            sqlite3.Error: It cannot be opened even when new.
        """
        self.path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._connection = _open(path)
        self._inode = path.stat().st_ino
        self.hub = self._fact_or_new("hub", new_id())
        self.head = max(
            int(self._fact_or_new("head", 0)), self._one("SELECT max(row) FROM events")
        )
        self.next_key = 1 + max(
            self._one("SELECT max(key) FROM runs"), self._one("SELECT max(run_key) FROM deleted")
        )

    def write(self, changes: Changes) -> None:
        """Commit all of it or nothing.

        Raises:
            sqlite3.Error: Nothing was written: the disk is full, or worse.
        """
        run = self._connection.execute
        run_all = self._connection.executemany
        run("BEGIN IMMEDIATE")
        try:
            run_all("INSERT INTO events VALUES (?,?,?,?,?,?,?)", changes.events)
            run_all("INSERT OR REPLACE INTO runs VALUES (?,?,?,?)", changes.runs)
            run_all("INSERT OR REPLACE INTO commands VALUES (?,?,?)", changes.commands)
            run_all("INSERT INTO audit VALUES (NULL,?,?,?,?,?,?)", changes.audit)
            write_blocks(self._connection, changes.blocks)
            for key, name, change in changes.deleted:
                run("DELETE FROM runs WHERE key = ?", (key,))
                run("INSERT OR REPLACE INTO deleted VALUES (?,?,?,0)", (key, name, change))
            if changes.events:
                run("UPDATE facts SET value = ? WHERE name = 'head'", (changes.events[-1][0],))
            run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        if changes.events:
            self.head = changes.events[-1][0]

    def runs(self) -> Iterator[tuple[bytes, int]]:
        """(record, largest seq stored) of every run."""
        yield from self._connection.execute(
            "SELECT record, (SELECT coalesce(max(seq), 0) FROM events WHERE run_key = key)"
            " FROM runs"
        )

    def open_commands(self) -> Iterator[bytes]:
        """Every command that is not final."""
        for (entry,) in self._connection.execute("SELECT entry FROM commands WHERE open"):
            yield entry

    def command(self, command: str) -> bytes | None:
        """A command's entry, None if it was never asked."""
        found = self._connection.execute(
            "SELECT entry FROM commands WHERE id = ?", (command,)
        ).fetchone()
        return None if found is None else found[0]

    def deleted_runs(self) -> list[tuple[str, int]]:
        """(run, change) of every run that was deleted."""
        return self._connection.execute("SELECT run, change FROM deleted").fetchall()

    def page(self, wanted: Wanted) -> Page:
        """One page of rows."""
        return read_page(self._connection, wanted, self.head)

    def audit_rows(self, before: int, limit: int) -> list[AuditRow]:
        """What was done, newest first: at most `limit` rows older than `before` (0: all)."""
        return read_audit(self._connection, before, limit)

    def bound_audit(self) -> None:
        """Forget the oldest of what was done, beyond a bound."""
        bound_audit(self._connection)

    def bodies(self, run_key: int, first: int, last: int) -> dict[int, bytes]:
        """Stored bodies by seq, `first` to `last` included."""
        return dict(
            self._connection.execute(
                "SELECT seq, body FROM events WHERE run_key = ? AND seq BETWEEN ? AND ?",
                (run_key, first, last),
            ).fetchall()
        )

    def sweep(self) -> bool:
        """Remove some events of deleted runs; True if there is more to do."""
        found = self._connection.execute(
            "SELECT run_key FROM deleted WHERE NOT swept LIMIT 1"
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
            self._connection.execute("UPDATE deleted SET swept = 1 WHERE run_key = ?", (key,))
        return True

    def is_sweeping(self) -> bool:
        """Whether events of deleted runs are still to be removed."""
        return bool(self._one("SELECT count(*) FROM deleted WHERE NOT swept"))

    def used_bytes(self) -> int:
        """What is stored, without pages that are free again."""
        pages = self._one("PRAGMA page_count") - self._one("PRAGMA freelist_count")
        return pages * self._one("PRAGMA page_size")

    def give_back(self, pages: int) -> None:
        """Give at most so many free pages back to the disk; an older database keeps them."""
        # Not `execute`: it takes one step of a statement without columns, which frees one page.
        self._connection.executescript(f"PRAGMA incremental_vacuum({pages:d})")

    def size_bytes(self) -> int:
        """Size of database and WAL."""
        paths = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(path.stat().st_size for path in paths if path.exists())

    def is_in_place(self) -> bool:
        """Whether the open file still lies at its path."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def limit_pages(self, n: int) -> None:
        """Let the database grow to `n` pages of 4096 bytes and no further."""
        self._connection.execute(f"PRAGMA max_page_count={n:d}")

    def close(self) -> None:
        """Close the connection; its last act is a checkpoint."""
        self._connection.close()

    def _one(self, query: str) -> int:
        return int(self._connection.execute(query).fetchone()[0] or 0)

    def _fact_or_new(self, name: str, value: str | int) -> str:
        self._connection.execute("INSERT OR IGNORE INTO facts VALUES (?,?)", (name, value))
        found = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,))
        return str(found.fetchone()[0])


def _open(path: Path) -> sqlite3.Connection:
    try:
        return open_writer(path)
    except sqlite3.OperationalError:
        raise  # locked, unreadable, no room: not the file's fault
    except sqlite3.DatabaseError as exc:
        put_aside(path, exc)
        return open_writer(path)
