"""Output of the command line: text, tables and JSON, safe on any terminal; exit statuses."""

import errno
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from kmonitor.base.errors import UserError
from kmonitor.base.plain_data import json_text
from kmonitor.ui.text.formats import NARROW_SPACE, bytes_text, count_text, with_plain_spaces
from kmonitor_agent.wire.text import printable

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
STILL_WAITING: Final = 3
"""Exit status: `command --wait` gave up before the training reached a safe point."""

ENDED_BADLY: Final = 5
"""Exit status of `show --follow`: the run failed, was interrupted, or was lost."""

INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""Exit status; like `INTERRUPTED` 128 + the signal's number, as shells report it."""


class UsageError(UserError):
    """The command line is invalid; nothing was started. Ends with the status `USAGE`."""


def print_text(text: str = "") -> None:
    """Print lines to standard output, without terminal control characters."""
    print(_lines_of(text), flush=True)


def print_stderr(text: str) -> None:
    """Print lines to standard error, without terminal control characters."""
    print(_lines_of(text), file=sys.stderr, flush=True)


def print_error(error: UserError) -> None:
    """Print the message and the remedy of an error to standard error."""
    print_stderr(f"kmonitor: {error.what}")
    if error.remedy:
        print_stderr(error.remedy)


def _lines_of(text: str) -> str:
    return "\n".join(map(terminal_safe, text.expandtabs(8).split("\n")))


def print_json(value: object) -> None:
    """Print a JSON document as one line to standard output."""
    print_text(json_text(value))


def show_waiting(line: str) -> None:
    """Show a line on standard error, if that is a terminal, replacing the line before.

    Args:
        line: The line; empty: the wait is over.
    """
    if sys.stderr.isatty():
        print(f"\r{terminal_safe(line)}\x1b[K", end="", file=sys.stderr, flush=True)


def clear_screen() -> None:
    """Clear the terminal and move the cursor to its top left."""
    print("\x1b[H\x1b[2J", end="", flush=True)


_OUTPUT_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)


def is_of_output(fault: OSError) -> bool:
    """True if standard output failed: its disk is full, or its reader has closed it.

    Args:
        fault: Exception of a command.
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
    """Discard buffered standard output; otherwise Python reports an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def terminal_safe(text: str) -> str:
    """A text from a training without terminal control characters."""
    return printable(text)


def terminal_lines(text: str, *, indent: int) -> str:
    """A text broken to the terminal's width, with all lines after the first indented.

    In a file or pipe the text is one line.

    Args:
        text: Text, perhaps from a training; lines are not broken at narrow spaces.
        indent: Cells of the indentation.
    """
    safe = _safe_but_joined(text)
    if not sys.stdout.isatty():
        return safe.replace(_JOINT, " ")
    width = max(_LEAST_CELLS, shutil.get_terminal_size().columns - indent)
    return f"\n{' ' * indent}".join(_broken(safe, width))


_JOINT: Final = "\ue000"
"""Replaces a narrow space while lines are broken: rich breaks lines at every kind of space."""


def _safe_but_joined(text: str) -> str:
    return _JOINT.join(map(terminal_safe, text.split(NARROW_SPACE)))


def _broken(text: str, width: int) -> list[str]:
    """Lines of a text; a number stays with its unit."""
    lines = Text(text).wrap(Console(width=width), width)
    return [line.plain.rstrip().replace(_JOINT, " ") for line in lines]


