"""A file that is there as a whole or not at all."""

import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kmonitor.base.errors import UserError

_LONGEST_STEM = 80
"""Characters of the target's name that the unfinished file has in its own."""


@contextmanager
def atomic_file(output: Path) -> Generator[BinaryIO]:
    """A file to write to, which takes its name once all is in it.

    It is written beside under a name of its own and renamed, so that a failure leaves what was
    there before, and of two writers the later one wins whole. A device or a pipe is written to as
    it is.

    Args:
        output: Its name; an existing file is replaced.

    Raises:
        UserError: It cannot be written, with the cause.
    """
    try:
        if output.is_dir():
            raise UserError(f"{output} cannot be written: it is a folder.", "Choose a file in it.")
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
    """A new file beside the target that nobody else has; removed, unless it was renamed.

    Who may read the target may read it, and nobody else.
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
