"""Hosts that this user connected to, in a file that window and command line share.

`HostStore` reads the file again with each call. `HostFile` reads and writes it whole; only the
holder of the lock changes the file, so that several processes can share it.
"""

import contextlib
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.connect.remote_hub import checked_command
from kmonitor.connect.ssh import checked_address, is_forwardable
from kmonitor_agent.wire.local.folder_lock import FolderLock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import SCHEME, parse_direct_address
from kmonitor_agent.wire.local.private_files import is_plain, make_own_folder, open_new, read_own

__all__ = ["HostNameTaken", "HostStore", "HostsNotSaved", "RememberedHost"]

MOST_HOSTS: Final = 200

Short = Annotated[str, msgspec.Meta(max_length=200)]
Long = Annotated[str, msgspec.Meta(max_length=1000)]


class RememberedHost(msgspec.Struct, frozen=True, omit_defaults=True):
    """A remembered host.

    Attributes:
        address: Address for ssh, `gpu-01` or `user@gpu-01`, or `tcp://HOST:PORT?key=KEY` of a
            listening hub; unique.
        name: Name given by the user; empty: the address is shown.
        command: Command that runs kmonitor on the host; empty: kmonitor is found automatically.
        socket: Last path of the hub's socket, so that the next start need not query it.
        error: Reason for the failure of the last attempt; empty: it succeeded.
    """

    address: Short
    name: Short = ""
    command: Long = ""
    socket: Short = ""
    error: Long = ""

    @property
    def called(self) -> str:
        """The host's name on screen."""
        return self.name or short_address(self.address)


def short_address(address: str) -> str:
    """Address to show; that of a listening hub has no key."""
    return address.removeprefix(SCHEME).partition("?")[0]


def checked_host_address(address: str) -> str:
    """Check the address of a host or of a listening hub. Raises: `UserError`."""
    if not address.strip().startswith(SCHEME):
        return checked_address(address)
    try:
        return parse_direct_address(address).url
    except ValueError as exc:
        raise UserError(f"{exc}.") from exc


def clean_name(name: str) -> str:
    """Name of a host without unprintable characters, at most 200 long."""
    return "".join(c for c in name if c.isprintable()).strip()[:200]


class HostsNotSaved(UserError):
    """The file of hosts cannot be changed."""


class HostNameTaken(UserError):
    """Another host has this name.

    Attributes:
        address: Address of the other host.
    """

    def __init__(self, name: str, address: str) -> None:
        what = f'"{name}" is already the name of another host: {short_address(address)}.'
        super().__init__(what, "Choose another name.")
        self.name = name
        self.address = address


Hosts = list[RememberedHost]


