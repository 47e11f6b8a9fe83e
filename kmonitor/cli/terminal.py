"""What the command line writes: lines, tables and JSON, safe to show on any terminal."""

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from kmonitor.presenters.formats import count_text, plain_text

_OUTPUT_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)

PIPE_WIDTH = 200
"""Columns of a table that goes into a file or a pipe, where nobody can widen the window."""


def say(line: str = "") -> None:
    """One line to standard output."""
    print(line, flush=True)


def complain(line: str) -> None:
    """One line to standard error."""
    print(line, file=sys.stderr, flush=True)


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


def json_text(value: object) -> str:
    """A value as JSON; NaN and infinity, which JSON lacks, become null."""
    return msgspec.json.encode(value).decode()


def plain(text: str) -> str:
    """A text from a training, without what could move the cursor or colour the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def say_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[str] = (),
    folds: Iterable[str] = (),
) -> None:
    """A table to standard output.

    Args:
        headers: Column titles.
        rows: Cells, as many as there are headers.
        right: Titles of the columns that are aligned to the right.
        folds: Titles of the columns that give way on a narrow terminal.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    to_the_right, giving_way = set(right), set(folds)
    for header in headers:
        justify = "right" if header in to_the_right else "left"
        table.add_column(
            header, justify=justify, overflow="fold", no_wrap=header not in giving_way
        )
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    _PipedConsole(file=sys.stdout, width=width, highlight=False, soft_wrap=False).print(table)


class _PipedConsole(Console):
    """Leaves it to `main` that the reader has gone; rich would exit with a status of its own."""

    @override
    def on_broken_pipe(self) -> NoReturn:
        """Raise the `BrokenPipeError` again that this is called for."""
        raise BrokenPipeError


def fields_of(value: object) -> Any:
    """A wire struct as plain data with every field, also those that stand at their default."""
    match value:
        case msgspec.Struct():
            names = value.__struct_fields__
            return {name: fields_of(getattr(value, name)) for name in names}
        case dict():
            return {str(key): fields_of(item) for key, item in _items(value)}
        case list() | tuple():
            return [fields_of(item) for item in _sequence(value)]
        case _:
            return value


def _items(value: Any) -> Iterable[tuple[object, object]]:
    return value.items()


def _sequence(value: Any) -> Iterable[object]:
    return value
