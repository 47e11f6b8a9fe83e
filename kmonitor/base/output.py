"""Output of a process that ended, kept in a file."""

import os
from typing import IO


def last_line(file: IO[bytes], longest: int) -> str:
    """The last line that is not empty; empty where there is none.

    Args:
        file: What the process wrote.
        longest: Letters of it that are read at most.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 4 * longest))
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:longest] if lines else ""
