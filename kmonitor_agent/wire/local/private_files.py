"""Private folders and plain files, created, checked and opened beyond other users' control.

Whoever may write to a folder, or to one above it, decides what lies at every path below: a
launcher record planted in the state folder is run by the next window, a log that is a link to
another file is written by the next hub. So a folder of ours is used only if it belongs to this
user and no other user may write to it, and if each folder on the way down belongs to root or to
this user and is closed to others. A sticky folder such as `/tmp` is fine in between: only its
owner can replace an entry there.

A group may write if this user is its only member, as Debian creates one for each user. Another
group above the folder is the user's business, who may have no other disk: it is named in a
warning.

A file is opened only if it is a plain one: a link, a pipe or a device in its place is refused, as
is a file larger than its kind can be, and the file that is read or written is the one that was
checked.

Folders are made with mode 0700 and files with mode 0600, whatever the umask is, which belongs to
the process and is never set.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from typing_extensions import override

from kmonitor_agent.wire.local.file_limit import check_file_limit
from kmonitor_agent.wire.text import binary_size

_MOST_LINKS: Final = 40
"""Maximum number of symbolic links in a path, as in Linux itself."""

_OVERFLOW: Final = Path("/proc/sys/kernel/overflowuid")
_USER_MAP: Final = Path("/proc/self/uid_map")
_ALL_USERS: Final = ["0", "0", "4294967295"]
SETTING_BYTES: Final = 1024**2
"""Maximum size of a file of settings or a record; thousands of times the size of ours."""

KEY_BYTES: Final = 4096
"""Maximum size of a file with one key or mark."""

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
"""Flags by the modes of `open`."""

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


class UnsafePath(OSError):
    """An entry of the file system that is not used; every handler of OSError handles it.

    `strerror` is the reason without the remedy, which may name a path: it may leave the process.

    Attributes:
        why: The fault as the end of a sentence; after a semicolon the remedy.
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EPERM, why.partition(";")[0], str(path))
        self.path = path
        self.why = why

    @override
    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


class NotPrivate(UnsafePath):
    """A file or folder that must be this user's alone is not."""


class UnsafeFile(UnsafePath):
    """An entry that is no plain file, or is larger than its kind of file can be."""


def make_private_folder(path: Path) -> None:
    """Make a folder of mode 0700, or check the one that is there: others may not even enter it.

    Raises:
        NotPrivate: It is a link, belongs to someone else, or others may enter.
        OSError: It cannot be created.
    """
    make_folder(path.parent)
    if not _is_new(path):
        check_private_folder(path)


def check_private_folder(path: Path) -> None:
    """Check that a folder is this user's alone, and that others may not enter it.

    Raises:
        NotPrivate: It is a link, no folder, someone else's, or others may enter.
        OSError: It cannot be read.
    """
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise NotPrivate(path, "is a symbolic link; remove it")
    _check_owned_folder(path, status)
    if hasattr(os, "getuid") and status.st_mode & 0o077:
        raise NotPrivate(path, f"is accessible to other users; run: chmod 700 {path}")


def make_own_folder(path: Path) -> None:
    """Make a folder and those above it that are missing, or check what is there.

    Raises:
        NotPrivate: See `check_own_folder`; nothing was created then.
        OSError: It cannot be created.
    """
    try:
        check_own_folder(path)
    except FileNotFoundError:
        make_folder(path)
        check_own_folder(path)


def check_own_folder(path: Path) -> list[str]:
    """Check that only this user decides what lies in a folder.

    Others may read there; secrets lie in files and folders that they may not read.

    Returns:
        Rights of other groups on the way down, one sentence each without its full stop.

    Raises:
        FileNotFoundError: It is missing; all existing folders above it were checked.
        NotPrivate: Another user may write to it, or replace it.
        OSError: It cannot be read.
    """
    passed: list[tuple[Path, os.stat_result]] = []
    if not hasattr(os, "getuid"):
        path.lstat()
        return []
    try:
        passed += _walk_down(path)  # what was passed before an exception is in it then
    except FileNotFoundError:
        _check_parents(passed)
        raise
    folder, status = passed.pop()
    warnings = _check_parents(passed)
    _check_owned_folder(folder, status)
    if others_may_write(status):
        remedy = f"check its contents, then run: chmod go-w {folder}"
        raise NotPrivate(folder, f"is writable by others; {remedy}")
    return warnings


def others_may_write(status: os.stat_result) -> bool:
    """True if the mode lets anyone but the owner write; a group of this user alone is exempt."""
    mode = stat.S_IMODE(status.st_mode)
    return bool(mode & 0o002) or bool(mode & 0o020 and not _is_private_group(status.st_gid))


