"""The table of samples and epochs as CSV, and all events as JSON, one object a line."""

import csv
import io
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

from kmonitor.base.atomic_file import whole_file
from kmonitor.base.plain_data import json_text
from kmonitor.export.table_formats import TableColumn
from kmonitor_agent.wire.printable import printable

_FORMULA: Final = ("=", "+", "-", "@")
_BEFORE: Final = frozenset("\t\r\n")
"""What spreadsheets take for the begin of a formula, and what they pass over before it."""


@contextmanager
def written_as_text(output: Path) -> Generator[TextIO]:
    """A file to write UTF-8 to, which takes its name once all is in it. Raises: `Expected`."""
    with whole_file(output) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            yield text
            text.flush()
        finally:
            text.detach()


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
    writer.writerow(map(harmless, names))
    written = 0
    for row in rows:
        # The module writes an empty cell for None.
        writer.writerow([harmless(row.get(name)) for name in names])
        written += 1
    return written


def harmless(cell: Any) -> Any:
    """A cell as a spreadsheet shows it and a terminal prints it: no text of a training acts there.

    A text that a spreadsheet would take for a formula begins with an apostrophe. Numbers stay.
    """
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or cell[:1] in _BEFORE else text


def write_json_lines(events: Iterable[dict[str, Any]], file: TextIO) -> int:
    """Write one object a line; returns how many."""
    written = 0
    for event in events:
        file.write(f"{json_text(event)}\n")
        written += 1
    return written
