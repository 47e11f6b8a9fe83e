"""Attempts of folds: their records, their table and file, and listeners of a study.

An attempt is one process of a fold. While it runs, here or on a cluster, listeners see it as a
`RunningAttempt`; once it ended it is an `Attempt`: a line of `AttemptsFile`, a row of `Attempts`.
"""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol, Self

import msgspec
from typing_extensions import override

from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.local.private_files import check_plain, open_private
from kmonitor_agent.wire.messages.fields import (
    Amount,
    Change,
    Count,
    Name,
    Seconds,
    Text,
    Wall,
    clamp_fields,
)
from kmonitor_agent.wire.messages.study_events import FoldCause, TrialOutcome
from kmonitor_agent.wire.text import binary_size, printable

TRIED_AGAIN: Final[frozenset[FoldCause]] = frozenset(
    {"out_of_memory", "timeout", "hang", "killed"}
)
"""Causes after which a fold is retried; an error would come again."""


class Attempt(msgspec.Struct, frozen=True):
    """One attempt at a fold: a process that has ended.

    Attributes:
        fold: Number of the fold, from 0.
        attempt: Number of the attempt, from 1.
        cause: "finished", "error", "out_of_memory", "timeout", "hang", "killed", or "interrupted"
            (by Ctrl+C at the study, which may be resumed).
        why: Reason, as text: for an error the exception's type and message; may be empty.
        signal: Name of the signal that killed the process ("SIGSEGV"); empty if none did.
        seconds: Time from the start of the function until the process had ended, seconds.
        steps: Steps of fits with a MonitorCallback and calls of `fold.step()`. For a killed
            process those it had reported, which it does four times a second.
        peak_bytes: Peak memory of its processes together, bytes, without file-backed pages. If the
            kernel killed it at its bound: the peak of their control group if that is higher; `why`
            says so.
        growth_bytes: Growth of that memory from start to end, bytes.
        vram_bytes: Peak of the framework's allocator on its GPU, bytes. None: no GPU was used.
        device: GPU that it was pinned to, as in CUDA_VISIBLE_DEVICES; empty if none.
        resumed: True if it continued where the attempt before was killed.
        started_wall_s: Time of the start, UTC epoch seconds.
        private: True if it had a MonitorCallback with `private=True`: its exception's text stays
            on this machine.
        node: Host of a cluster that it ran on; empty for the host of the study itself.
        noun: Word for the fold in texts: "fold" or "trial".
        outcome: "pruned", "too_large" or "failed" for a finished trial without a value; else
            empty.
    """

    fold: Count
    attempt: Count
    cause: FoldCause
    why: Text = ""
    signal: Name = ""
    seconds: Seconds = 0.0
    steps: Count = 0
    peak_bytes: Count = 0
    growth_bytes: Change = 0
    vram_bytes: Amount | None = None
    device: Name = ""
    resumed: bool = False
    started_wall_s: Wall = 0.0
    private: bool = False
    node: Name = ""
    noun: Noun = "fold"
    outcome: TrialOutcome = ""


def ending_text(attempt: Attempt) -> str:
    """End of an attempt in a word or two."""
    text = (attempt.outcome or attempt.cause).replace("_", " ")
    return f"{text} ({attempt.signal})" if attempt.signal else text


def seconds_text(seconds: float) -> str:
    """A duration: "0.42", "12.3", "754"."""
    digits = 2 if seconds < 10 else 1 if seconds < 100 else 0  # noqa: PLR2004 - three digits
    return f"{seconds:.{digits}f}"


class RunningAttempt(Protocol):
    """An attempt that has not ended, as last measured or reported; reading it never waits."""

    @property
    def fold(self) -> int:
        """Index, from 0."""
        ...

    @property
    def attempt(self) -> int:
        """From 1."""
        ...

    @property
    def device(self) -> str:
        """GPU that it is pinned to; empty if none."""
        ...

    @property
    def resumed(self) -> bool:
        """True if it continues where the attempt before was killed."""
        ...

    @property
    def is_ready(self) -> bool:
        """True if its function was found."""
        ...

    @property
    def share(self) -> float | None:
        """Part of its work that is done, 0..1; None: unknown."""
        ...

    @property
    def held_bytes(self) -> int:
        """Memory of all its processes at the last measurement, bytes."""
        ...

    def elapsed_s(self, now_s: float) -> float:
        """Time since it began, seconds; 0 before.

        Args:
            now_s: `time.monotonic`.
        """
        ...

    def limit_s(self, now_s: float) -> float | None:
        """Maximum time that it may take, seconds; None: not known yet.

        Args:
            now_s: `time.monotonic`.
        """
        ...


class StudyListener(Protocol):
    """Follows a study; called by the thread that runs it, must neither raise nor wait."""

    def progressed(
        self, done: int, running: Sequence[RunningAttempt], finished_s: list[float]
    ) -> None:
        """Called many times a second while the study runs.

        Args:
            done: Number of folds that are over.
            finished_s: Durations of the folds that finished, seconds.
        """

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        """Called when an attempt ended; `again`: the fold is retried, otherwise it is over."""


class StudyListenerGroup:
    """Several listeners, as one."""

    def __init__(self, *listeners: StudyListener) -> None:
        self._listeners = listeners

    def progressed(
        self, done: int, running: Sequence[RunningAttempt], finished_s: list[float]
    ) -> None:
        for listener in self._listeners:
            listener.progressed(done, running, finished_s)

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        for listener in self._listeners:
            listener.ended(attempt, again=again)


