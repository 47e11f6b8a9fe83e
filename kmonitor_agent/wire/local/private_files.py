"""Folders that are this user's alone, and the way down to them.

Whoever may write to a folder, or to one above it, decides what lies at every path below: a
launcher record planted in the state folder is run by the next window, a log that is a link to
another file is written by the next hub. So a folder of ours is used only if it belongs to this
user and nobody else may write to it, and if each folder on the way down belongs to root or to this
user and is closed to others. A sticky folder such as `/tmp` is fine on the way: nobody but its
owner can replace an entry there.

A group may write where it has nobody in it but this user, as Debian gives one to each user.
Another group above the folder is the user's business, who may have no other disk: it is named in a
warning.

Folders are made with mode 0700 whatever the umask is, which belongs to the process and is never
set.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from typing_extensions import override

_MOST_LINKS: Final = 40
"""As many symbolic links on the way as Linux itself follows."""

_OVERFLOW: Final = Path("/proc/sys/kernel/overflowuid")
_USER_MAP: Final = Path("/proc/self/uid_map")
_ALL_USERS: Final = ["0", "0", "4294967295"]


class UnsafePath(OSError):
    """An entry of the file system that is not used; every handler of OSError handles it.

    `strerror` is the reason without the remedy, which may name a path: it may leave the process.

    Attributes:
        path: The entry.
        why: What is wrong with it, as the end of a sentence; behind a semicolon what to do.
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


def make_private_folder(path: Path) -> None:
    """Make a folder of mode 0700, or check the one that is there: others may not even enter it.

    Raises:
        NotPrivate: It is a link, belongs to someone else, or others may enter.
        OSError: It cannot be made.
    """
    make_folder(path.parent)
    if not _is_new(path):
        check_private_folder(path)


def check_private_folder(path: Path) -> None:
    """See that a folder is this user's alone, and that others may not enter it.

    Raises:
        NotPrivate: It is a link, no folder, someone else's, or others may enter.
        OSError: It cannot be read.
    """
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise NotPrivate(path, "is a symbolic link; remove it")
    _check_owned_folder(path, found)
    if hasattr(os, "getuid") and found.st_mode & 0o077:
        raise NotPrivate(path, f"is open to others; run: chmod 700 {path}")


def make_own_folder(path: Path) -> None:
    """Make a folder and those above it that are missing, or check what is there.

    Raises:
        NotPrivate: See `check_own_folder`; nothing was made then.
        OSError: It cannot be made.
    """
    try:
        check_own_folder(path)
    except FileNotFoundError:
        make_folder(path)
        check_own_folder(path)


def check_own_folder(path: Path) -> list[str]:
    """See that only this user decides what lies in a folder.

    Others may read there; what is secret lies in files and folders that they may not read.

    Returns:
        What another group may do on the way down, one sentence each without its full stop.

    Raises:
        FileNotFoundError: It is missing; all above it that is there was checked.
        NotPrivate: Another user may write to it, or replace it.
        OSError: It cannot be read.
    """
    passed: list[tuple[Path, os.stat_result]] = []
    if not hasattr(os, "getuid"):
        path.lstat()
        return []
    try:
        passed += _way_down(path)  # what was passed before an exception is in it then
    except FileNotFoundError:
        _checked_way(passed)
        raise
    place, found = passed.pop()
    warnings = _checked_way(passed)
    _check_owned_folder(place, found)
    if others_may_write(found):
        remedy = f"see what lies in there, then: chmod go-w {place}"
        raise NotPrivate(place, f"may be written to by others; {remedy}")
    return warnings


def others_may_write(found: os.stat_result) -> bool:
    """Whether the mode lets anyone but the owner write; a group of this user alone is no other."""
    mode = stat.S_IMODE(found.st_mode)
    return bool(mode & 0o002) or bool(mode & 0o020 and not _is_private_group(found.st_gid))


def make_folder(path: Path) -> None:
    """Make a folder and those above it that are missing, with mode 0700 each. Raises: OSError."""
    missing: list[Path] = []
    while not path.exists():
        missing.append(path)
        if path == path.parent:
            break
        path = path.parent
    for place in reversed(missing):
        _is_new(place)
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


def _check_owned_folder(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(path, "is not a folder; name another, or remove it")
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise NotPrivate(path, f"belongs to user id {found.st_uid}; set KMONITOR_HOME elsewhere")


def _way_down(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder and link that is passed from the root to a path, in order. Raises: OSError."""
    rest = list(reversed(path.absolute().parts))
    place = Path(rest.pop())
    yield place, place.lstat()
    n_links = 0
    while rest:
        name = rest.pop()
        if name == "..":
            place = place.parent
            continue
        found = (place / name).lstat()
        if not stat.S_ISLNK(found.st_mode):
            place /= name
            yield place, found
            continue
        _check_link(place / name, found)
        n_links += 1
        if n_links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = (place / name).readlink()
        place = Path(target.anchor) if target.is_absolute() else place
        rest += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        yield place, place.lstat()


def _check_link(path: Path, found: os.stat_result) -> None:
    if not _is_trusted(found.st_uid):
        why = f"is a symbolic link of user id {found.st_uid}; set KMONITOR_HOME elsewhere"
        raise NotPrivate(path, why)


def _checked_way(passed: Iterable[tuple[Path, os.stat_result]]) -> list[str]:
    warnings = [words for place, found in passed for words in _checked_parent(place, found)]
    return list(dict.fromkeys(warnings))  # links may lead through one folder twice


def _checked_parent(path: Path, found: os.stat_result) -> list[str]:
    if not _is_trusted(found.st_uid):
        why = f"belongs to user id {found.st_uid}, who can replace what lies in there"
        raise NotPrivate(path, f"{why}; set KMONITOR_HOME elsewhere")
    if found.st_mode & stat.S_ISVTX or not others_may_write(found):
        return []
    if found.st_mode & 0o002:
        remedy = f"run: chmod o-w {path}, or set KMONITOR_HOME elsewhere"
        raise NotPrivate(path, f"may be written to by everybody; {remedy}")
    who = _group_name(found.st_gid)
    return [f"the group {who} may write to {path}, and so replace what lies in there"]


def _is_trusted(user: int) -> bool:
    return user in (0, os.getuid()) or _is_unmapped(user)


def _is_unmapped(user: int) -> bool:
    """Whether a container's user namespace hides who this is: there root of the host looks so."""
    try:
        overflow = int(_OVERFLOW.read_text("ascii"))
        mapped = [line.split() for line in _USER_MAP.read_text("ascii").splitlines()]
    except (OSError, ValueError):
        return False
    return user == overflow and mapped != [_ALL_USERS]


def _is_private_group(group: int) -> bool:
    """Whether nobody but this user is in a group, as far as the convention of its name tells.

    Not by a walk over all users: that asks a server for thousands of them where there is one.
    """
    if group == 0:
        return True  # root's, who may write anyway
    try:
        import grp  # noqa: PLC0415 - not on Windows
        import pwd  # noqa: PLC0415 - not on Windows

        user, found = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    is_users = user.pw_gid == group and found.gr_name == user.pw_name
    return is_users and not set(found.gr_mem) - {user.pw_name}


def _group_name(group: int) -> str:
    try:
        import grp  # noqa: PLC0415 - not on Windows

        return grp.getgrgid(group).gr_name
    except (ImportError, KeyError):
        return f"with id {group}"
