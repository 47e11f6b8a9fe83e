"""Cells of a row as they are read back, held to their bounds.

SQLite keeps a text in a column of numbers where somebody writes one there, and a disk flips bits:
what was checked when it was taken is checked once more where it is given out.
"""

from typing import TypeGuard

from kmonitor_agent.wire.messages.fields import count_within, seconds_within, wall_within
from kmonitor_agent.wire.messages.version import MAX_COUNT, MAX_EVENT_BYTES

DAMAGED = "damaged in the hub's database"


def whole(cell: object) -> int:
    """A count; 0 for what is no whole number."""
    return count_within(cell) if isinstance(cell, int) else 0


def number(cell: object) -> int:
    """A count, or one below 0 of a row of the hub's own; 0 for what is no whole number."""
    return min(max(cell, -MAX_COUNT), MAX_COUNT) if isinstance(cell, int) else 0


def seconds(cell: object) -> float:
    """A run time, seconds; 0 for what is no number."""
    return seconds_within(cell) if isinstance(cell, int | float) else 0.0


def wall(cell: object) -> float:
    """A moment, UTC epoch seconds; 0 for what is no number."""
    return wall_within(cell) if isinstance(cell, int | float) else 0.0


def text(cell: object, most: int) -> str:
    """A text of at most so many characters; empty for what is none."""
    return cell[:most] if isinstance(cell, str) else ""


def is_event_body(cell: object) -> TypeGuard[bytes]:
    """True if a cell can be an event."""
    return isinstance(cell, bytes) and 0 < len(cell) <= MAX_EVENT_BYTES
