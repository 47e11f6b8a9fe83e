"""Pages of stored events after a cursor: bounded work, whatever the request."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kmonitor.hub.store.connection import HubIdRange, StoreConnection
from kmonitor.hub.store.row_checks import SUMMED, is_event_body, is_sound, number, seconds
from kmonitor_agent.wire.messages.fields import MAX_BATCH_BYTES, MAX_COUNT

_WINDOW_ROWS = 20_000
"""Maximum number of rows that one page looks through: a sparse filter must not delay ingest."""

StoredRow = tuple[int, int, int, float, bytes]
"""row, run key, seq (below 0: the hub's own), run time in seconds, body (empty: damaged)."""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows and the cursor of the next page.

    Attributes:
        rows: In rising order of their row ids.
        cursor: Cursor of the next request.
        more: True if stored rows after `cursor` could match.
    """

    rows: list[StoredRow]
    cursor: int
    more: bool


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Selection of rows.

    Attributes:
        cursor: Row id after which to begin.
        limit: Maximum number of rows.
        run_keys: Only of these runs; empty: all.
        kinds: Only these event types; empty: all.
    """

    cursor: int
    limit: int
    run_keys: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()


def read_event_page(connection: StoreConnection, request: PageRequest, head: int) -> Page:
    """One page of at most `wanted.limit` rows and `MAX_BATCH_BYTES`.

    Args:
        connection: Any connection on the hub's database.
        head: Newest stored row id of the hub whose rows are requested.
    """
    if request.cursor >= head:
        return Page([], request.cursor, more=False)
    request = replace(request, cursor=max(request.cursor, HubIdRange.range_of(head).first))
    if len(request.run_keys) != 1:
        return _window_page(connection, request, head)
    run_key = request.run_keys[0]
    if request.kinds:
        rows = _rows_of_kinds(connection, run_key, request)
    else:
        rows = _rows_of_run(connection, run_key, request)
    # A row behind the newest is none that was ever stored by this hub.
    rows = _within_bytes([row for row in rows if row[0] <= head][: request.limit])
    if not rows:
        return Page([], head, more=False)
    return Page(rows, rows[-1][0], more=rows[-1][0] < head)


def _window_page(connection: StoreConnection, request: PageRequest, head: int) -> Page:
    end = min(head, request.cursor + _WINDOW_ROWS)
    where = ["row > ?", "row <= ?"]
    values: list[object] = [request.cursor, end]
    if request.run_keys:
        where.append(f"run_key IN ({_marks(request.run_keys)})")
        values += request.run_keys
    if request.kinds:
        where.append(f"kind IN ({_marks(request.kinds)})")
        values += request.kinds
    query = f"SELECT {SUMMED} FROM events WHERE {' AND '.join(where)} ORDER BY row LIMIT ?"  # noqa: S608 - placeholders only
    found = _checked(connection.execute(query, [*values, request.limit]))
    rows = _within_bytes(found)
    is_cut = len(rows) == request.limit or len(rows) < len(found)
    if is_cut:
        return Page(rows, rows[-1][0], more=rows[-1][0] < head)
    return Page(rows, *_next_position(connection, end, head))


def _next_position(connection: StoreConnection, end: int, head: int) -> tuple[int, bool]:
    """Next position after row `end`, and True if anything follows: rows may be far apart."""
    if end >= head:
        return head, False
    found = connection.execute(
        "SELECT min(row) FROM events WHERE row > ? AND row <= ?", (end, head)
    ).fetchone()
    return (head, False) if found[0] is None else (int(found[0]) - 1, True)


def _rows_of_run(
    connection: StoreConnection, run_key: int, request: PageRequest
) -> list[StoredRow]:
    after_seq = seq_at_row(connection, run_key, request.cursor)
    found = connection.execute(
        f"SELECT {SUMMED} FROM events WHERE run_key = ? AND seq > ? ORDER BY seq LIMIT ?",  # noqa: S608 - constant
        (run_key, after_seq, request.limit),
    )
    rows = _checked(found)
    # The hub's own rows, a few at most, have negative numbers.
    found = connection.execute(
        f"SELECT {SUMMED} FROM events WHERE run_key = ? AND seq < 0 AND row > ?",  # noqa: S608 - constant
        (run_key, request.cursor),
    )
    own = _checked(found)
    return sorted(rows + own) if own else rows


def _rows_of_kinds(
    connection: StoreConnection, run_key: int, request: PageRequest
) -> list[StoredRow]:
    # One limited query a kind, merged: `kind IN (...)` would sort all rows behind the cursor.
    one = (
        f"SELECT * FROM (SELECT {SUMMED} FROM events"  # noqa: S608 - constant
        " WHERE run_key = ? AND kind = ? AND row > ? ORDER BY row LIMIT ?) AS one"
    )
    kinds = list(dict.fromkeys(request.kinds))
    values: list[object] = []
    for kind in kinds:
        values += [run_key, kind, request.cursor, request.limit]
    query = " UNION ALL ".join([one] * len(kinds)) + " ORDER BY 1 LIMIT ?"
    return _checked(connection.execute(query, [*values, request.limit]))


def seq_at_row(connection: StoreConnection, run_key: int, row: int) -> int:
    """Largest seq of a run whose row id is at most `row`; 0 if there is none.

    In a run row ids rise with seq, so a search by halves needs some twenty look-ups where a
    scan would read the whole run.
    """
    hit = connection.execute(
        "SELECT seq FROM events WHERE row = ? AND run_key = ? AND seq > 0", (row, run_key)
    ).fetchone()
    if hit:
        return number(hit[0])
    low = 0
    newest = connection.execute(
        "SELECT max(seq) FROM events WHERE run_key = ? AND seq <= ?", (run_key, MAX_COUNT)
    ).fetchone()
    high = number(newest[0])
    while low < high:
        middle = (low + high + 1) // 2
        found = connection.execute(
            "SELECT seq, row FROM events WHERE run_key = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
            (run_key, middle),
        ).fetchone()
        if found is None or number(found[1]) <= row:
            low = middle
        else:
            high = number(found[0]) - 1
    return low


def _checked(found: Iterable[tuple[Any, ...]]) -> list[StoredRow]:
    """Rows with cells of the types and bounds of their columns; damaged rows get an empty body."""
    return [
        (
            each[0],
            each[1],
            number(each[2]),
            seconds(each[3]),
            each[6] if is_event_body(each[6]) and is_sound(each) else b"",
        )
        for each in found
    ]


def _within_bytes(rows: Sequence[StoredRow]) -> list[StoredRow]:
    rows_within: list[StoredRow] = []
    n_bytes = 0
    for row in rows:
        n_bytes += len(row[4]) + 64
        if rows_within and n_bytes > MAX_BATCH_BYTES:
            break
        rows_within.append(row)
    return rows_within


def _marks(values: Iterable[object]) -> str:
    return ",".join("?" for _ in values)
