"""The places of the hub's sockets, and the private folder that guards them."""

import os
import stat
from pathlib import Path

from kmonitor_agent.local.folders import Folders

INGEST_NAME = "agents.sock"
"""File name of the socket that agents connect to, in the hub's runtime folder."""


class NotPrivate(Exception):
    """A folder that must be this user's alone is not.

    Attributes:
        path: The folder.
        why: What is wrong with it and what to do.
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


def ingest_socket(folders: Folders) -> Path:
    """Path of the socket that agents connect to."""
    return folders.runtime / INGEST_NAME


def view_socket(folders: Folders) -> Path:
    """Path of the socket that desktops and the command line connect to."""
    return folders.runtime / "view.sock"


def hub_lock(folders: Folders) -> Path:
    """Path of the lock that the hub holds while it is bound."""
    return folders.runtime / "hub.lock"


def ipc(path: Path) -> str:
    """A socket's path as a ZeroMQ address."""
    return f"ipc://{path}"


def make_private_folder(path: Path) -> None:
    """Make a folder of mode 0700, or check the one that is there.

    Raises:
        NotPrivate: It is a link, belongs to someone else, or others may enter.
        OSError: It cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        check_private_folder(path)


def check_private_folder(path: Path) -> None:
    """See that a folder is this user's alone.

    Raises:
        NotPrivate: It is a link, no folder, someone else's, or others may enter.
        OSError: It cannot be read.
    """
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise NotPrivate(path, "is a symbolic link; remove it")
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(path, "is not a folder; remove it")
    if not hasattr(os, "getuid"):
        return
    if found.st_uid != os.getuid():
        raise NotPrivate(path, f"belongs to user id {found.st_uid}; set KMONITOR_HOME elsewhere")
    if found.st_mode & 0o077:
        raise NotPrivate(path, f"is open to others; run: chmod 700 {path}")
