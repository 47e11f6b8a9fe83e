"""Reading and bounding the table of what was done through the hub."""

from typing import Final

from kmonitor.hub.store.checked import text, wall
from kmonitor.hub.store.connection import Connection
from kmonitor.hub.store.numbering import Span
from kmonitor_agent.wire.messages.unions import AuditRow
from kmonitor_agent.wire.messages.version import MAX_ANSWER_ROWS_BYTES, MAX_TEXT

MAX_ROWS: Final = 200_000
"""So many are kept, the newest."""


def read_audit(
    connection: Connection, span: Span, before: int, limit: int
) -> tuple[list[AuditRow], bool]:
    """Rows of a hub older than row `before` (0: from the newest), newest first.

    Returns:
        At most `limit` rows, as many as fit into an answer, and whether there are more.
    """
    found = connection.execute(
        "SELECT id, wall_s, who, what, run, subject, result FROM audit"
        " WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?",
        (span.first, before - 1 if before else span.last, limit + 1),
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


def bound_audit(connection: Connection, span: Span) -> None:
    """Forget a hub's oldest rows beyond the bound."""
    newest = newest_audit(connection, span)
    connection.execute(
        "DELETE FROM audit WHERE id BETWEEN ? AND ?", (span.first, newest - MAX_ROWS)
    )


def newest_audit(connection: Connection, span: Span) -> int:
    """Number of a hub's newest row; the span's first if there is none."""
    found = connection.execute(
        "SELECT max(id) FROM audit WHERE id BETWEEN ? AND ?", (span.first, span.last)
    ).fetchone()
    return int(found[0] or span.first)
