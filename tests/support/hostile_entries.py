"""Every kind of entry that may lie where a file or folder of ours is expected."""

import os
import stat
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.spool.format import RECORD_HEADER, SEGMENT_MAGIC
from tests.support.waiting import DEADLINE_S

OTHER_USER: Final = 54321
"""An id that no user of a machine has."""

_SPARSE_BYTES: Final = 2**40
_GARBAGE_BYTES: Final = 4 * 2**20
_OWN_IO: Final = Path("/proc/thread-self/io")
SECRET: Final = b"this belongs to another program\n"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entry.

    Attributes:
        name: Description of it.
        make: Puts it at a path; the second path is a file of another program.
        is_file: True if it is a plain file of this user, which may be opened and read in part.
        needs_root: True if only root can make one.
    """

    name: str
    make: Callable[[Path, Path], None]
    is_file: bool = False
    needs_root: bool = False


def _sparse(path: Path, _other: Path) -> None:
    path.touch(0o600)
    os.truncate(path, _SPARSE_BYTES)


def _garbage(path: Path, _other: Path) -> None:
    """Headers that promise the longest events, each with a wrong checksum."""
    header = RECORD_HEADER.pack(2**16, 1, 2**40)
    path.write_bytes(SEGMENT_MAGIC + header * (_GARBAGE_BYTES // len(header)))


def _of_another_user(path: Path, _other: Path) -> None:
    path.write_bytes(b"{}")
    os.chown(path, OTHER_USER, OTHER_USER)


def _closed(path: Path, _other: Path) -> None:
    path.write_bytes(b"{}")
    path.chmod(0)


def _open(path: Path, _other: Path) -> None:
    path.write_bytes(b"{}")
    path.chmod(0o666)


def _full_folder(path: Path, _other: Path) -> None:
    path.mkdir()
    (path / "inside").touch()


KINDS: Final = (
    Kind("named pipe", lambda path, _: os.mkfifo(path)),
    Kind("socket", lambda path, _: os.mknod(path, stat.S_IFSOCK | 0o600)),
    Kind(
        "device",
        lambda path, _: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)),
        needs_root=True,
    ),
    Kind("link to /dev/zero", lambda path, _: path.symlink_to("/dev/zero")),
    Kind("link to a file", lambda path, other: path.symlink_to(other)),
    Kind("link to a folder", lambda path, other: path.symlink_to(other.parent)),
    Kind("link to itself", lambda path, _: path.symlink_to(path.name)),
    Kind("folder", _full_folder),
    Kind("sparse file", _sparse, is_file=True),
    Kind("unreadable file", _closed, is_file=True),
    Kind("hard link", lambda path, other: os.link(other, path), is_file=True),
    Kind("file of another user", _of_another_user, needs_root=True),
    Kind("file that others may write", _open),
    Kind("empty file", lambda path, _: path.touch(0o600), is_file=True),
    Kind("garbage", _garbage, is_file=True),
)
"""All kinds; each is at each place."""


@dataclass(slots=True)
class Work:
    """Cost and result of one use of a place.

    Attributes:
        read_bytes: Bytes that its thread read from the system.
        opened: Paths that its thread opened, in order.
        error: Error that it raised; None: none.
    """

    read_bytes: int = 0
    opened: list[str] = field(default_factory=list[str])
    error: BaseException | None = None


class Observer:
    """Runs a function on its own thread and counts what that reads and opens."""

    watched: "dict[int, list[str]]" = {}  # noqa: RUF012 - an audit hook cannot be taken back
    is_hooked = False

    def run(self, act: Callable[[], object], unblock: Path) -> Work:
        """Do it; a thread that hangs on a named pipe at `unblock` is let go and said to hang."""
        if not Observer.is_hooked:
            sys.addaudithook(_note_open)
            Observer.is_hooked = True
        work = Work()

        def body() -> None:
            begin = _bytes_read()
            Observer.watched[threading.get_ident()] = work.opened
            try:
                act()
            except BaseException as exc:  # noqa: BLE001 - the test says which are right
                work.error = exc
            finally:
                del Observer.watched[threading.get_ident()]
                work.read_bytes = _bytes_read() - begin

        thread = threading.Thread(target=body, name="hostile entry", daemon=True)
        thread.start()
        thread.join(DEADLINE_S)
        if thread.is_alive():
            if unblock.is_fifo():
                os.close(os.open(unblock, os.O_RDWR | os.O_NONBLOCK))
            thread.join(DEADLINE_S)
            work.error = TimeoutError("it hung")
        return work


def _note_open(event: str, args: tuple[object, ...]) -> None:
    if event == "open" and (opened := Observer.watched.get(threading.get_ident())) is not None:
        opened.append(str(args[0]))


def _bytes_read() -> int:
    """Bytes that this thread read. Source: proc(5), `rchar`."""
    return int(_OWN_IO.read_text("ascii").split()[1])
