"""A command in a pseudo terminal, and the screen that a user of it would see."""

import codecs
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from rich.cells import cell_len

from tests.support.command_line import MODULE
from tests.support.waiting import DEADLINE_S, wait_until

_BEGUN: Final = re.compile(r"\x1b(\[[?\d;]*)?$")
"""A control sequence that continues in the next piece."""

_CONTROL: Final = re.compile(r"\x1b\[([?\d;]*)([@-~])|\x1b.|[\r\n\b\t]|[^\x1b\r\n\b\t]")


PALETTE: Final = {*map(str, range(30, 38)), *map(str, range(90, 98)), "39"}
"""Numbers of colours of letters which a terminal shows as fits its background."""

_ATTRIBUTES: Final = {"", *map(str, range(10)), *map(str, range(22, 30))}


def colours(output: str) -> set[str]:
    """Numbers of colours in what a program wrote, without bold, reverse and the like."""
    found = re.findall(r"\x1b\[([\d;]*)m", output)
    return {number for each in found for number in each.split(";")} - _ATTRIBUTES


class Screen:
    """As much of a terminal as the command line uses: cursor, clearing, the other screen."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns = columns
        self.lines = lines
        self.is_alternate = False
        self.has_cursor = True
        self.overruns: list[str] = []
        self._clear()

    def _clear(self) -> None:
        self._cells = [[" "] * self.columns for _ in range(self.lines)]
        self._row = self._column = 0

    def resize(self, columns: int, lines: int) -> None:
        """Another size, and nothing on it yet."""
        self.columns = columns
        self.lines = lines
        self._clear()

    @property
    def text(self) -> str:
        """The visible text, without blanks at the ends of lines."""
        return "\n".join("".join(cells).rstrip() for cells in self._cells)

    def feed(self, text: str) -> None:
        """Take what a program wrote."""
        for found in _CONTROL.finditer(text):
            if found[2]:
                self._control(found[1], found[2])
            elif not found[0].startswith("\x1b"):
                self._put(found[0])

    def _control(self, numbers: str, letter: str) -> None:
        match letter:
            case "H":
                row, _, column = numbers.partition(";")
                self._row = int(row or 1) - 1
                self._column = int(column or 1) - 1
            case "J" if numbers == "2":
                at = self._row, self._column
                self._clear()
                self._row, self._column = at
            case "J":
                for row in range(self._row, self.lines):
                    self._cells[row] = [" "] * self.columns
            case "K":
                first = 0 if numbers == "2" else self._column
                self._cells[self._row][first:] = [" "] * (self.columns - first)
            case "h" | "l" if numbers == "?1049":
                self.is_alternate = letter == "h"
                self._clear()
            case "h" | "l" if numbers == "?25":
                self.has_cursor = letter == "h"
            case _:
                pass

    def _put(self, letter: str) -> None:
        if letter == "\r":
            self._column = 0
        elif letter == "\n":
            self._new_line()
        elif letter == "\b":
            self._column = max(0, self._column - 1)
        elif letter >= " ":
            width = cell_len(letter)
            if self._column + width > self.columns:
                self.overruns.append("".join(self._cells[self._row]) + letter)
                self._column = 0
                self._new_line()
            cells = self._cells[self._row]
            cells[self._column] = letter
            cells[self._column + 1 : self._column + width] = [""] * (width - 1)
            self._column += width

    def _new_line(self) -> None:
        if self._row + 1 < self.lines:
            self._row += 1
        else:
            self._cells = [*self._cells[1:], [" "] * self.columns]


class PseudoTerminal:
    """`kmonitor ARGUMENTS` in a terminal of some size; ended at the latest with the block.

    Attributes:
        screen: The visible screen.
        output: All that was written so far.
        process: The command's.
    """

    def __init__(
        self,
        *arguments: str,
        columns: int = 80,
        lines: int = 24,
        environ: Mapping[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "-m", MODULE),
    ) -> None:
        self.screen = Screen(columns, lines)
        self.output = ""
        self._lock = threading.Lock()
        self._main, child = pty.openpty()
        self._set_size(columns, lines)
        self.mode_before = termios.tcgetattr(child)
        variables = {"TERM": "xterm-256color", **os.environ, **(environ or {})}
        for name in ("COLUMNS", "LINES"):
            variables.pop(name, None)
        self.process = subprocess.Popen(
            [*command, *arguments],
            stdin=child,
            stdout=child,
            stderr=child,
            env=variables,
            start_new_session=True,
        )
        self._child = child
        self._reader = threading.Thread(target=self._read, name="pseudo-terminal", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE_S)
        os.close(self._child)
        self._reader.join(DEADLINE_S)
        os.close(self._main)

    @property
    def text(self) -> str:
        """The screen's text now."""
        with self._lock:
            return self.screen.text

    @property
    def mode(self) -> list[object]:
        """The terminal's current treatment of keys."""
        return termios.tcgetattr(self._child)

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._main, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Change the terminal's size, as a window manager does."""
        with self._lock:
            self.screen.resize(columns, lines)
        self._set_size(columns, lines)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def wait_for(self, *texts: str) -> str:
        """Until the screen has all of these; its text then."""
        try:
            wait_until(lambda: all(text in self.text for text in texts))
        except AssertionError as exc:
            raise AssertionError(f"{texts} not in:\n{self.text}\n{self.output[-2000:]!r}") from exc
        return self.text

    def wait_end(self) -> int:
        """Until the command has ended; its status."""
        status = self.process.wait(DEADLINE_S)
        os.close(self._child)
        self._child = os.open(os.devnull, os.O_RDONLY)
        self._reader.join(DEADLINE_S)
        return status

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        rest = ""
        while True:
            try:
                data = os.read(self._main, 65536)
            except OSError:
                return  # no one holds the other end any more
            text = rest + decoder.decode(data)
            cut = _BEGUN.search(text)
            rest = text[cut.start() :] if cut else ""
            text = text[: cut.start()] if cut else text
            with self._lock:
                self.output += text
                self.screen.feed(text)
