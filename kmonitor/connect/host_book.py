"""The hosts that this user connected to: what window and command line share of them."""

from collections.abc import Callable
from typing import Any

import msgspec

from kmonitor.base.errors import Expected
from kmonitor.connect.remembered_hosts import (
    MOST_HOSTS,
    BookNotWritten,
    HostFile,
    RememberedHost,
    checked_host_address,
    clean_name,
    short_address,
)
from kmonitor.connect.remote_hub import checked_command
from kmonitor_agent.wire.local.folders import Folders

__all__ = ["BookNotWritten", "HostBook", "NameTaken", "RememberedHost"]

Hosts = list[RememberedHost]


class NameTaken(Expected):
    """Another host is called so.

    Attributes:
        name: The name.
        address: That of the host which has it.
    """

    def __init__(self, name: str, address: str) -> None:
        what = f'"{name}" is another host already: {short_address(address)}.'
        super().__init__(what, "Give another name.")
        self.name = name
        self.address = address


class HostBook:
    """Reads the file anew with each call, and changes what another process has just written.

    Attributes:
        trouble: What was wrong with the file when it was last read, and where it was put aside;
            empty: nothing.
    """

    def __init__(self, folders: Folders) -> None:
        self._file = HostFile(folders.settings)
        self.trouble = ""

    def stamp(self) -> tuple[int, int, int]:
        """Differs once the file was changed, by whomever."""
        return self._file.stamp()

    def hosts(self) -> Hosts:
        """All of them, oldest first; of a damaged file, which is put aside, what is sound."""
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
                    return self._sound()
            except BookNotWritten:
                self.trouble = f"{self._file.path} is damaged ({exc}). It cannot be put aside."
                return []

    def find(self, wanted: str) -> RememberedHost | None:
        """A host by its address, else by its name."""
        known = self.hosts()
        by_address = [host for host in known if host.address == wanted]
        # A host without a name is not the one that an empty variable of a shell means.
        by_name = [host for host in known if wanted and host.name == wanted]
        return next(iter(by_address + by_name), None)

    def add(self, address: str, *, name: str = "", command: str | None = None) -> RememberedHost:
        """Remember a host; of one that is known, change what is given.

        Raises:
            Expected: Address or command cannot be used, the name is another host's, or the file
                cannot be written.
        """
        address = checked_host_address(address)
        changed: dict[str, Any] = {"name": clean_name(name)} if name else {}
        if command is not None:
            changed["command"] = checked_command(command)

        def change(hosts: Hosts) -> Hosts:
            place = _place(hosts, address)
            _see_free(hosts, address, address, changed.get("name", ""))
            if place < len(hosts):
                return _replaced(hosts, place, changed)
            if len(hosts) >= MOST_HOSTS:
                raise BookNotWritten(f"{MOST_HOSTS} hosts are remembered.", "Remove one of them.")
            return _replaced([*hosts, RememberedHost(address)], place, changed)

        hosts = self._change(change)
        return hosts[_place(hosts, address)]

    def restore(self, known: Hosts) -> None:
        """Remember these again, besides what is there. Raises: `BookNotWritten`."""

        def change(hosts: Hosts) -> Hosts:
            there = {host.address for host in hosts}
            return [*hosts, *(host for host in known if host.address not in there)][:MOST_HOSTS]

        self._change(change)

    def rename(self, address: str, name: str) -> None:
        """Call a host so; empty: by its address. Raises: `NameTaken`, `BookNotWritten`."""
        name = clean_name(name)

        def change(hosts: Hosts) -> Hosts:
            place = _place(hosts, address)
            _see_free(hosts, address, name)
            return _replaced(hosts, place, {"name": name}) if place < len(hosts) else hosts

        self._change(change)

    def note(self, address: str, *, socket: str | None = None, error: str = "") -> None:
        """Keep what came of the last attempt. Raises: `BookNotWritten`."""
        changed: dict[str, Any] = {"error": error[:1000]}
        if socket is not None:
            changed["socket"] = socket
        self._set(address, **changed)

    def remove(self, address: str) -> bool:
        """Forget a host; False if it was not known. Raises: `BookNotWritten`."""
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
            place = _place(hosts, address)
            return _replaced(hosts, place, changed) if place < len(hosts) else hosts

        self._change(change)

    def _change(self, change: Callable[[Hosts], Hosts]) -> Hosts:
        with self._file.locked():
            before = self._sound()
            after = change(before)
            if after != before:
                self._file.write(after)
            return after

    def _sound(self) -> Hosts:
        """All hosts, for the holder of the lock. Raises: `BookNotWritten`, it cannot be read."""
        try:
            return self._file.read()
        except FileNotFoundError:
            return []
        except OSError as exc:
            # Written over, all that it holds would be lost.
            what = f"{self._file.path} cannot be read: {exc.strerror or exc}."
            raise BookNotWritten(what, "See who owns it.") from exc
        except ValueError as exc:
            kept, told = self._file.put_aside()
            self.trouble = f"{self._file.path} is damaged ({exc}). {told}"
            return kept


def _see_free(hosts: Hosts, address: str, *called: str) -> None:
    # What is asked for by a name, or removed, must be the host that is meant.
    for host in hosts:
        for word in called if host.address != address else ():
            if word and word in (host.name, host.address):
                raise NameTaken(word, host.address)


def _place(hosts: Hosts, address: str) -> int:
    """Where a host stands; behind the last one if it does not."""
    return next((at for at, host in enumerate(hosts) if host.address == address), len(hosts))


def _replaced(hosts: Hosts, place: int, changed: dict[str, Any]) -> Hosts:
    after = list(hosts)
    after[place] = msgspec.structs.replace(hosts[place], **changed)
    return after
