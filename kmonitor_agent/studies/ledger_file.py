"""The ledger of a study on the disk: a line for each attempt that began, one when it ended."""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.local.plain_files import check_plain, open_private
from kmonitor_agent.wire.messages.fields import within
from kmonitor_agent.wire.messages.identity import Count, Wall

_SCRIPT_ENDED: Final = "the script that ran the study ended before it did"


class _Began(msgspec.Struct, frozen=True, rename={"fold": "began"}):
    """An attempt began; no line of an end has this name."""

    fold: Count
    attempt: Count
    began_wall_s: Wall
    noun: Noun


_MOST_BYTES: Final = 64 * 2**20
"""No ledger is larger: that of hundreds of thousands of attempts."""

_LINE: Final = (msgspec.json.Decoder(Attempt), msgspec.json.Decoder(_Began))


class LedgerFile:
    """Written by who holds the study's lock; what could not be written goes with the next line."""

    def __init__(self, path: Path) -> None:
        """Name it; nothing is made."""
        self._path = path
        self._is_there = False
        self._unwritten = b""
        self._has_failed = False

    def read(self) -> tuple[list[Attempt], list[Attempt]]:
        """Attempts that ended, and those that an end of the script cut, which no line says.

        Raises:
            OSError: It cannot be read.
        """
        ended: list[Attempt] = []
        begun: dict[tuple[int, int], _Began] = {}
        with open_private(self._path, "a+b") as file:
            file.seek(0)
            check_plain(self._path, _MOST_BYTES)
            data = file.read(_MOST_BYTES)
            if data and not data.endswith(b"\n"):
                # A start was cut off within its last line: the next one begins a new line.
                file.write(b"\n")
        self._is_there = True
        for line in data.splitlines():
            match _line_of(line):
                case Attempt() as each:
                    ended.append(each)
                    begun.pop((each.fold, each.attempt), None)
                case _Began() as each:
                    begun[each.fold, each.attempt] = each
                case None:
                    pass
        return ended, [_cut(each) for each in begun.values()]

    def begins(self, fold: int, attempt: int, noun: Noun) -> None:
        """An attempt is about to run.

        Args:
            fold: Index.
            attempt: From 1.
            noun: What its fold is for people.

        Raises:
            OSError: It cannot be written.
        """
        self._write(_Began(fold, attempt, time.time(), noun))

    def ended(self, attempt: Attempt) -> None:
        """An attempt ended; on the disk when this returns. Raises: OSError."""
        self._write(attempt)

    def _write(self, line: Attempt | _Began) -> None:
        self._unwritten += msgspec.json.encode(within(line)) + b"\n"
        # What failed before may have left a part of a line.
        lead = b"\n" if self._has_failed else b""
        self._has_failed = True
        if self._is_there:
            self._path.lstat()  # removed, with all that it said: a new one would hide that
        with open_private(self._path, "ab") as file:
            file.write(lead + self._unwritten)
            file.flush()
            os.fsync(file.fileno())
        self._is_there, self._has_failed, self._unwritten = True, False, b""


def _line_of(line: bytes) -> Attempt | _Began | None:
    for decoder in _LINE:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return decoder.decode(line)
    return None


def _cut(began: _Began) -> Attempt:
    return Attempt(
        began.fold,
        began.attempt,
        "killed",
        _SCRIPT_ENDED,
        began_wall_s=began.began_wall_s,
        noun=began.noun,
    )