def make_folder(path: Path) -> None:
    """Create a folder and missing ones above it, with mode 0700 each. Raises: OSError."""
    missing: list[Path] = []
    while not path.exists():
        missing.append(path)
        if path == path.parent:
            break
        path = path.parent
    for folder in reversed(missing):
        _is_new(folder)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def _is_new(path: Path) -> bool:
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return False
    # The umask can only take away: with 0o277 this user could not enter.
    if stat.S_IMODE(path.lstat().st_mode) & 0o700 != 0o700:  # noqa: PLR2004 - a mode
        path.chmod(0o700)
    return True


def _check_owned_folder(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise NotPrivate(path, "is not a folder; choose another, or remove it")
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise NotPrivate(
            path, f"belongs to user ID {status.st_uid}; set KMONITOR_HOME to another folder"
        )


def _walk_down(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder and link from the root to a path, in order. Raises: OSError."""
    rest = list(reversed(path.absolute().parts))
    current = Path(rest.pop())
    yield current, current.lstat()
    n_links = 0
    while rest:
        name = rest.pop()
        if name == "..":
            current = current.parent
            continue
        status = (current / name).lstat()
        if not stat.S_ISLNK(status.st_mode):
            current /= name
            yield current, status
            continue
        _check_link(current / name, status)
        n_links += 1
        if n_links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = (current / name).readlink()
        current = Path(target.anchor) if target.is_absolute() else current
        rest += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        yield current, current.lstat()


def _check_link(path: Path, status: os.stat_result) -> None:
    if not _is_trusted(status.st_uid):
        why = (
            f"is a symbolic link owned by user ID {status.st_uid}; set KMONITOR_HOME to another "
            "folder"
        )
        raise NotPrivate(path, why)


def _check_parents(passed: Iterable[tuple[Path, os.stat_result]]) -> list[str]:
    warnings = [warning for folder, found in passed for warning in _checked_parent(folder, found)]
    return list(dict.fromkeys(warnings))  # links may lead through one folder twice


def _checked_parent(path: Path, status: os.stat_result) -> list[str]:
    if not _is_trusted(status.st_uid):
        why = f"belongs to user ID {status.st_uid}, who can replace its contents"
        raise NotPrivate(path, f"{why}; set KMONITOR_HOME to another folder")
    if status.st_mode & stat.S_ISVTX or not others_may_write(status):
        return []
    if status.st_mode & 0o002:
        remedy = f"run: chmod o-w {path}, or set KMONITOR_HOME to another folder"
        raise NotPrivate(path, f"is writable by everyone; {remedy}")
    who = _group_name(status.st_gid)
    return [f"the group {who} can write to {path} and can therefore replace its contents"]


def _is_trusted(user: int) -> bool:
    return user in (0, os.getuid()) or _is_unmapped(user)


def _is_unmapped(user: int) -> bool:
    """True if a container's user namespace hides this user, as it does root of the host."""
    try:
        overflow = int(_OVERFLOW.read_text("ascii"))
        mapped = [line.split() for line in _USER_MAP.read_text("ascii").splitlines()]
    except (OSError, ValueError):
        return False
    return user == overflow and mapped != [_ALL_USERS]


def _is_private_group(group: int) -> bool:
    """True if this user is a group's only member, as far as the convention of its name says.

    Without a walk over all users, which asks a server for thousands of them where there is one.
    """
    if group == 0:
        return True  # root's, who may write anyway
    try:
        import grp  # noqa: PLC0415 - not on Windows
        import pwd  # noqa: PLC0415 - not on Windows

        user = pwd.getpwuid(os.getuid())
        group_entry = grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    is_users = user.pw_gid == group and group_entry.gr_name == user.pw_name
    return is_users and not set(group_entry.gr_mem) - {user.pw_name}


def _group_name(group: int) -> str:
    try:
        import grp  # noqa: PLC0415 - not on Windows

        return grp.getgrgid(group).gr_name
    except (ImportError, KeyError):
        return f"with ID {group}"


def read_own(path: Path, limit_bytes: int = SETTING_BYTES) -> bytes:
    """Content of a file of this user's kmonitor. Raises: as of `open_plain`."""
    return read_plain(path, limit_bytes, own=True)


def read_plain(path: Path, limit_bytes: int, *, own: bool = False, start: int = 0) -> bytes:
    """Content of a plain file from `start` on. Args, raises: as of `open_plain`."""
    descriptor = open_plain(path, limit_bytes=limit_bytes, own=own)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        file.seek(start)
        return _read_up_to(path, file, limit_bytes - start)


def open_own(path: Path, mode: str) -> IO[Any]:
    """A file of this user's kmonitor, of mode 0600 if it is new.

    Args:
        mode: A mode of `open` in `_FLAGS`; text is UTF-8, and characters that cannot be written in
            it are escaped.

    Raises: as of `open_plain`.
    """
    return _opened(path, mode, own=True)


def open_private(path: Path, mode: str) -> IO[Any]:
    """The same in a folder that the user named, where a file server may change the owner."""
    return _opened(path, mode, own=False)


def open_plain(
    path: Path, flags: int = os.O_RDONLY, *, limit_bytes: int | None = None, own: bool = False
) -> int:
    """A descriptor of a plain file, never inherited; a new one has mode 0600.

    Args:
        flags: As of `os.open`; not `O_TRUNC`, which would empty it before it is checked.
        limit_bytes: Largest size; None: any, for callers that read it piece by piece.
        own: True if it must be this user's, and no other user may write to it.

    Raises:
        UnsafeFile: It is something else, or too large.
        NotPrivate: It is another user's.
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


def write_private(path: Path, data: bytes) -> None:
    """Replace a small file of mode 0600 in one step; or leave it as it is. Raises: OSError."""
    fresh = path.with_name(path.name + ".new")
    try:
        descriptor = open_new(fresh)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        fresh.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)  # a full disk leaves no empty file behind
        raise


def open_new(path: Path, flags: int = 0) -> int:
    """A descriptor of a new file of mode 0600, for writing, which replaces any existing entry.

    Args:
        flags: Further flags of `os.open`, besides those for writing.

    Raises:
        OSError: It cannot be created, or a folder is in its place.
    """
    path.unlink(missing_ok=True)  # a link itself, never the file that it names
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _GUARDS | flags, 0o600)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the bytes. Raises: OSError, after which some may be written."""
    check_file_limit(os.fstat(descriptor).st_size + len(data))
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def is_plain(path: Path) -> bool:
    """True if a plain file is there; a link to one does not count."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def check_plain(path: Path, limit_bytes: int | None) -> None:
    """Check that a plain file is there, of at most this size. Raises: UnsafeFile, OSError."""
    _check(path, path.lstat(), os.O_RDONLY, limit_bytes, own=False)


def check_own(path: Path) -> None:
    """Check that a file, of any size, is this user's, for a library that opens it by its name.

    Raises: as of `open_plain`.
    """
    _check(path, path.lstat(), os.O_RDWR, None, own=True)


def check_secret(path: Path, why_open: str = "can be read by others; remove it") -> None:
    """Check that a file is this user's alone, and that no other user may read it.

    Args:
        why_open: Fault and remedy if others may read or write it.

    Raises:
        NotPrivate: It is no plain file, someone else's, or others may read it.
        OSError: It cannot be read.
    """
    status = path.lstat()
    if hasattr(os, "getuid") and stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid():
        if status.st_mode & 0o077:
            raise NotPrivate(path, why_open)
        return
    try:
        _check(path, status, os.O_RDONLY, None, own=True)
    except UnsafeFile as exc:
        raise NotPrivate(exc.path, exc.why) from exc


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


def _read_up_to(path: Path, file: IO[bytes], limit_bytes: int) -> bytes:
    chunks: list[bytes] = []
    n_bytes = 0
    while part := file.read(min(_CHUNK_BYTES, limit_bytes - n_bytes + 1)):
        chunks.append(part)
        n_bytes += len(part)
        if n_bytes > limit_bytes:  # it grew since it was checked
            raise _too_large(path, n_bytes, limit_bytes)
    return b"".join(chunks)


def _check(
    path: Path, status: os.stat_result, flags: int, limit_bytes: int | None, *, own: bool
) -> None:
    mode = status.st_mode
    if not stat.S_ISREG(mode):
        kind = next((noun for is_kind, noun in _KINDS if is_kind(mode)), "something else")
        raise UnsafeFile(path, f"is {kind}, not a regular file; remove it")
    if own and hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            raise NotPrivate(path, f"belongs to user ID {status.st_uid}; remove it")
        if others_may_write(status):
            raise NotPrivate(path, f"is writable by others; run: chmod go-w {path}")
    if flags & _WRITES and status.st_nlink > 1:
        raise UnsafeFile(path, "has more than one hard link; remove it")
    if limit_bytes is not None and status.st_size > limit_bytes:
        raise _too_large(path, status.st_size, limit_bytes)


def _too_large(path: Path, n_bytes: int, limit_bytes: int) -> UnsafeFile:
    size = binary_size(n_bytes)
    limit = binary_size(limit_bytes)
    return UnsafeFile(path, f"is {size}, but at most {limit} is expected; remove it")
