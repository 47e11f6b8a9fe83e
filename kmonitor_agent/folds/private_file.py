"""Files of a study, which are its user's alone, whatever the mode of the folder around them."""

import os
from pathlib import Path
from typing import IO, Any


def open_private(path: Path, mode: str) -> IO[Any]:
    """Open a file, of mode 0600 if it is new.

    Args:
        path: The file.
        mode: As of `open`.

    Raises:
        OSError: It cannot be opened.
    """
    return open(path, mode, opener=_privately)


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
