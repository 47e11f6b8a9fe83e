"""A file that appears complete or not at all."""

import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kmonitor.base.errors import UserError

_LONGEST_STEM = 80
"""Most characters of the target's name in the name of the unfinished file."""


@contextmanager
def atomic_file(output: Path) -> Generator[BinaryIO]:
    """Open a file to write to, which gets its name once it is complete.

    The file is written under a temporary name in the same folder and then renamed. A failure
    leaves the former file in place, and the later of two writers replaces the whole file. A device
    or a pipe is written to directly.

    Args:
        output: Name of the file; an existing file is replaced.

    Raises:
        UserError: The file cannot be written, with the cause.
    """
    try:
        if output.is_dir():
            raise UserError(
                f"{output} cannot be written: it is a folder.", "Choose a file inside it."
            )
        if output.exists() and not output.is_file():
            with output.open("wb") as file:
                yield file
            return
        target = Path(os.path.realpath(output))
        with _unfinished(target) as (unfinished, file):
            yield file
            file.flush()
            os.fsync(file.fileno())
            unfinished.replace(target)
    except OSError as exc:
        raise UserError(
            f"{output} cannot be written: {exc.strerror or exc}.", "Choose another file."
        ) from exc
    except ValueError as exc:  # a name that no file can have
        if not _is_of_name(output):
            raise
        raise UserError(f"{str(output)!r} is not a file name.", "Choose another file.") from exc


@contextmanager
def _unfinished(target: Path) -> Generator[tuple[Path, BinaryIO]]:
    """Open a new file with a unique name beside the target; remove it unless it was renamed.

    The file has the permissions of an existing target, and is never readable by others before.
    """
    name = f".{target.name[:_LONGEST_STEM]}.{secrets.token_hex(6)}.part"
    path = target.with_name(name)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(number, "wb") as file:
            if mode is not None:
                path.chmod(mode)
            yield path, file
    finally:
        path.unlink(missing_ok=True)


def _is_of_name(output: Path) -> bool:
    """True if the system refuses the name itself: a zero byte, a lone surrogate."""
    try:
        output.stat()
    except ValueError:
        return True
    except OSError:
        return False
    return False