class HostStore:
    """Remembered hosts; each call reads the file, so that changes of other processes are kept.

    Attributes:
        trouble: Fault of the file when it was last read, and the path that it was moved to;
            empty: none.
    """

    def __init__(self, folders: Folders) -> None:
        self._file = HostFile(folders.settings)
        self.trouble = ""

    def stamp(self) -> tuple[int, int, int]:
        """Stamp of the file that differs after every change, by any process."""
        return self._file.stamp()

    def hosts(self) -> Hosts:
        """All hosts, oldest first; a damaged file is moved away and its sound entries are kept."""
        self.trouble = ""
        try:
            return self._file.read()
        except FileNotFoundError:
            return []
        except OSError as exc:
            self.trouble = f"{self._file.path} cannot be read: {exc.strerror or exc}."
            return []
        except ValueError as exc:
            try:
                with self._file.locked():
                    return self._load_hosts()
            except HostsNotSaved:
                self.trouble = f"{self._file.path} is damaged ({exc}). It cannot be moved aside."
                return []

    def find(self, wanted: str) -> RememberedHost | None:
        """Host with this address, else with this name."""
        known = self.hosts()
        by_address = [host for host in known if host.address == wanted]
        # A host without a name is not the one that an empty variable of a shell means.
        by_name = [host for host in known if wanted and host.name == wanted]
        return next(iter(by_address + by_name), None)

    def add(self, address: str, *, name: str = "", command: str | None = None) -> RememberedHost:
        """Remember a host; update the given fields of a known one.

        Raises:
            UserError: Address or command cannot be used, the name is another host's, or the file
                cannot be written.
        """
        address = checked_host_address(address)
        changed: dict[str, Any] = {"name": clean_name(name)} if name else {}
        if command is not None:
            changed["command"] = checked_command(command)

        def change(hosts: Hosts) -> Hosts:
            index = _index_of_host(hosts, address)
            _require_free_name(hosts, address, address, changed.get("name", ""))
            if index < len(hosts):
                return _replaced(hosts, index, changed)
            if len(hosts) >= MOST_HOSTS:
                raise HostsNotSaved(
                    f"No more hosts can be remembered: there are already {MOST_HOSTS}.",
                    "Remove one of them.",
                )
            return _replaced([*hosts, RememberedHost(address)], index, changed)

        hosts = self._change(change)
        return hosts[_index_of_host(hosts, address)]

    def restore(self, known: Hosts) -> None:
        """Add removed hosts again to those in the file. Raises: `HostsNotSaved`."""

        def change(hosts: Hosts) -> Hosts:
            known_addresses = {host.address for host in hosts}
            return [*hosts, *(host for host in known if host.address not in known_addresses)][
                :MOST_HOSTS
            ]

        self._change(change)

    def rename(self, address: str, name: str) -> None:
        """Rename a host; empty: show its address. Raises: `HostNameTaken`, `HostsNotSaved`."""
        name = clean_name(name)

        def change(hosts: Hosts) -> Hosts:
            index = _index_of_host(hosts, address)
            _require_free_name(hosts, address, name)
            return _replaced(hosts, index, {"name": name}) if index < len(hosts) else hosts

        self._change(change)

    def note(self, address: str, *, socket: str | None = None, error: str = "") -> None:
        """Store the result of the last attempt. Raises: `HostsNotSaved`."""
        changed: dict[str, Any] = {"error": error[:1000]}
        if socket is not None:
            changed["socket"] = socket
        self._set(address, **changed)

    def remove(self, address: str) -> bool:
        """Forget a host; False if it was not known. Raises: `HostsNotSaved`."""
        found: Hosts = []

        def change(hosts: Hosts) -> Hosts:
            found.extend(host for host in hosts if host.address == address)
            return [host for host in hosts if host.address != address]

        self._change(change)
        return bool(found)

    def _set(self, address: str, **changed: Any) -> None:
        # Noted at each attempt, and seldom anything new: then nothing is locked nor written.
        host = next((host for host in self.hosts() if host.address == address), None)
        if host is None or msgspec.structs.replace(host, **changed) == host:
            return

        def change(hosts: Hosts) -> Hosts:
            index = _index_of_host(hosts, address)
            return _replaced(hosts, index, changed) if index < len(hosts) else hosts

        self._change(change)

    def _change(self, change: Callable[[Hosts], Hosts]) -> Hosts:
        with self._file.locked():
            before = self._load_hosts()
            after = change(before)
            if after != before:
                self._file.write(after)
            return after

    def _load_hosts(self) -> Hosts:
        """All hosts, for the holder of the lock.

        Raises: `HostsNotSaved`: the file is unreadable.
        """
        try:
            return self._file.read()
        except FileNotFoundError:
            return []
        except OSError as exc:
            # Written over, all that it holds would be lost.
            what = f"{self._file.path} cannot be read: {exc.strerror or exc}."
            raise HostsNotSaved(what, "Check who owns it.") from exc
        except ValueError as exc:
            salvaged, outcome = self._file.put_aside()
            self.trouble = f"{self._file.path} is damaged ({exc}). {outcome}"
            return salvaged


def _require_free_name(hosts: Hosts, address: str, *called: str) -> None:
    # A host requested by name, or removed, must be the host that is meant.
    for host in hosts:
        for name_or_address in called if host.address != address else ():
            if name_or_address and name_or_address in (host.name, host.address):
                raise HostNameTaken(name_or_address, host.address)


def _index_of_host(hosts: Hosts, address: str) -> int:
    """Index of a host; the length of the list if the host is unknown."""
    return next((at for at, host in enumerate(hosts) if host.address == address), len(hosts))


def _replaced(hosts: Hosts, index: int, changed: dict[str, Any]) -> Hosts:
    after = list(hosts)
    after[index] = msgspec.structs.replace(hosts[index], **changed)
    return after


FILE_NAME: Final = "hosts.json"
LOCK_NAME: Final = "hosts.lock"
_MODE: Final = 0o600
_LOCK_S: Final = 5.0
_POLL_S: Final = 0.005


class _File(msgspec.Struct, frozen=True):
    hosts: Annotated[list[RememberedHost], msgspec.Meta(max_length=MOST_HOSTS)] = []


