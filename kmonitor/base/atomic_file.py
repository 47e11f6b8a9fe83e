"""A file that is there as a whole or not at all."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kmonitor.base.errors import UserError


@contextmanager
def atomic_file(output: Path) -> Generator[BinaryIO]:
    """A file to write to, which takes its name once all is in it.

    It is written beside and renamed, so that a failure leaves what was there before. A device or
    a pipe is written to as it is.

    Args:
        output: Its name; what stands there is replaced.

    Raises:
        Expected: It cannot be written, with the cause.
    """
    try:
        if output.exists() and not (output.is_file() or output.is_dir()):
            with output.open("wb") as file:
                yield file
            return
        target = Path(os.path.realpath(output))
        unfinished = target.with_name(f"{target.name}.part")
        with _removed_on_failure(unfinished):
            with unfinished.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(target)
    except OSError as exc:
        raise UserError(
            f"{output} cannot be written: {exc.strerror or exc}.", "Name another file."
        ) from exc


@contextmanager
def _removed_on_failure(unfinished: Path) -> Generator[None]:
    try:
        yield
    except BaseException:
        if unfinished.is_file():
            unfinished.unlink(missing_ok=True)
        raise
