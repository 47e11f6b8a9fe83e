"""Whether files can be written at a place: tried out, since permissions alone do not tell.

Root may write anywhere by its permissions, but not below `/proc`, on a read-only mount or on a
full disk.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

_TRIED_BYTES: Final = 64 * 1024
"""More than a file system keeps inside of a folder's own blocks."""


def nearest_existing(path: Path) -> Path:
    """The path, or the closest above it that is there."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def write_fault(path: Path) -> str:
    """Why no file can be written in a folder, made if it is missing; empty if one can.

    A file is written in a folder of its own and both are removed again.
    """
    try:
        with (
            tempfile.TemporaryDirectory(prefix=".kmonitor-", dir=nearest_existing(path)) as folder,
            tempfile.TemporaryFile(dir=folder) as tried,
        ):
            tried.write(bytes(_TRIED_BYTES))
            tried.flush()
            os.fsync(tried.fileno())
    except OSError as exc:
        return exc.strerror or str(exc)
    return ""


def free_bytes(path: Path) -> int | None:
    """Room where a path lies or would lie, bytes; None where the file system does not tell."""
    try:
        found = shutil.disk_usage(nearest_existing(path))
    except OSError:
        return None
    return found.free if found.total else None
