"""A line of ours on the training's standard error: written at once and whole, or not at all.

No handler or stream object of the script's is called. A terminal or pipe that takes nothing now, a
full disk, a file at its limit and a closed stream lose the line; none of them holds anybody up.
"""

import logging
import os
import select
import stat
import sys
from typing import Any, Final

from kmonitor_agent.wire.local.file_limit import check_file_limit

LOGGER: Final = "kmonitor"
"""Name of the logger by whose level a script silences us."""

_DESCRIPTOR: Final = 2
_LONGEST_BYTES: Final = 4096
"""What a pipe that takes anything takes as a whole (PIPE_BUF of Linux)."""


class LineLost(OSError):
    """A line that standard error did not take."""


def write_line(text: str) -> None:
    """Write `kmonitor: ` and a text to standard error, unless the script silenced our logger.

    Raises:
        LineLost: It takes nothing now.
    """
    if not logging.getLogger(LOGGER).isEnabledFor(logging.WARNING):
        return
    line = f"kmonitor: {text}\n"
    stream: Any = sys.stderr
    if type(stream).__module__.startswith("ipykernel."):
        stream.write(
            line
        )  # a notebook's: it queues what is shown, and descriptor 2 is the server's
        return
    original: Any = sys.__stderr__
    if original is None or original.closed:
        raise LineLost("standard error is closed")
    data = line.encode(errors="backslashreplace")[:_LONGEST_BYTES]
    try:
        _check_takes(data)
        os.write(_DESCRIPTOR, data)
    except (OSError, ValueError) as exc:
        raise LineLost(f"standard error cannot be written: {exc}") from exc


def _check_takes(data: bytes) -> None:
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(_DESCRIPTOR, select.POLLOUT)
        if poll.poll(0) != [(_DESCRIPTOR, select.POLLOUT)]:
            raise LineLost("its reader is slow or has gone")
    status = os.fstat(_DESCRIPTOR)
    if stat.S_ISREG(status.st_mode):
        check_file_limit(status.st_size + len(data))