_HEADS: Final = ("attempt", "ended", "seconds", "steps", "RAM peak", "growth", "VRAM peak")
_LONGEST_REASON: Final = 60


class Attempts(tuple[Attempt, ...]):  # noqa: SLOT001 - no tuple's subclass can have slots
    """Every attempt, in the order in which they ended; prints as a table.

    Attributes:
        trouble: Message if results could not be written; empty when all were.
    """

    trouble: str

    def __new__(cls, attempts: Iterable[Attempt] = (), trouble: str = "") -> Self:
        created = super().__new__(cls, attempts)
        created.trouble = trouble
        return created

    @override
    def __str__(self) -> str:
        noun = self[0].noun if self else "fold"
        rows = [(noun, *_HEADS), *(_cells(each) for each in self)]
        if any(each.node for each in self):
            nodes = ("node", *(each.node for each in self))
            rows = [(*row, node) for row, node in zip(rows, nodes, strict=True)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        lines = [_row_text(row, widths) for row in rows]
        notes = [f"{noun} {each.fold}: {_short(each.why)}" for each in self if each.why]
        notes += [self.trouble] if self.trouble else []
        return "\n".join(map(printable, [lines[0], "-" * len(lines[0]), *lines[1:], *notes]))

    @override
    def __repr__(self) -> str:
        return str(self)


def _cells(attempt: Attempt) -> tuple[str, ...]:
    growth = f"{'-' if attempt.growth_bytes < 0 else '+'}{binary_size(abs(attempt.growth_bytes))}"
    return (
        str(attempt.fold),
        f"{attempt.attempt}{', resumed' if attempt.resumed else ''}",
        ending_text(attempt),
        seconds_text(attempt.seconds),
        str(attempt.steps) if attempt.steps else "-",
        binary_size(attempt.peak_bytes) if attempt.peak_bytes else "-",
        growth,
        "-" if attempt.vram_bytes is None else binary_size(attempt.vram_bytes),
    )


def _row_text(row: Sequence[str], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _short(text: str) -> str:
    line = text.strip().splitlines()[0]
    return line if len(line) <= 2 * _LONGEST_REASON else f"{line[: 2 * _LONGEST_REASON]}…"


_SCRIPT_ENDED: Final = "the script that ran the study ended before this attempt did"

_MOST_BYTES: Final = 64 * 2**20
"""Maximum size of the file, bytes: hundreds of thousands of attempts."""


class _StartLine(msgspec.Struct, frozen=True, rename={"fold": "began"}):
    """Line for the start of an attempt; its first field's name differs from that of an end."""

    fold: Count
    attempt: Count
    started_wall_s: Wall
    noun: Noun


_LINE_DECODERS: Final = (msgspec.json.Decoder(Attempt), msgspec.json.Decoder(_StartLine))


class AttemptsFile:
    """File of attempts, written by the holder of the study's lock.

    Lines that could not be written are retried with the next one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._exists = False
        self._unwritten = b""
        self._has_failed = False

    def read(self) -> tuple[list[Attempt], list[Attempt]]:
        """Attempts that ended, and those without a final line, cut off by an end of the script.

        Raises:
            OSError: The file cannot be read.
        """
        ended: list[Attempt] = []
        unfinished: dict[tuple[int, int], _StartLine] = {}
        with open_private(self._path, "a+b") as file:
            file.seek(0)
            check_plain(self._path, _MOST_BYTES)
            data = file.read(_MOST_BYTES)
            if data and not data.endswith(b"\n"):
                # A start was cut off within its last line: the next one begins a new line.
                file.write(b"\n")
        self._exists = True
        for line in data.splitlines():
            match _line_of(line):
                case Attempt() as each:
                    ended.append(each)
                    unfinished.pop((each.fold, each.attempt), None)
                case _StartLine() as each:
                    unfinished[each.fold, each.attempt] = each
                case None:
                    pass
        return ended, [_end_of(each) for each in unfinished.values()]

    def append_start(self, fold: int, attempt: int, noun: Noun) -> None:
        """Record that an attempt is about to run.

        Args:
            attempt: Number of the attempt, from 1.
            noun: Word for the fold in texts: "fold" or "trial".

        Raises:
            OSError: The file cannot be written.
        """
        self._write(_StartLine(fold, attempt, time.time(), noun))

    def append_end(self, attempt: Attempt) -> None:
        """Record the end of an attempt; on the disk when this returns. Raises: OSError."""
        self._write(attempt)

    def _write(self, line: Attempt | _StartLine) -> None:
        self._unwritten += msgspec.json.encode(clamp_fields(line)) + b"\n"
        # An earlier write that failed may have left a part of a line.
        lead = b"\n" if self._has_failed else b""
        self._has_failed = True
        if self._exists:
            self._path.lstat()  # removed, with all that it said: a new one would hide that
        with open_private(self._path, "ab") as file:
            file.write(lead + self._unwritten)
            file.flush()
            os.fsync(file.fileno())
        self._exists = True
        self._has_failed = False
        self._unwritten = b""


def _line_of(line: bytes) -> Attempt | _StartLine | None:
    for decoder in _LINE_DECODERS:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return decoder.decode(line)
    return None


def _end_of(unfinished: _StartLine) -> Attempt:
    return Attempt(
        unfinished.fold,
        unfinished.attempt,
        "killed",
        _SCRIPT_ENDED,
        started_wall_s=unfinished.started_wall_s,
        noun=unfinished.noun,
    )
