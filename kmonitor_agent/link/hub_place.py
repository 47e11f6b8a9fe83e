"""Where a hub's socket lies, and whether it may be trusted."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from kmonitor_agent.wire.local.private_files import NotPrivate, check_private_folder


@dataclass(frozen=True, slots=True)
class Sighting:
    """One socket file as it was seen; another one there later compares unequal.

    Attributes:
        device: Of its file system.
        inode: Its number.
        changed_ns: When its status last changed.
    """

    device: int
    inode: int
    changed_ns: int


def look_for_hub(path: Path) -> Sighting | None:
    """The hub's socket if it is there; a few microseconds, so it may be asked each half second.

    Raises:
        NotPrivate: Somebody else could have put it there.
    """
    try:
        check_private_folder(path.parent)
        found = path.lstat()
    except NotPrivate:
        raise
    except OSError:
        return None
    if not stat.S_ISSOCK(found.st_mode):
        raise NotPrivate(path, "is not a socket; remove it")
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise NotPrivate(path, f"belongs to user id {found.st_uid}; remove it")
    return Sighting(found.st_dev, found.st_ino, found.st_ctime_ns)
