"""This user's folders as a hub needs them: made, and what is wrong where they cannot be."""

import shutil
import tempfile
from pathlib import Path

from kmonitor.base.errors import Expected
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.plain_files import is_plain
from kmonitor_agent.wire.local.private_files import (
    UnsafePath,
    make_own_folder,
    make_private_folder,
)

_ELSEWHERE = "Set KMONITOR_HOME to a folder that you can write to."

_NEEDED_BYTES = 4 * 1024 * 1024
"""An empty database with its log, and a log file, with some to spare."""

_PROBE_BYTES = 256 * 1024


class HomeUnusable(Expected):
    """A folder of this user's kmonitor cannot be made or entered; says which and what to do."""


def make_home(folders: Folders) -> None:
    """Make the folders that are needed before a hub is started.

    Raises:
        HomeUnusable: One cannot be made, or is open to others.
    """
    try:
        make_own_folder(folders.state)
        make_own_folder(folders.logs)
        make_private_folder(folders.runtime)
    except OSError as exc:
        if isinstance(exc, UnsafePath) and not is_plain(exc.path):
            raise HomeUnusable(f"{exc.path} {exc.why}.") from exc
        in_the_way = _file_in_the_way(folders.logs) or _file_in_the_way(folders.runtime)
        if in_the_way is not None:
            what = f"{in_the_way} is a file; kmonitor needs a folder there for {folders.state}."
            raise HomeUnusable(what.replace(f" for {in_the_way}.", "."), _ELSEWHERE) from exc
        place = exc.filename or folders.state
        raise HomeUnusable(f"{place} cannot be made: {exc.strerror}.", _ELSEWHERE) from exc


def lack_of_room(folders: Folders) -> str:
    """Which folder's disk has no room for a hub, as a sentence; empty when all have."""
    for folder in (folders.state, folders.runtime):
        try:
            free = shutil.disk_usage(folder).free
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(b"\0" * _PROBE_BYTES)
        except OSError as exc:
            # Also a quota or a disk that may only be read: these have room, but not for us.
            return f"{folder} cannot be written: {exc.strerror}."
        if free < _NEEDED_BYTES:
            return f"The disk of {folder} is full: {free // 1024} KiB are free."
    return ""


def _file_in_the_way(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        try:
            if place.is_dir():
                return None
            if place.exists() or place.is_symlink():
                return place
        except OSError:
            return None
    return None
