"""The table of samples and epochs as CSV, and all events as JSON, one object a line."""

import csv
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from kmonitor.export.plain_data import json_text
from kmonitor.export.sample_table import TableColumn


def write_csv(columns: Sequence[TableColumn], rows: Iterable[dict[str, Any]], file: TextIO) -> int:
    """Write the table; an empty cell was not read.

    Args:
        columns: Of the table.
        rows: Cells by column.
        file: Open for writing.

    Returns:
        Lines written, without the titles.
    """
    names = [column.name for column in columns]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    written = 0
    for row in rows:
        # The module writes an empty cell for None.
        writer.writerow([row.get(name) for name in names])
        written += 1
    return written


def write_json_lines(events: Iterable[dict[str, Any]], file: TextIO) -> int:
    """Write one object a line; returns how many."""
    written = 0
    for event in events:
        file.write(f"{json_text(event)}\n")
        written += 1
    return written
