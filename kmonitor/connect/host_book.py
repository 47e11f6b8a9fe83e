"""The hosts that this user connected to: a JSON file that window and command line share."""

import contextlib
import os
import time
from typing import Annotated, Any, Final

import msgspec

from kmonitor.connect.remote_hub import checked_command
from kmonitor.connect.ssh_command import checked_address
from kmonitor.errors import Expected
from kmonitor_agent.local.direct_address import SCHEME, parse_direct
from kmonitor_agent.local.folders import Folders

FILE_NAME: Final = "hosts.json"
_MOST_HOSTS: Final = 200
_MODE: Final = 0o600

Short = Annotated[str, msgspec.Meta(max_length=200)]
Long = Annotated[str, msgspec.Meta(max_length=1000)]


class RememberedHost(msgspec.Struct, frozen=True, omit_defaults=True):
    """A host.

    Attributes:
        address: As for ssh: `gpu-01` or `user@gpu-01`, or `tcp://HOST:PORT?key=KEY` of a hub
            that listens; tells it from the others.
        name: What the user calls it; empty: the address.
        command: The command that is kmonitor there; empty: it is found without.
        socket: Where its hub's socket was last, so that the next start need not ask.
        error: Why it was not reached the last time; empty: it was.
    """

    address: Short
    name: Short = ""
    command: Long = ""
    socket: Short = ""
    error: Long = ""

    @property
    def called(self) -> str:
        """What the host is called on screen."""
        return self.name or short_address(self.address)


def short_address(address: str) -> str:
    """An address as it is shown: that of a hub that listens without its key."""
    return address.removeprefix(SCHEME).partition("?")[0]


class _File(msgspec.Struct, frozen=True):
    hosts: Annotated[list[RememberedHost], msgspec.Meta(max_length=_MOST_HOSTS)] = []


class BookNotWritten(Expected):
    """The file of hosts cannot be written."""


class HostBook:
    """Reads and writes the file anew with each call: another window may have changed it.

    Attributes:
        trouble: What was wrong with the file, and where it was put aside; empty: nothing.
    """

    def __init__(self, folders: Folders) -> None:
        self._path = folders.settings / FILE_NAME
        self.trouble = ""

    def hosts(self) -> list[RememberedHost]:
        """All of them, oldest first; none from a file that is damaged, which is put aside."""
        try:
            self._tighten()
            return list(_checked(self._path.read_bytes()))
        except FileNotFoundError:
            return []
        except OSError as exc:
            self.trouble = f"{self._path} cannot be read: {exc.strerror or exc}."
            return []
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, Expected) as exc:
            self.trouble = f"{self._path} is damaged ({exc}). {self._put_aside()}"
            return []

    def find(self, wanted: str) -> RememberedHost | None:
        """A host by its address, else by its name."""
        known = self.hosts()
        by_address = [host for host in known if host.address == wanted]
        return next(iter(by_address + [host for host in known if host.name == wanted]), None)

    def add(self, address: str, *, name: str = "", command: str | None = None) -> RememberedHost:
        """Remember a host; of one that is known, change what is given.

        Raises:
            Expected: Address or command cannot be used, or the file cannot be written.
        """
        address = _checked_address(address)
        known = [host for host in self.hosts() if host.address == address]
        host = known[0] if known else RememberedHost(address)
        if name:
            host = msgspec.structs.replace(host, name=_name(name))
        if command is not None:
            host = msgspec.structs.replace(host, command=checked_command(command))
        self._put(host)
        return host

    def rename(self, address: str, name: str) -> None:
        """Call a host so; empty: by its address. Raises: `BookNotWritten`."""
        self._change(address, name=_name(name))

    def note(self, address: str, *, socket: str | None = None, error: str = "") -> None:
        """Keep what came of the last attempt. Raises: `BookNotWritten`."""
        changed: dict[str, Any] = {"error": error[:1000]}
        if socket is not None:
            changed["socket"] = socket
        self._change(address, **changed)

    def remove(self, address: str) -> bool:
        """Forget a host; False if it was not known. Raises: `BookNotWritten`."""
        known = self.hosts()
        kept = [host for host in known if host.address != address]
        if len(kept) == len(known):
            return False
        self._write(kept)
        return True

    def _change(self, address: str, **changed: Any) -> None:
        for host in self.hosts():
            if host.address == address:
                after = msgspec.structs.replace(host, **changed)
                if after != host:
                    self._put(after)
                return

    def _put(self, host: RememberedHost) -> None:
        hosts = self.hosts()
        places = [at for at, each in enumerate(hosts) if each.address == host.address]
        if places:
            hosts[places[0]] = host
        elif len(hosts) >= _MOST_HOSTS:
            raise BookNotWritten(f"{_MOST_HOSTS} hosts are remembered.", "Remove one of them.")
        else:
            hosts.append(host)
        self._write(hosts)

    def _write(self, hosts: list[RememberedHost]) -> None:
        new = self._path.with_suffix(f".{os.getpid()}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new.touch(_MODE)
            new.write_bytes(msgspec.json.format(msgspec.json.encode(_File(hosts))))
            new.replace(self._path)
        except OSError as exc:
            new.unlink(missing_ok=True) if new.is_file() else None
            raise BookNotWritten(
                f"{self._path} cannot be written: {exc.strerror or exc}.",
                "Free some space, or see who owns its folder.",
            ) from exc

    def _tighten(self) -> None:
        """An older kmonitor let others read where this user works."""
        if os.name == "posix" and self._path.stat().st_mode & 0o077:
            with contextlib.suppress(OSError):
                self._path.chmod(_MODE)

    def _put_aside(self) -> str:
        aside = self._path.with_name(f"hosts-damaged-{time.strftime('%Y%m%d-%H%M%S')}.json")
        try:
            self._path.replace(aside)
        except OSError as exc:
            return f"It cannot be put aside: {exc.strerror or exc}."
        return f"It was put aside as {aside.name}; no host is remembered now."


def _checked(body: bytes) -> list[RememberedHost]:
    hosts = msgspec.json.decode(body, type=_File).hosts
    for host in hosts:
        # Somebody may have written it by hand.
        _checked_address(host.address)
        checked_command(host.command)
    return hosts


def _checked_address(address: str) -> str:
    if not address.strip().startswith(SCHEME):
        return checked_address(address)
    try:
        return parse_direct(address).url
    except ValueError as exc:
        raise Expected(f"{exc}.") from exc


def _name(name: str) -> str:
    return "".join(c for c in name if c.isprintable()).strip()[:200]
