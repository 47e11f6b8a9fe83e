"""Reading and bounding the table of what was done through the hub."""

from typing import Final

from kmonitor.hub.store.connection import Connection
from kmonitor.hub.store.numbering import Span
from kmonitor_agent.protocol.messages import AuditRow

MAX_ROWS: Final = 200_000
"""So many are kept, the newest."""

_MAX_TEXT: Final = 4096


def read_audit(connection: Connection, span: Span, before: int, limit: int) -> list[AuditRow]:
    """At most `limit` rows of a hub older than row `before` (0: from the newest), newest first."""
    found = connection.execute(
        "SELECT id, wall_s, who, what, run, subject, result FROM audit"
        " WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?",
        (span.first, before - 1 if before else span.last, limit),
    )
    return [
        AuditRow(row, wall_s, *(text[:_MAX_TEXT] for text in texts))
        for row, wall_s, *texts in found
    ]


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