class HostFile:
    """The file of hosts; owned by one thread, and shared by any number of processes."""

    def __init__(self, settings: Path) -> None:
        self.path = settings / FILE_NAME

    def stamp(self) -> tuple[int, int, int]:
        """Stamp of the file that differs after every change; all zeros: there is no file."""
        try:
            found = self.path.lstat()
        except OSError:
            return (0, 0, 0)
        return (found.st_mtime_ns, found.st_size, found.st_ino)

    def read(self) -> list[RememberedHost]:
        """All hosts, oldest first.

        Raises:
            OSError: The file cannot be read, or does not exist.
            ValueError: The file is damaged, or an entry is no host; with the reason as text.
        """
        self._tighten()
        try:
            return _checked(read_own(self.path))
        except RecursionError as exc:
            raise ValueError("nested too deeply") from exc
        except (msgspec.MsgspecError, UnicodeDecodeError) as exc:
            raise ValueError(str(exc)) from exc

    def write(self, hosts: list[RememberedHost]) -> None:
        """Replace the file; by the holder of the lock. Raises: `HostsNotSaved`."""
        new = self.path.with_suffix(f".{os.getpid()}.new")
        try:
            with os.fdopen(open_new(new), "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(_File(hosts))))
                file.flush()
                # A file that is renamed before it is on the disk may be empty after a crash.
                os.fsync(file.fileno())
            new.replace(self.path)
        except OSError as exc:
            if is_plain(new):
                new.unlink(missing_ok=True)
            raise self._not_saved(exc) from exc

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the lock, so that no other process changes the file. Raises: `HostsNotSaved`."""
        lock = self._lock()
        try:
            yield
        finally:
            lock.release()

    def put_aside(self) -> tuple[list[RememberedHost], str]:
        """Move a damaged file away; by the holder of the lock.

        Returns:
            The sound hosts of the file, which are kept, and a sentence on the damaged file.

        Raises:
            HostsNotSaved: The sound hosts cannot be written.
        """
        salvaged = self._salvaged()
        aside = self.path.with_name(f"hosts-damaged-{time.strftime('%Y%m%d-%H%M%S')}.json")
        try:
            self.path.replace(aside)
        except OSError as exc:
            return salvaged, f"It cannot be moved aside: {exc.strerror or exc}."
        if not salvaged:
            return [], f"It was renamed to {aside.name}; no host is remembered now."
        self.write(salvaged)
        return salvaged, f"It was renamed to {aside.name}; the other hosts in it are remembered."

    def _salvaged(self) -> list[RememberedHost]:
        try:
            found = msgspec.json.decode(read_own(self.path), type=_File).hosts
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return []
        sound_hosts: list[RememberedHost] = []
        for host in found:
            with contextlib.suppress(ValueError):
                sound_hosts.append(_checked_host(host))
        return sound_hosts

    def _lock(self) -> FolderLock:
        end_s = time.monotonic() + _LOCK_S
        try:
            make_own_folder(self.path.parent)
            while (lock := FolderLock.acquire(self.path.parent, LOCK_NAME)) is None:
                if time.monotonic() > end_s:
                    raise HostsNotSaved(
                        f"{self.path} is being changed by another process.", "Try again."
                    )
                time.sleep(_POLL_S)
        except OSError as exc:
            raise self._not_saved(exc) from exc
        return lock

    def _not_saved(self, exc: OSError) -> HostsNotSaved:
        return HostsNotSaved(
            f"{self.path} cannot be written: {exc.strerror or exc}.",
            "Free some space, or check who owns its folder.",
        )

    def _tighten(self) -> None:
        """Make the file private: an older kmonitor let others read the hosts of this user."""
        found = self.path.lstat()
        is_ours = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
        if os.name == "posix" and is_ours and found.st_mode & 0o077:
            with contextlib.suppress(OSError):
                self.path.chmod(_MODE)


def _checked(body: bytes) -> list[RememberedHost]:
    return [_checked_host(host) for host in msgspec.json.decode(body, type=_File).hosts]


def _checked_host(host: RememberedHost) -> RememberedHost:
    # Somebody may have written it by hand.
    try:
        if checked_host_address(host.address) != host.address:
            raise ValueError(f"{host.address!r} has leading or trailing spaces")
        checked_command(host.command)
    except UserError as exc:
        raise ValueError(exc.what.rstrip(".")) from exc
    # Only a hint: without it the host is queried.
    socket = host.socket if is_forwardable(host.socket) else ""
    return msgspec.structs.replace(host, name=clean_name(host.name), socket=socket)