def pluralized(n: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 run", "2 runs"; `many` for an irregular plural."""
    return f"{with_plain_spaces(count_text(n))} {one if n == 1 else many or f'{one}s'}"


def size_text(n_bytes: int) -> str:
    """A size with its unit and a plain space, "10.6 MiB"."""
    return with_plain_spaces(bytes_text(n_bytes))


def is_confirmed(question: str, remedy: str) -> bool:
    """True if the user types yes.

    Raises:
        UserError: Standard input is no terminal.
    """
    if not sys.stdin.isatty():
        raise UserError("Cannot ask for confirmation: standard input is not a terminal.", remedy)
    print(f"{question} Type yes to confirm: ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("yes", "y")


def text_cells(text: str) -> int:
    """Number of cells that a text takes in a terminal; some characters take two."""
    return cell_len(text)


def elided_middle(text: str, cells: int) -> str:
    """A text shortened to a number of terminal cells, with an ellipsis in place of its middle."""
    if cell_len(text) <= cells:
        return text
    head = ""
    tail = ""
    for left, right in zip(text, reversed(text), strict=True):
        if cell_len(head + left + tail) >= cells:
            break
        head += left
        if cell_len(head + right + tail) >= cells:
            break
        tail = right + tail
    return f"{head}\N{HORIZONTAL ELLIPSIS}{tail}"


PIPE_WIDTH = 200
"""Width of a table in a file or a pipe, where no window can be widened."""

_GAP = 2
"""Cells between two columns."""

_LEAST_CELLS = 12
"""Least cells of a shortened text."""


def print_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[str] = (),
    folds: Iterable[str] = (),
    elided: str = "",
    drops: Sequence[str] = (),
) -> None:
    """Print a table to standard output, in lines no wider than the terminal.

    Texts are shortened first; then whole columns are left out, and named below the table. In a
    file or pipe nothing is left out.

    Args:
        headers: Column titles.
        rows: Cells, one per header; a narrow space keeps a number and its unit together in cells
            that are folded.
        right: Titles of columns aligned to the right: numbers, which are never shortened.
        folds: Titles of columns that continue in further lines where there is no room.
        elided: Title of the column whose cells lose their middle where the line is too long.
        drops: Titles of columns to leave out first, in this order; then empty columns and those
            furthest to the right follow. The first column stays.
    """
    every = terminal_columns(headers, rows, right=right, folds=folds, elided=elided)
    console = _PipedConsole(file=sys.stdout, width=PIPE_WIDTH, highlight=False, soft_wrap=False)
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        shown = _fitting_columns(every, width, drops)
    else:
        width = max(PIPE_WIDTH, _least_line_width(every))
        shown = every
    widths = _widths(shown, width)
    console.width = max(width, sum(widths) + _GAP * (len(shown) - 1))
    console.print(_table(shown, widths))
    if left_out := [each.title for each in every if each not in shown]:
        text = f"Not shown at {width} columns: {', '.join(left_out)}."
        print_text(terminal_lines(text, indent=0))


def terminal_columns(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[str] = (),
    folds: Iterable[str] = (),
    elided: str = "",
) -> list["TerminalColumn"]:
    """Columns of a table. Args: see `print_table`."""
    cells = [[_safe_but_joined(cell) for cell in row] for row in rows]
    return [
        TerminalColumn(
            terminal_safe(title),
            tuple(row[index] for row in cells),
            is_right=title in set(right),
            is_elided=title == elided,
            is_folded=title in set(folds),
        )
        for index, title in enumerate(headers)
    ]


def fitted_table(
    columns: Sequence["TerminalColumn"], width: int, drops: Sequence[str], rows: slice
) -> Table:
    """Return a table of at most `width` cells, with some of its rows.

    Args:
        columns: Columns with all rows, so that widths stay the same while rows scroll.
        width: Cells of a line.
        drops: See `print_table`.
        rows: Rows that are shown.
    """
    shown = _fitting_columns(columns, width, drops)
    return _table(shown, _widths(shown, width), rows)


@dataclass(frozen=True, slots=True)
class TerminalColumn:
    """One column, and the ways to shorten it; numbers are never shortened.

    Attributes:
        title: Title in the first line.
        cells: Text of each row.
        is_right: True if the column is aligned to the right.
        is_elided: True if cells lose their middle where the line is too long.
        is_folded: True if cells continue in further lines where there is no room.
        styles: Style of each row, as rich names it; empty: plain.
    """

    title: str
    cells: tuple[str, ...]
    is_right: bool = False
    is_elided: bool = False
    is_folded: bool = False
    styles: tuple[str, ...] = ()

    @property
    def natural_width(self) -> int:
        """Cells needed without shortening."""
        return max(map(cell_len, (self.title, *self.cells)))

    @property
    def least(self) -> int:
        """Least cells of the column."""
        if not (self.is_elided or self.is_folded):
            return self.natural_width
        return min(self.natural_width, max(_LEAST_CELLS, cell_len(self.title)))

    @property
    def is_empty(self) -> bool:
        """True if no row has a value in this column."""
        return not any(cell.strip("-\N{EN DASH} ") for cell in self.cells)


def _table(
    columns: Sequence[TerminalColumn], widths: Sequence[int], rows: slice = slice(None)
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    cells: list[list[Text]] = []
    for column, width in zip(columns, widths, strict=True):
        justify = "right" if column.is_right else "left"
        is_whole = not column.is_folded
        table.add_column(
            Text(column.title),
            justify=justify,
            overflow="fold",
            no_wrap=is_whole,
            width=width,
        )
        texts = column.cells[rows]
        if column.is_folded:
            texts = tuple("\n".join(_broken(cell, width)) for cell in texts)
        if column.is_elided:
            texts = tuple(elided_middle(cell, width) for cell in texts)
        texts = tuple(text.replace(_JOINT, " ") for text in texts)
        styles = column.styles[rows] or ("",) * len(texts)
        cells.append([Text(*cell) for cell in zip(texts, styles, strict=True)])
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    return table


def _least_line_width(columns: Sequence[TerminalColumn]) -> int:
    return sum(each.least for each in columns) + _GAP * (len(columns) - 1)


def _fitting_columns(
    every: Sequence[TerminalColumn], width: int, drops: Sequence[str]
) -> list[TerminalColumn]:
    shown = list(every)
    drop_order = [each for title in drops for each in every if each.title == title]
    drop_order += [each for each in reversed(every) if each.is_empty]
    drop_order += reversed(every)
    for each in drop_order:
        if _least_line_width(shown) <= width:
            break
        if each in shown and each is not every[0]:
            shown.remove(each)
    return shown


def _widths(columns: Sequence[TerminalColumn], width: int) -> list[int]:
    """Width of each column; folded columns are narrowed before the elided one."""
    widths = [each.natural_width for each in columns]
    excess = sum(widths) + _GAP * (len(columns) - 1) - width
    for index, column in sorted(enumerate(columns), key=lambda each: each[1].is_elided):
        cut = max(0, min(excess, widths[index] - column.least))
        widths[index] -= cut
        excess -= cut
    return widths


class _PipedConsole(Console):
    """Leaves a broken pipe to `main`; rich would exit with another status."""

    @override
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError
