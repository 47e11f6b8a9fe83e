"""A terminal as a full screen: raw keys in, whole frames out, and restored in every case.

rich prints the frames but reads no keys, and Textual, which does both, takes 0.16 s and 33 MiB to
import where rich takes 0.05 s and 16 MiB. So the few keys of `kmonitor top` are read here.
"""

import codecs
import os
import select
import shutil
import signal
import sys
import termios
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

from kmonitor.base.wakeup import WakeupPipe

_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[2J"
_LEAVE: Final = "\x1b[0m\x1b[?25h\x1b[?1049l"
_BEGIN_FRAME: Final = "\x1b[?2026h"
_END_FRAME: Final = "\x1b[?2026l"
"""Sequences by which a terminal shows a frame at once; other terminals ignore them."""

_ESCAPE_S: Final = 0.05
"""Seconds without input after which Escape counts as a key; other keys arrive in one piece."""

_LFLAG: Final = 3
_CC: Final = 6

_SEQUENCES: Final = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[H": "home",
    "\x1bOH": "home",
    "\x1b[1~": "home",
    "\x1b[F": "end",
    "\x1bOF": "end",
    "\x1b[4~": "end",
    "\x1bOR": "f3",
    "\x1bOS": "f4",
    "\x1b[13~": "f3",
    "\x1b[14~": "f4",
    "\x1b[17~": "f6",
    "\x1b[21~": "f10",
}
_CHARACTERS: Final = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "interrupt",
    "\x1a": "suspend",
    "\x0c": "redraw",
    "\x1b": "escape",
}


def split_keys(text: str) -> list[str]:
    """Keys in the input from a terminal: names from the tables above, or typed characters."""
    keys: list[str] = []
    while text:
        known = next((each for each in _SEQUENCES if text.startswith(each)), "")
        if known:
            keys.append(_SEQUENCES[known])
            text = text[len(known) :]
        elif text[:2] in ("\x1b[", "\x1bO"):
            text = text[_sequence_length(text) :]
        else:
            keys.append(_CHARACTERS.get(text[0], text[0] if text[0].isprintable() else ""))
            text = text[1:]
    return [key for key in keys if key]


def _sequence_length(text: str) -> int:
    """Length of an unknown control sequence."""
    ends = (at for at, letter in enumerate(text[2:], 3) if "@" <= letter <= "~")
    return next(ends, len(text))


class KeyboardScreen:
    """Owns standard input and output of this process while it is open; main thread only."""

    def __init__(self, pipe: WakeupPipe) -> None:
        self._pipe = pipe
        self._input = sys.stdin.fileno()
        self._shell_mode = termios.tcgetattr(self._input)
        self._before: list[str] = []
        # The rest of a letter may still be on its way.
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")

    @contextmanager
    def opened(self) -> Generator[None]:
        """Switch to the alternate screen without a cursor; restore the screen at the end."""
        resized = signal.signal(signal.SIGWINCH, self._on_resized)
        try:
            self._enter()
            yield
        finally:
            self._leave()
            signal.signal(signal.SIGWINCH, resized)

    @property
    def size(self) -> tuple[int, int]:
        """Current columns and lines."""
        try:
            size = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            size = shutil.get_terminal_size()
        return max(1, size.columns), max(1, size.lines)

    def draw(self, lines: Sequence[str]) -> None:
        """Show a frame; only changed lines are sent."""
        parts = [
            f"\x1b[{number};1H\x1b[2K{line}"
            for number, line in enumerate(lines, 1)
            if number > len(self._before) or self._before[number - 1] != line
        ]
        if len(lines) < len(self._before):
            parts.append(f"\x1b[{len(lines) + 1};1H\x1b[J")
        self._before = list(lines)
        if parts:
            self._write(_BEGIN_FRAME + "".join(parts) + "\x1b[0m" + _END_FRAME)

    def redraw(self) -> None:
        """Send all lines with the next frame, after a new size or another program's output."""
        self._before = []
        self._write("\x1b[2J")

    def wait(self, timeout_s: float) -> list[str] | None:
        """Keys typed within a time, or until the pipe is woken; None: the terminal is closed."""
        ready, _, _ = select.select([self._input, self._pipe], [], [], timeout_s)
        self._pipe.clear()
        if self._input not in ready:
            return []
        data = os.read(self._input, 4096)
        if not data:
            return None
        if data.endswith(b"\x1b") and select.select([self._input], [], [], _ESCAPE_S)[0]:
            data += os.read(self._input, 4096)
        return split_keys(self._decoder.decode(data))

    def suspend(self) -> None:
        """Stop this process as Ctrl+Z does, until the shell continues it."""
        self._leave()
        os.kill(0, signal.SIGTSTP)  # the whole job, as the terminal itself would
        self._enter()

    def _enter(self) -> None:
        raw = termios.tcgetattr(self._input)
        # Ctrl+C and Ctrl+Z arrive as keys: the screen is put away before they take effect.
        raw[_LFLAG] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
        raw[0] &= ~(termios.IXON | termios.ICRNL)
        raw[_CC][termios.VMIN] = 1
        raw[_CC][termios.VTIME] = 0
        termios.tcsetattr(self._input, termios.TCSADRAIN, raw)
        self._write(_ENTER)

    def _leave(self) -> None:
        try:
            self._write(_LEAVE)
            termios.tcsetattr(self._input, termios.TCSADRAIN, self._shell_mode)
        except (OSError, termios.error):
            return  # the terminal is gone
        self._before = []

    def _on_resized(self, _number: int, _frame: FrameType | None) -> None:
        self._pipe.wake()

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
