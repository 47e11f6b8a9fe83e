"""Progress of a study in the terminal: a line that is updated, and one per ended fold."""

import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from kmonitor_agent.studies.attempts import Attempt, RunningAttempt, ending_text, seconds_text
from kmonitor_agent.studies.bounds import forecast_s
from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.text import binary_size, printable

_EVERY_S: Final = 0.2
_BAR: Final = 20
_MINUTE_S: Final = 60.0
_HOUR_S: Final = 3600.0


class TerminalProgress:
    """Writes to standard error, as progress bars do; ignores a closed or broken stream.

    Args:
        folds: Number of folds; 0: unknown.
        stream: Stream to write to; None: standard error.
    """

    def __init__(self, folds: int = 0, stream: Any = None, noun: Noun = "fold") -> None:
        self._noun = noun
        self._folds = folds
        self._stream = sys.stderr if stream is None else stream
        self._moves = False
        with suppress(OSError, ValueError, AttributeError):
            self._moves = bool(self._stream.isatty())
        self._next_s = 0.0
        self._width = 0

    def print_line(self, line: str) -> None:
        """Print a line that stays; characters that would move the cursor are escaped."""
        self._write("\r" + " " * self._width + "\r" if self._width else "")
        self._width = 0
        self._write(f"{printable(line)}\n")

    def begin(self, folds: int, finished: int) -> None:
        """Show the begin of the study.

        Args:
            folds: Number of folds.
            finished: Number of folds that finished at an earlier start: their results may be of
                earlier code.
        """
        self._folds = folds
        if finished:
            text = f"{finished} of {self._several(self._folds)} finished earlier"
            self.print_line(f"kmonitor: {text} and will not be run again")

    def interrupted(self, done: int, goes_on: str) -> None:
        """Show that Ctrl+C interrupted the study.

        Args:
            done: Number of folds that are over.
            goes_on: Advice on how to continue; may be empty.
        """
        of = f" of {self._folds}" if self._folds else ""
        noun = self._noun if (self._folds or done) == 1 else f"{self._noun}s"
        text = f"interrupted; {done}{of} {noun} {'is' if done == 1 else 'are'} done"
        self.print_line(f"kmonitor: {text}{'; ' if goes_on else ''}{goes_on}")

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        took = f"{seconds_text(attempt.seconds)} s, {binary_size(attempt.peak_bytes)}"
        ending = ending_text(attempt)
        why = attempt.why.strip().splitlines()[0] if attempt.why.strip() else ""
        for prefix in (f"{attempt.signal}: ", f"{ending}: "):
            why = why.removeprefix(prefix)
        reason = f": {why}" if why else ""
        follows = "; it will be retried" if again else ""
        number = f"{self._noun} {attempt.fold}"
        self.print_line(f"kmonitor: {number} {ending} ({took}){reason}{follows}")

    def progressed(
        self, done: int, running: Sequence[RunningAttempt], finished_s: list[float]
    ) -> None:
        """Update the progress line, at most five times a second.

        Args:
            done: Number of folds that are over.
            finished_s: Durations of the folds that finished, seconds.
        """
        now_s = time.monotonic()
        if not self._moves or now_s < self._next_s:
            return
        self._next_s = now_s + _EVERY_S
        parts = [self._bar(done), *(self._one(each, now_s, finished_s) for each in running)]
        line = " | ".join(parts)[: shutil.get_terminal_size().columns - 1]
        self._write("\r" + line.ljust(self._width))
        self._width = len(line)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _bar(self, done: int) -> str:
        if not self._folds:
            return f"{self._several(done)} done"
        filled = _BAR * done // self._folds
        return f"[{'#' * filled}{'.' * (_BAR - filled)}] {done}/{self._several(self._folds)}"

    def _several(self, count: int) -> str:
        return f"{count} {self._noun}{'' if count == 1 else 's'}"

    def _one(self, running: RunningAttempt, now_s: float, finished_s: list[float]) -> str:
        elapsed_s = running.elapsed_s(now_s)
        share = "" if running.share is None else f" {100 * running.share:.0f}%"
        details = [f"{self._noun} {running.fold}{share} {binary_size(running.held_bytes)}"]
        whole_s = forecast_s(elapsed_s, running.share, finished_s)
        if whole_s is not None:
            details.append(f"about {remaining_text(whole_s - elapsed_s)} left")
        return ", ".join(details)

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError, AttributeError):
            self._stream.write(text)
            self._stream.flush()


def remaining_text(seconds: float) -> str:
    """Rough text for a remaining time: "40 s", "3 min", "2.5 h"."""
    if seconds < _MINUTE_S:
        return f"{max(1.0, seconds):.0f} s"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.1f} h"
