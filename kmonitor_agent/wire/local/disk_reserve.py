"""Room kept back on the disk, so that on a full one the weightiest events of a run still fit."""

import contextlib
import errno
import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.plain_files import open_new, open_plain
from kmonitor_agent.wire.local.spool_format import (
    BootFacts,
    Record,
    encode_record,
    segment_head,
    segment_name,
)
from kmonitor_agent.wire.messages.events import (
    Diagnosis,
    EpochEnded,
    EpochStarted,
    Event,
    GraphSize,
    LayoutPart,
    ModelFacts,
    Sample,
    Sources,
)

RESERVE_NAME: Final = "reserve"
"""File in a run's spool folder while its process lives; its content means nothing."""

RESERVE_BYTES: Final = 64 * 1024
_STEP_BYTES: Final = 8 * 1024

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_LIGHT: Final = (Sample, GraphSize, Sources, ModelFacts, LayoutPart, Diagnosis)
_MIDDLE: Final = (EpochStarted, EpochEnded)


def means_full(exc: BaseException) -> bool:
    """Whether an error says that the disk, or this user's part of it, is full."""
    return isinstance(exc, OSError) and exc.errno in _NO_ROOM


class DiskReserve:
    """A file of real blocks that is given up step by step; what fits goes to a segment of its own.

    A hub that comes after the process's death reads that segment like any other: the numbers that
    it lacks are told as lost. When the disk takes everything again the segment goes, since all of
    it is then written in order. On the agent's thread only.

    Attributes:
        saved: Numbers in the segment.
    """

    def __init__(self, facts: BootFacts) -> None:
        self.saved: list[int] = []
        self._facts = facts
        self._folder: Path | None = None
        self._left_bytes = 0
        self._segment: Path | None = None
        self._segment_bytes = 0

    def hold(self, folder: Path) -> None:
        """Take the room, in a run's folder; a disk that has none leaves us without."""
        self._folder = folder
        self._segment = None
        self.saved = []
        with contextlib.suppress(OSError):
            self._left_bytes = _allocated(folder / RESERVE_NAME)

    def takes(self, event: Event) -> bool:
        """Whether an event is worth the room that is left: epochs only in its first half."""
        if self._folder is None or isinstance(event, _LIGHT):
            return False
        return not isinstance(event, _MIDDLE) or self._left_bytes > RESERVE_BYTES // 2

    def save(self, records: Sequence[Record]) -> None:
        """Write events, all or none, giving up as much of the reserve as that takes.

        Raises:
            OSError: The reserve is used up, or the disk refuses for another reason.
        """
        if self._folder is None:
            raise FileNotFoundError(0, "no reserve")
        while True:
            try:
                self._write(self._folder, records)
            except OSError as exc:
                if not means_full(exc) or not self._give(self._folder):
                    raise
            else:
                self.saved += [record.seq for record in records]
                return

    @contextlib.contextmanager
    def set_aside(self) -> Generator[None]:
        """Have the segment out of the way while all that waits is written once more in order.

        The block's exception puts it back, its good end removes it.
        """
        segment = self._segment
        if segment is None:
            yield
            return
        aside = segment.with_suffix(".aside")
        segment.replace(aside)
        try:
            yield
        except BaseException:
            aside.replace(segment)
            raise
        aside.unlink(missing_ok=True)

    def release(self) -> None:
        """Give the room back; the segment stays."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                (self._folder / RESERVE_NAME).unlink(missing_ok=True)

    def _write(self, folder: Path, records: Sequence[Record]) -> None:
        data = b"".join(encode_record(*record) for record in records)
        is_new = self._segment is None
        path = self._segment or folder / segment_name(records[0].seq)
        if is_new:
            path.unlink(missing_ok=True)  # of this name can only be one without events
            data = segment_head(self._facts) + data
        descriptor = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            _write_all(descriptor, data)
        except OSError:
            if is_new:
                path.unlink()  # an empty segment would hide what is written before it later
            else:
                os.ftruncate(descriptor, self._segment_bytes)
            raise
        finally:
            os.close(descriptor)
        self._segment = path
        self._segment_bytes = len(data) + (0 if is_new else self._segment_bytes)

    def _give(self, folder: Path) -> bool:
        if self._left_bytes <= 0:
            return False
        self._left_bytes -= _STEP_BYTES
        try:
            descriptor = open_plain(folder / RESERVE_NAME, os.O_WRONLY)
            try:
                os.ftruncate(descriptor, self._left_bytes)
            finally:
                os.close(descriptor)
        except OSError:
            self._left_bytes = 0
            return False
        return True


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _allocated(path: Path) -> int:
    """Make the file, with blocks of its own; its size, bytes. Raises: OSError."""
    descriptor = open_new(path)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
        else:
            _write_all(descriptor, bytes(RESERVE_BYTES))
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return RESERVE_BYTES
