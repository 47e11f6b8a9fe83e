"""Move of a SQLite history into a team's database: run by run, compared; resumed if it stopped.

Rows and runs keep their numbers, counted from the beginning of this hub's range; the hub's own
rows in that database lie after its middle, so that older rows still come before newer ones. A run
counts as moved when its line in `runs` is there, which is written last, after the comparison.
"""

import hashlib
import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kmonitor.base.errors import UserError
from kmonitor.hub.runs.run_record import read_record, record_body
from kmonitor.hub.store.postgresql.team_database import TeamDatabase, put_events
from kmonitor.hub.store.schema import open_writer

_ROWS_AT_ONCE: Final = 10_000
_BLOCKS_AT_ONCE: Final = 200

_EVENTS: Final = (
    "SELECT row, seq, t_s, wall_s, kind, body, crc FROM events WHERE run_key = ? ORDER BY row"
)
_BLOCKS: Final = (
    "SELECT name, last_row, n_samples, body FROM sample_blocks WHERE run_key = ?"
    " ORDER BY last_row, name"
)
_SUM_OF_EVENTS: Final = (
    "SELECT count(*), sha256(coalesce(string_agg(sha256("
    "int8send(row - ?) || int8send(seq) || float8send(t_s) || float8send(wall_s)"
    " || convert_to(kind, 'UTF8') || body), ''::bytea ORDER BY row), ''::bytea))"
    " FROM events WHERE run_key = ? AND row BETWEEN ? AND ?"
)
_SUM_OF_BLOCKS: Final = (
    "SELECT count(*), sha256(coalesce(string_agg(sha256("
    "convert_to(name, 'UTF8') || int8send(last_row - ?) || int8send(n_samples) || body),"
    " ''::bytea ORDER BY last_row, name COLLATE \"C\"), ''::bytea))"
    " FROM sample_blocks WHERE run_key = ?"
)


class CannotMove(UserError):
    """The history cannot be moved, or differs after the copy; nothing of it is shown then."""


@dataclass(slots=True)
class Moved:
    """Result of a move.

    Attributes:
        runs: Number of runs that were moved now.
        events: Number of their events.
        before: Number of runs that had been moved before.
        ahead: Number of runs that continue in the team's database already; their part in the file
            stays there.
    """

    runs: int = 0
    events: int = 0
    before: int = 0
    ahead: int = 0


def copy_history(
    path: Path, database: TeamDatabase, on_progress: Callable[[int, int], object]
) -> Moved:
    """Copy all runs of a hub's own database to the team's, in the name of this hub.

    The file is not changed. Copies from a call that did not finish stay, and the next call
    continues with them.

    Args:
        path: The hub's own database; no hub may run on it.
        database: The team's database, opened as the same hub.
        on_progress: Called before each run with its number, from 1, and the number of runs.

    Raises:
        CannotMove: Another history was moved here, or the copy differs.
        StoreUnavailable: The server is away.
    """
    try:
        source = open_writer(path)
    except sqlite3.Error as exc:
        raise CannotMove(f"{path} cannot be read: {exc}.") from exc
    try:
        return _Move(source, path, database).all(on_progress)
    except sqlite3.Error as exc:
        raise CannotMove(f"{path} cannot be read: {exc}.") from exc
    finally:
        source.close()


