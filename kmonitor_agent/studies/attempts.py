"""What each attempt of each fold took and how it ended: lines that are kept, and their table."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, Self

import msgspec
from typing_extensions import override

from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.messages.identity import Amount, Change, Count, Name, Seconds, Text, Wall
from kmonitor_agent.wire.messages.study_events import TrialOutcome
from kmonitor_agent.wire.printable import printable
from kmonitor_agent.wire.text import bytes_text

Cause = Literal["finished", "error", "out_of_memory", "timeout", "hang", "killed", "interrupted"]
"""How an attempt ended. "interrupted" is by Ctrl+C at the study, which a later start goes on."""

TRIED_AGAIN: Final[frozenset[Cause]] = frozenset({"out_of_memory", "timeout", "hang", "killed"})
"""An error would come again."""


class Attempt(msgspec.Struct, frozen=True):
    """One process of a fold.

    Attributes:
        fold: Index, from 0.
        attempt: From 1.
        cause: How it ended.
        why: What is known of it, in words; with an error the exception's type and message.
        signal: Name of the signal that killed it ("SIGSEGV"); empty when none did.
        seconds: From its word to begin until it was gone.
        steps: Of its fits with MonitorCallback, or of `fold.step()`; of one that was killed those
            that it had told, four times a second.
        peak_bytes: Highest resident set of its processes together. Of one that the kernel killed
            at its bound, what their control group held at most, where that is more; `why` says so.
        growth_bytes: Of their resident set, from begin to end.
        vram_bytes: Peak of the framework's allocator on its GPU; None: it used none.
        device: The GPU that it was pinned to, as CUDA_VISIBLE_DEVICES names it; empty without.
        resumed: It went on where the attempt before was killed.
        began_wall_s: When it began, UTC epoch seconds.
        private: A MonitorCallback of it is private: its exception's text stays on this machine.
        node: Host that it ran on, of a cluster; empty for the study's own process's.
        noun: What its fold is for people.
        outcome: What a finished one came to, where that is no value.
    """

    fold: Count
    attempt: Count
    cause: Cause
    why: Text = ""
    signal: Name = ""
    seconds: Seconds = 0.0
    steps: Count = 0
    peak_bytes: Count = 0
    growth_bytes: Change = 0
    vram_bytes: Amount | None = None
    device: Name = ""
    resumed: bool = False
    began_wall_s: Wall = 0.0
    private: bool = False
    node: Name = ""
    noun: Noun = "fold"
    outcome: TrialOutcome = ""


_HEADS: Final = ("try", "ended", "seconds", "steps", "RAM peak", "growth", "VRAM peak")
_MOST_WORDS: Final = 60


class Ledger(tuple[Attempt, ...]):  # noqa: SLOT001 - no tuple's subclass can have slots
    """Every attempt, in the order in which they ended; prints as a table.

    Attributes:
        trouble: What of it is not kept, for people; empty when all is.
    """

    trouble: str

    def __new__(cls, attempts: Iterable[Attempt] = (), trouble: str = "") -> Self:
        """Of these attempts."""
        made = super().__new__(cls, attempts)
        made.trouble = trouble
        return made

    @override
    def __str__(self) -> str:
        noun = self[0].noun if self else "fold"
        rows = [(noun, *_HEADS), *(_cells(each) for each in self)]
        if any(each.node for each in self):
            nodes = ("node", *(each.node for each in self))
            rows = [(*row, node) for row, node in zip(rows, nodes, strict=True)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        lines = [_line(row, widths) for row in rows]
        told = [f"{noun} {each.fold}: {_short(each.why)}" for each in self if each.why]
        told += [self.trouble] if self.trouble else []
        return "\n".join(map(printable, [lines[0], "-" * len(lines[0]), *lines[1:], *told]))

    @override
    def __repr__(self) -> str:
        return str(self)


def how_text(attempt: Attempt) -> str:
    """How an attempt ended, in a word or two."""
    words = (attempt.outcome or attempt.cause).replace("_", " ")
    return f"{words} ({attempt.signal})" if attempt.signal else words


def seconds_text(seconds: float) -> str:
    """A duration: "0.42", "12.3", "754"."""
    digits = 2 if seconds < 10 else 1 if seconds < 100 else 0  # noqa: PLR2004 - three digits
    return f"{seconds:.{digits}f}"


def _cells(each: Attempt) -> tuple[str, ...]:
    growth = f"{'-' if each.growth_bytes < 0 else '+'}{bytes_text(abs(each.growth_bytes))}"
    return (
        str(each.fold),
        f"{each.attempt}{', resumed' if each.resumed else ''}",
        how_text(each),
        seconds_text(each.seconds),
        str(each.steps) if each.steps else "-",
        bytes_text(each.peak_bytes) if each.peak_bytes else "-",
        growth,
        "-" if each.vram_bytes is None else bytes_text(each.vram_bytes),
    )


def _line(row: Sequence[str], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _short(text: str) -> str:
    line = text.strip().splitlines()[0]
    return line if len(line) <= 2 * _MOST_WORDS else f"{line[: 2 * _MOST_WORDS]}…"
