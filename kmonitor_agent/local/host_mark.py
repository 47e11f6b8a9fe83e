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
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
            return None
        salt = file.read(_SALT_BYTES + 1)
    return salt if len(salt) == _SALT_BYTES else None


def make_salt(state: Path) -> bytes:
    """This user's salt, made if there is none; where the disk refuses, one for this process only.

    With the latter a hub cannot recognise its host, and nothing more is told than otherwise.
    """
    salt = os.urandom(_SALT_BYTES)
    with contextlib.suppress(OSError):
        state.mkdir(parents=True, exist_ok=True)
        _put(state / SALT_NAME, salt)
    return read_salt(state) or salt


def _put(path: Path, salt: bytes) -> None:
    """Write a file that is never seen half written, and that whoever is first decides."""
    if path.exists():
        return
    fresh = path.with_name(f"{SALT_NAME}.{os.getpid()}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, salt)
        os.link(fresh, path)
    finally:
        os.close(descriptor)
        fresh.unlink()