class _Move:
    def __init__(self, source: sqlite3.Connection, path: Path, database: TeamDatabase) -> None:
        self._source = source
        self._path = path
        self._database = database
        self._server = database.server
        self._first = database.id_range.first
        self._moved = Moved()

    def all(self, on_progress: Callable[[int, int], object]) -> Moved:
        self._check_room()
        keys = [key for (key,) in self._source.execute("SELECT key FROM runs ORDER BY change")]
        for number, key in enumerate(keys, 1):
            on_progress(number, len(keys))
            self._move_run(key)
        self._move_rest()
        return self._moved

    def _check_room(self) -> None:
        """Check that this is the only history before the middle of this hub's range."""
        (hub,) = self._source.execute("SELECT value FROM facts WHERE name = 'hub'").fetchone()
        number = self._database.number
        self._server.execute(
            "UPDATE hubs SET moved_from = ? WHERE number = ? AND moved_from = ''", (hub, number)
        )
        found = self._server.execute("SELECT moved_from FROM hubs WHERE number = ?", (number,))
        (moved_from,) = found.fetchone()
        newest = self._source.execute("SELECT max(row) FROM events").fetchone()[0] or 0
        if moved_from != hub:
            raise CannotMove(
                "The team's database already contains a different history for this hub.",
                f"This one stays in {self._path}: kmonitor hub --store here shows it.",
            )
        if self._first + newest >= self._database.id_range.middle:
            raise CannotMove(f"{self._path} has too many events to be copied.")

    def _move_run(self, key: int) -> None:
        record = read_record(
            self._source.execute("SELECT record FROM runs WHERE key = ?", (key,)).fetchone()[0]
        )
        if record is None:
            raise CannotMove(f"Run number {key} in {self._path} is damaged.")
        copied_key = self._key_of(record.run)
        if copied_key is not None:
            self._moved.before += copied_key == self._first + key
            self._moved.ahead += copied_key != self._first + key
            return
        n_events = self._copy_events(key)
        self._copy_blocks(key)
        self._compare(record.run, key, n_events)
        record.key = self._first + key
        # Windows that follow this hub get what changed last.
        record.change = self._newest_change() + 1
        self._server.execute(
            "INSERT INTO runs (key, run, change, record) VALUES (?,?,?,?)",
            (record.key, record.run, record.change, record_body(record)),
        )
        self._moved.runs += 1
        self._moved.events += n_events

    def _key_of(self, run: str) -> int | None:
        # Also one that was moved and has been deleted since: it does not come back.
        ends = (self._first, self._database.id_range.last)
        found = self._server.execute(
            "SELECT key FROM runs WHERE run = ? AND key BETWEEN ? AND ?"
            " UNION SELECT run_key FROM deleted WHERE run = ? AND run_key BETWEEN ? AND ?"
            " ORDER BY 1 DESC LIMIT 1",
            (run, *ends, run, *ends),
        ).fetchone()
        return None if found is None else int(found[0])

    def _copy_events(self, key: int) -> int:
        last_row = self._server.execute(
            "SELECT max(row) FROM events WHERE run_key = ?", (self._first + key,)
        ).fetchone()[0]
        copied_row = 0 if last_row is None else int(last_row) - self._first
        n_events = 0
        for rows in _pages(self._source.execute(_EVENTS, (key,)), _ROWS_AT_ONCE):
            n_events += len(rows)
            # One statement, hence all of it or nothing: the next call goes on behind it.
            put_events(
                self._server,
                [
                    (self._first + row, self._first + key, seq, t_s, wall_s, kind, body, crc)
                    for row, seq, t_s, wall_s, kind, body, crc in rows
                    if row > copied_row
                ],
            )
        return n_events

    def _copy_blocks(self, key: int) -> None:
        for rows in _pages(self._source.execute(_BLOCKS, (key,)), _BLOCKS_AT_ONCE):
            self._server.executemany(
                "INSERT INTO sample_blocks (run_key, name, last_row, n_samples, body)"
                " VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING",
                [
                    (self._first + key, name, self._first + row, n_samples, body)
                    for name, row, n_samples, body in rows
                ],
            )

    def _compare(self, run: str, key: int, n_events: int) -> None:
        """Check that everything arrived unchanged: the server adds up its rows."""
        for rows in _pages(self._source.execute(_EVENTS, (key,)), _ROWS_AT_ONCE):
            ends = (self._first + rows[0][0], self._first + rows[-1][0])
            found = self._server.execute(
                _SUM_OF_EVENTS, (self._first, self._first + key, *ends)
            ).fetchone()
            if tuple(found) != (len(rows), _sum_of(map(_event_bytes, rows))):
                raise self._differs(run)
        count = "SELECT count(*) FROM events WHERE run_key = ?"
        if self._server.execute(count, (self._first + key,)).fetchone()[0] != n_events:
            raise self._differs(run)
        blocks = self._source.execute(_BLOCKS, (key,)).fetchall()
        found = self._server.execute(_SUM_OF_BLOCKS, (self._first, self._first + key)).fetchone()
        if tuple(found) != (len(blocks), _sum_of(map(_block_bytes, blocks))):
            raise self._differs(run)

    def _differs(self, run: str) -> CannotMove:
        return CannotMove(
            f"Run {run} differs from the original; the copy is not shown, and the original"
            f" stays in {self._path}.",
            "Check the server's log.",
        )

    def _newest_change(self) -> int:
        span = self._database.id_range
        found = self._server.execute(
            "SELECT max(change) FROM runs WHERE key BETWEEN ? AND ?", (span.first, span.last)
        ).fetchone()[0]
        return int(found or 0)

    def _move_rest(self) -> None:
        """Move commands, audit and deletions: small, and the same each time."""
        first = self._first
        number = self._database.number
        self._server.executemany(
            "INSERT INTO commands (id, entry, open, hub) VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
            [
                (command, entry, bool(is_open), number)
                for command, entry, is_open in self._source.execute(
                    "SELECT id, entry, open FROM commands"
                )
            ],
        )
        self._server.executemany(
            "INSERT INTO audit (id, wall_s, who, what, run, subject, result)"
            " VALUES (?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
            [
                (first + row, *rest)
                for row, *rest in self._source.execute(
                    "SELECT id, wall_s, who, what, run, subject, result FROM audit"
                )
            ],
        )
        # Their events are not moved: there is nothing to sweep.
        self._server.executemany(
            "INSERT INTO deleted (run_key, run, change, swept) VALUES (?,?,?,TRUE)"
            " ON CONFLICT DO NOTHING",
            [
                (first + key, run, change)
                for key, run, change in self._source.execute(
                    "SELECT run_key, run, change FROM deleted"
                )
            ],
        )


def _pages(found: sqlite3.Cursor, n: int) -> Iterator[list[Any]]:
    while rows := found.fetchmany(n):
        yield rows


def _sum_of(chunks: Iterator[bytes]) -> bytes:
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in chunks)).digest()


def _event_bytes(row: Sequence[Any]) -> bytes:
    number, seq, t_s, wall_s, kind, body, _crc = row
    return struct.pack(">qqdd", number, seq, t_s, wall_s) + kind.encode() + body


def _block_bytes(row: Sequence[Any]) -> bytes:
    name, last_row, n_samples, body = row
    return name.encode() + struct.pack(">qq", last_row, n_samples) + body
