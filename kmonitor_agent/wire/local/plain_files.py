"""Opens files where others may have put something else: the only way our own files are opened.

An open of a named pipe waits for ever, one of `/dev/zero` never ends, one of a link reads or
writes another file than was meant, and a sparse file of a terabyte fits on any disk. So an entry
is looked at before it is opened (an open alone does something to some devices), opened without
following a link and without waiting, and looked at again: plain files only, of the size that their
kind can have. Files of this user's kmonitor must also belong to this user; files in a folder that
somebody names, such as another user's spools, need not.

Nothing is emptied by opening it, and nothing that has a second name is written to: a hard link may
be another file of this user's.
"""

import contextlib
import os
import stat
from pathlib import Path
from typing import IO, Any, Final

from kmonitor_agent.wire.local.private_files import NotPrivate, UnsafePath, others_may_write
from kmonitor_agent.wire.text import bytes_text

SETTING_BYTES: Final = 1024**2
"""Most that a file of settings or a record holds; thousands of times what ours do."""

KEY_BYTES: Final = 4096
"""Most that a file with one key or mark holds."""

_GUARDS: Final = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_FLAGS: Final = {
    "r": os.O_RDONLY,
    "r+": os.O_RDWR,
    "w": os.O_WRONLY | os.O_CREAT,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "a+": os.O_RDWR | os.O_CREAT | os.O_APPEND,
}
"""Of the modes that `open` has for them."""

_WRITES: Final = os.O_WRONLY | os.O_RDWR
_CHUNK_BYTES: Final = 1024**2
_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class UnsafeFile(UnsafePath):
    """An entry that is no plain file, or is larger than its kind of file can be."""


def open_plain(
    path: Path, flags: int = os.O_RDONLY, *, limit_bytes: int | None = None, own: bool = False
) -> int:
    """A descriptor of a plain file, never inherited; a new one has mode 0600.

    Args:
        path: The file.
        flags: As of `os.open`; not `O_TRUNC`, which would empty it before it is looked at.
        limit_bytes: Largest size; None: any, for who reads it piece by piece.
        own: It must be this user's, and nobody else may write to it.

    Raises:
        UnsafeFile: It is something else, or too large.
        NotPrivate: It is somebody else's.
        OSError: It cannot be opened.
    """
    with contextlib.suppress(FileNotFoundError):
        _check(path, path.lstat(), flags, limit_bytes, own=own)
    descriptor = os.open(path, flags | _GUARDS, 0o600)
    try:
        _check(path, os.fstat(descriptor), flags, limit_bytes, own=own)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_plain(path: Path, limit_bytes: int, *, own: bool = False, start: int = 0) -> bytes:
    """What a plain file holds from `start` on. Args, raises: as of `open_plain`."""
    descriptor = open_plain(path, limit_bytes=limit_bytes, own=own)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        file.seek(start)
        return _read_up_to(path, file, limit_bytes - start)


def read_own(path: Path, limit_bytes: int = SETTING_BYTES) -> bytes:
    """What a file of this user's kmonitor holds. Raises: as of `open_plain`."""
    return read_plain(path, limit_bytes, own=True)


def open_own(path: Path, mode: str) -> IO[Any]:
    """A file of this user's kmonitor, of mode 0600 if it is new.

    Args:
        path: The file.
        mode: One of those of `open` that are named in `_FLAGS`; text is UTF-8, and what cannot
            be written in it is escaped.

    Raises: as of `open_plain`.
    """
    return _opened(path, mode, own=True)


def open_private(path: Path, mode: str) -> IO[Any]:
    """The same in a folder that the user named, where a file server may change the owner."""
    return _opened(path, mode, own=False)


def _opened(path: Path, mode: str, *, own: bool) -> IO[Any]:
    plain_mode = mode.replace("b", "")
    descriptor = open_plain(path, _FLAGS[plain_mode], own=own)
    try:
        if plain_mode == "w":
            os.ftruncate(descriptor, 0)
        if "b" in mode:
            return os.fdopen(descriptor, mode)
        return os.fdopen(descriptor, mode, encoding="utf-8", errors="backslashreplace")
    except OSError:
        os.close(descriptor)
        raise


def write_private(path: Path, data: bytes) -> None:
    """Replace a small file of mode 0600 in one step; or leave it as it is. Raises: OSError."""
    fresh = path.with_name(path.name + ".new")
    try:
        descriptor = open_new(fresh)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        finally:
            os.close(descriptor)
        fresh.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)  # a full disk leaves no empty file behind
        raise


def open_new(path: Path, flags: int = 0) -> int:
    """A descriptor of a new file of mode 0600, for writing, in the place of whatever is there.

    Args:
        path: The file.
        flags: Besides those for writing, as of `os.open`.

    Raises:
        OSError: It cannot be made, or a folder is in its place.
    """
    path.unlink(missing_ok=True)  # a link itself, never the file that it names
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _GUARDS | flags, 0o600)


def check_secret(path: Path, why_open: str = "can be read by others; remove it") -> None:
    """See that a file is this user's alone, who may be the only one to read it.

    Args:
        path: The file.
        why_open: What is wrong and what to do when others may read or write it.

    Raises:
        NotPrivate: It is no plain file, someone else's, or others may read it.
        OSError: It cannot be read.
    """
    found = path.lstat()
    if hasattr(os, "getuid") and stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid():
        if found.st_mode & 0o077:
            raise NotPrivate(path, why_open)
        return
    try:
        _check(path, found, os.O_RDONLY, None, own=True)
    except UnsafeFile as exc:
        raise NotPrivate(exc.path, exc.why) from exc


def check_own(path: Path) -> None:
    """See that a file, of any size, is this user's, for a library that opens it by its name.

    Raises: as of `open_plain`.
    """
    _check(path, path.lstat(), os.O_RDWR, None, own=True)


def check_plain(path: Path, limit_bytes: int | None) -> None:
    """See that a plain file is there, of at most this size. Raises: UnsafeFile, OSError."""
    _check(path, path.lstat(), os.O_RDONLY, limit_bytes, own=False)


def is_plain(path: Path) -> bool:
    """Whether a plain file is there; a link to one is none."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _read_up_to(path: Path, file: IO[bytes], limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    n_bytes = 0
    while part := file.read(min(_CHUNK_BYTES, limit_bytes - n_bytes + 1)):
        parts.append(part)
        n_bytes += len(part)
        if n_bytes > limit_bytes:  # it grew since it was looked at
            raise _too_large(path, n_bytes, limit_bytes)
    return b"".join(parts)


def _check(
    path: Path, found: os.stat_result, flags: int, limit_bytes: int | None, *, own: bool
) -> None:
    mode = found.st_mode
    if not stat.S_ISREG(mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "something else")
        raise UnsafeFile(path, f"is {kind} and not a plain file; remove it")
    if own and hasattr(os, "getuid"):
        if found.st_uid != os.getuid():
            raise NotPrivate(path, f"belongs to user id {found.st_uid}; remove it")
        if others_may_write(found):
            raise NotPrivate(path, f"may be written to by others; run: chmod go-w {path}")
    if flags & _WRITES and found.st_nlink > 1:
        raise UnsafeFile(path, "has a second name (a hard link); remove it")
    if limit_bytes is not None and found.st_size > limit_bytes:
        raise _too_large(path, found.st_size, limit_bytes)


def _too_large(path: Path, n_bytes: int, limit_bytes: int) -> UnsafeFile:
    size, limit = bytes_text(n_bytes), bytes_text(limit_bytes)
    return UnsafeFile(path, f"has {size}, and such a file at most {limit}; remove it")
