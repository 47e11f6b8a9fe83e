"""What the command line writes: lines, tables and JSON, safe to show on any terminal."""

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from kmonitor.export.plain_data import json_text
from kmonitor.presenters.formats import count_text, plain_text
from kmonitor_agent.local.printable import printable

_GAP = 2
_LEAST_CELLS = 16
"""Between two columns, and of a column that is elided."""

_OUTPUT_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)

PIPE_WIDTH = 200
"""Columns of a table that goes into a file or a pipe, where nobody can widen the window."""


def say(line: str = "") -> None:
    """One line to standard output."""
    print(line, flush=True)


def complain(line: str) -> None:
    """One line to standard error."""
    print(line, file=sys.stderr, flush=True)


def show_waiting(line: str) -> None:
    """A line on standard error, if that is a terminal, in the place of the one before.

    Args:
        line: Empty: there is nothing to wait for any more.
    """
    if sys.stderr.isatty():
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)


def is_of_output(fault: OSError) -> bool:
    """Whether it is standard output that failed: its disk is full, or its reader has gone.

    Args:
        fault: What was raised while a command ran.
    """
    if fault.filename is not None or fault.errno not in _OUTPUT_FAULTS:
        return False
    try:
        # Without a buffer (PYTHONUNBUFFERED) a flush alone would find nothing to fail with.
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


def discard_output() -> None:
    """Let go of what standard output holds; else Python complains of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_json(value: object) -> None:
    """One JSON document on one line to standard output."""
    say(json_text(value))


def counted(n: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 run", "2 runs"; `many` where that is not `one` with an s."""
    return f"{plain_text(count_text(n))} {one if n == 1 else many or f'{one}s'}"


def plain(text: str) -> str:
    """A text from a training, without what could move the cursor or colour the terminal."""
    return printable(text)


def say_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[str] = (),
    folds: Iterable[str] = (),
    elided: str = "",
) -> None:
    """A table to standard output.

    Args:
        headers: Column titles.
        rows: Cells, as many as there are headers.
        right: Titles of the columns that are aligned to the right.
        folds: Titles of the columns that give way on a narrow terminal.
        elided: Title of the column whose cells lose their middle where the line is too long.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    to_the_right, giving_way = set(right), set(folds)
    for header in headers:
        justify = "right" if header in to_the_right else "left"
        table.add_column(
            header, justify=justify, overflow="fold", no_wrap=header not in giving_way
        )
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    console = _PipedConsole(file=sys.stdout, width=width, highlight=False, soft_wrap=False)
    cells = [[plain(cell) for cell in row] for row in rows]
    if elided:
        _elide(headers, cells, headers.index(elided), console.width)
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _elide(headers: Sequence[str], rows: list[list[str]], column: int, width: int) -> None:
    """Give one column what the others leave of a line."""
    widest = [max(map(cell_len, each)) for each in zip(headers, *rows, strict=True)]
    others = sum(widest) - widest[column] + _GAP * (len(headers) - 1)
    for row in rows:
        row[column] = elided_middle(row[column], max(_LEAST_CELLS, width - others))


def elided_middle(text: str, cells: int) -> str:
    """A text in so many cells of a terminal, with an ellipsis in place of its middle."""
    if cell_len(text) <= cells:
        return text
    head, tail = "", ""
    for left, right in zip(text, reversed(text), strict=True):
        if cell_len(head + left + tail) >= cells:
            break
        head += left
        if cell_len(head + right + tail) >= cells:
            break
        tail = right + tail
    return f"{head}\N{HORIZONTAL ELLIPSIS}{tail}"


class _PipedConsole(Console):
    """Leaves it to `main` that the reader has gone; rich would exit with a status of its own."""

    @override
    def on_broken_pipe(self) -> NoReturn:
        """Raise the `BrokenPipeError` again that this is called for."""
        raise BrokenPipeError
