"""The keys that were let in: one private file, read again when it changes."""

from pathlib import Path
from typing import Annotated, Final

import msgspec

from kmonitor.base.errors import Expected
from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.local.plain_files import check_secret, read_own, write_private
from kmonitor_agent.wire.local.private_files import NotPrivate, make_private_folder
from kmonitor_agent.wire.messages.access_messages import KeyGrant

MAX_KEYS: Final = 1000

FILE_NAME: Final = "authorized.json"


class NameTaken(Expected):
    """Another key has this name already."""


class Untrusted(Expected):
    """The file is there and cannot be trusted: nobody is let in, and it is not replaced."""


class _File(msgspec.Struct, frozen=True):
    keys: Annotated[list[KeyGrant], msgspec.Meta(max_length=MAX_KEYS)] = []


class KeyList:
    """Owned by the hub's main thread. Whatever is wrong with the file: nobody is let in.

    Attributes:
        fault: What is wrong with the file, and what to do; None: nothing.
    """

    def __init__(self, folder: Path, faults: HubFaults) -> None:
        self.path = folder / FILE_NAME
        self._faults = faults
        self._seen: tuple[int, ...] | None = None
        self.fault: Untrusted | None = None
        self._grants: dict[str, KeyGrant] = {}
        self.look_again()

    def find(self, key: str) -> KeyGrant | None:
        """The grant of a key; None: it may not connect."""
        return self._grants.get(key)

    def all(self) -> list[KeyGrant]:
        """Every grant, by name."""
        return sorted(self._grants.values(), key=lambda grant: grant.name)

    def look_again(self) -> set[str]:
        """Read the file if it changed; returns the keys that are out or have another role now."""
        seen = self._stamp()
        if seen == self._seen:
            return set()
        before, self._grants = self._grants, self._read()
        self._seen = seen
        return {
            key
            for key, grant in before.items()
            if key not in self._grants or self._grants[key].role != grant.role
        }

    def grant(self, grant: KeyGrant) -> None:
        """Let a key in, or give one that is in another name or role.

        Raises:
            NameTaken: Another key has this name.
            Untrusted: The file as it is would be lost.
            Expected: There are too many keys.
            OSError: The file cannot be written; nothing changed.
        """
        self._keep_what_is_at_fault()
        others = {key: each for key, each in self._grants.items() if key != grant.key}
        if any(each.name == grant.name for each in others.values()):
            raise NameTaken(f'another key is called "{grant.name}" already')
        if len(others) >= MAX_KEYS:
            raise Expected(f"there are {MAX_KEYS} keys already; revoke some")
        self._write({**others, grant.key: grant})

    def revoke(self, name_or_key: str) -> KeyGrant | None:
        """Take a key off the list; None if there is no such one.

        Raises:
            Untrusted: The file as it is would be lost.
            OSError: The file cannot be written; nothing changed.
        """
        self._keep_what_is_at_fault()
        for grant in self._grants.values():
            if name_or_key in (grant.name, grant.key):
                rest = {key: each for key, each in self._grants.items() if key != grant.key}
                self._write(rest)
                return grant
        return None

    def _keep_what_is_at_fault(self) -> None:
        if self.fault is not None:
            raise self.fault

    def _write(self, grants: dict[str, KeyGrant]) -> None:
        make_private_folder(self.path.parent)
        ordered = sorted(grants.values(), key=lambda grant: grant.name)
        text = msgspec.json.format(msgspec.json.encode(_File(keys=ordered)))
        write_private(self.path, text + b"\n")
        self._grants = grants
        self._seen = self._stamp()

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = self.path.lstat()
        except OSError:
            return None
        # A chmod alone changes neither inode nor time of modification.
        return (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_mode, found.st_uid)

    def _read(self) -> dict[str, KeyGrant]:
        self.fault = None
        try:
            return read_key_list(self.path)
        except Untrusted as exc:
            self._faults.record("keys", exc.what)
            self.fault = exc
            return {}


def read_key_list(path: Path) -> dict[str, KeyGrant]:
    """Who is let in by this file, by key; nobody when there is none.

    Raises:
        Untrusted: It is not this user's alone, or cannot be read or understood.
    """
    open_to_others = f"can be read or written by others; see whom it lists, then: chmod 600 {path}"
    try:
        check_secret(path, open_to_others)
        found = msgspec.json.decode(read_own(path), type=_File)
    except FileNotFoundError:
        return {}
    except NotPrivate as exc:
        raise Untrusted(f"No key is let in: {path} {exc.why}") from exc
    except OSError as exc:
        raise Untrusted(f"No key is let in: {path} cannot be read: {exc.strerror}") from exc
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        what = f"No key is let in: {path} is damaged ({exc})"
        aside = f"mend it, or put it aside: mv {path} {path}.damaged"
        raise Untrusted(f"{what}; {aside}") from exc
    return {grant.key: grant for grant in found.keys}
