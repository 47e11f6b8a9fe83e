"""How a private process names its host: only this user's own programs can tell which one it is.

The mark is made with a salt that lies in this user's state folder and never leaves it, and with
the boot's random id: this user's hub makes the same mark for its own host and compares. To anyone
without the salt no two marks have anything in common, not even those of one host.
"""

import contextlib
import hmac
import os
import socket
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.plain_files import KEY_BYTES, check_secret, open_new, read_own
from kmonitor_agent.wire.local.private_files import check_own_folder, make_own_folder

SALT_NAME: Final = "host-salt"
"""File in the state folder; 0600."""

_SALT_BYTES: Final = 32
_MARK_DIGITS: Final = 12


def host_mark(salt: bytes, boot: str) -> str:
    """The name of this host in a private boot, 12 hexadecimal digits.

    Args:
        salt: As `read_salt` or `make_salt` give it.
        boot: Id of the process start.
    """
    told = f"{boot}\0{socket.gethostname()}".encode("utf-8", "backslashreplace")
    return hmac.new(salt, told, "sha256").hexdigest()[:_MARK_DIGITS]


def group_mark(salt: bytes, group: str) -> str:
    """The name of a group of processes in a private boot: the same on every host with this salt.

    Args:
        salt: As above; the hosts of a group share it with the state folder.
        group: Its name.
    """
    told = f"group\0{group}".encode("utf-8", "backslashreplace")
    return hmac.new(salt, told, "sha256").hexdigest()[:_MARK_DIGITS]


def read_salt(state: Path) -> bytes | None:
    """This user's salt, or None if there is none that only this user can have written."""
    path = state / SALT_NAME
    try:
        check_own_folder(state)
        check_secret(path)
        salt = read_own(path, KEY_BYTES)
    except OSError:
        return None
    return salt if len(salt) == _SALT_BYTES else None


def make_salt(state: Path) -> bytes:
    """This user's salt, made if there is none; where the disk refuses, one for this process only.

    With the latter a hub cannot recognise its host, and nothing more is told than otherwise.
    """
    salt = os.urandom(_SALT_BYTES)
    with contextlib.suppress(OSError):
        make_own_folder(state)
        _put(state / SALT_NAME, salt)
    return read_salt(state) or salt


def _put(path: Path, salt: bytes) -> None:
    """Write a file that is never seen half written, and that whoever is first decides."""
    if path.is_symlink() or path.exists():
        return
    fresh = path.with_name(f"{SALT_NAME}.{os.getpid()}.new")
    descriptor = open_new(fresh)
    try:
        os.write(descriptor, salt)
        os.link(fresh, path)
    finally:
        os.close(descriptor)
        fresh.unlink()
