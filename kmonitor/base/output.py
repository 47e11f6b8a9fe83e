"""Output of an ended process, kept in a file."""

import os
from typing import IO


def last_line(file: IO[bytes], longest: int) -> str:
    """Return the last line that is not empty; empty if there is none.

    Args:
        file: Output of the process.
        longest: Most characters of the line that are returned.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 4 * longest))
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:longest] if lines else ""
