"""A `.keras` file beside a checkpoint, for other programs: whole, or not there at all."""

import contextlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.keras_names import names_kept
from kmonitor_agent.guard import described
from kmonitor_agent.reclaim.checkpoints import export_path, unfinished_export_path
from kmonitor_agent.reclaim.disk_file import flush_folder


class NotExported(Exception):
    """The file was not written; nothing of it is left.

    Attributes:
        why: The reason, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def export_model(
    model: KerasModel, checkpoint: Path, free_bytes: Callable[[], int] | None = None
) -> Path:
    """Have Keras write the model beside its checkpoint; the path of the file.

    Keras builds a copy of all weights in memory meanwhile. The file holds weights and optimizer,
    but no states of seeds: a training goes on exactly only from the checkpoint.

    Args:
        model: What to write.
        checkpoint: The checkpoint's path; the export has its name.
        free_bytes: Free space there, bytes; None: not looked at.

    Raises:
        NotExported: Keras cannot, or the disk does not take it.
    """
    unfinished, target = unfinished_export_path(checkpoint), export_path(checkpoint)
    try:
        _check_room(checkpoint, free_bytes)
        with names_kept():  # Keras makes a layer, an optimizer and a metric to look at
            model.save(unfinished)
        keep_exported(unfinished, target)
    except NotExported:
        raise
    except Exception as exc:
        raise NotExported(described(exc)) from exc
    finally:
        # Whatever ended it, also an interrupt: nothing half-written stays.
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return target


def _check_room(checkpoint: Path, free_bytes: Callable[[], int] | None) -> None:
    if free_bytes is not None and free_bytes() < checkpoint.stat().st_size:
        raise NotExported("there is no room for it beside the checkpoint")


def keep_exported(unfinished: Path, target: Path) -> None:
    """Flush a file that Keras wrote, see that it is whole, and give it its name.

    Raises:
        NotExported: It is not whole.
        OSError: The disk failed.
    """
    with unfinished.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        with zipfile.ZipFile(unfinished) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile as exc:
        raise NotExported(f"the file did not read back: {exc}") from exc
    if damaged is not None or not unfinished.stat().st_size:
        raise NotExported(f"the file did not read back: {damaged} is damaged")
    unfinished.replace(target)
    flush_folder(target.parent)
