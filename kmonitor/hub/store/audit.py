"""Reading and bounding the table of what was done through the hub."""

import sqlite3
from typing import Final

from kmonitor_agent.protocol.messages import AuditRow

MAX_ROWS: Final = 200_000
"""So many are kept, the newest."""

_MAX_TEXT: Final = 4096


def read_audit(connection: sqlite3.Connection, before: int, limit: int) -> list[AuditRow]:
    """At most `limit` rows older than row `before` (0: from the newest), newest first."""
    found = connection.execute(
        "SELECT id, wall_s, who, what, run, subject, result FROM audit"
        " WHERE (? = 0 OR id < ?) ORDER BY id DESC LIMIT ?",
        (before, before, limit),
    )
    return [
        AuditRow(row, wall_s, *(text[:_MAX_TEXT] for text in texts))
        for row, wall_s, *texts in found
    ]


def bound_audit(connection: sqlite3.Connection) -> None:
    """Forget the oldest rows beyond the bound."""
    connection.execute(
        "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?", (MAX_ROWS,)
    )
