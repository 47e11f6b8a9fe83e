"""Keys that may connect, and answers to libzmq's question about them at each handshake (ZAP).

The keys are in one private file, which is read again when it changes.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
import zmq

from kmonitor.base.errors import UserError
from kmonitor.hub.access.peers import CURVE_KEY_BYTES
from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.local.private_files import (
    NotPrivate,
    check_secret,
    make_private_folder,
    read_own,
    write_private,
)
from kmonitor_agent.wire.messages.access_messages import KeyGrant

MAX_KEYS: Final = 1000

FILE_NAME: Final = "authorized.json"


class KeyNameTaken(UserError):
    """Another key has this name already."""


class KeyListUntrusted(UserError):
    """The file is there and cannot be trusted: no device may connect, and it is not replaced."""


class _File(msgspec.Struct, frozen=True):
    keys: Annotated[list[KeyGrant], msgspec.Meta(max_length=MAX_KEYS)] = []


class KeyList:
    """Owned by the hub's main thread. If anything is wrong with the file, no device may connect.

    Attributes:
        fault: Fault of the file and its remedy; None: no fault.
    """

    def __init__(self, folder: Path, faults: HubFaults) -> None:
        self.path = folder / FILE_NAME
        self._faults = faults
        self._seen: tuple[int, ...] | None = None
        self.fault: KeyListUntrusted | None = None
        self._grants: dict[str, KeyGrant] = {}
        self.refresh()

    def find(self, key: str) -> KeyGrant | None:
        """The grant of a key; None: it may not connect."""
        return self._grants.get(key)

    def all(self) -> list[KeyGrant]:
        """Every grant, by name."""
        return sorted(self._grants.values(), key=lambda grant: grant.name)

    def refresh(self) -> set[str]:
        """Read the file if it changed; return keys that were removed or have another role now."""
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
        """Authorize a key, or change the name or role of an authorized one.

        Raises:
            KeyNameTaken: Another key has this name.
            KeyListUntrusted: The present file would be lost.
            UserError: There are too many keys.
            OSError: The file cannot be written; nothing changed.
        """
        self._save_faulty_file()
        others = {key: each for key, each in self._grants.items() if key != grant.key}
        if any(each.name == grant.name for each in others.values()):
            raise KeyNameTaken(f'another key already has the name "{grant.name}"')
        if len(others) >= MAX_KEYS:
            raise UserError(f"there are already {MAX_KEYS} keys; revoke some")
        self._write({**others, grant.key: grant})

    def revoke(self, name_or_key: str) -> KeyGrant | None:
        """Remove a key from the list; None if it is not there.

        Raises:
            KeyListUntrusted: The present file would be lost.
            OSError: The file cannot be written; nothing changed.
        """
        self._save_faulty_file()
        for grant in self._grants.values():
            if name_or_key in (grant.name, grant.key):
                rest = {key: each for key, each in self._grants.items() if key != grant.key}
                self._write(rest)
                return grant
        return None

    def _save_faulty_file(self) -> None:
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
        except KeyListUntrusted as exc:
            self._faults.record("keys", exc.what)
            self.fault = exc
            return {}


def read_key_list(path: Path) -> dict[str, KeyGrant]:
    """Grants in this file, by key; empty if there is no file.

    Raises:
        KeyListUntrusted: It is not this user's alone, or cannot be read or understood.
    """
    open_to_others = (
        "can be read or written by other users; check which keys it lists, then run: chmod 600"
        f" {path}"
    )
    try:
        check_secret(path, open_to_others)
        found = msgspec.json.decode(read_own(path), type=_File)
    except FileNotFoundError:
        return {}
    except NotPrivate as exc:
        raise KeyListUntrusted(f"No key can connect: {path} {exc.why}") from exc
    except OSError as exc:
        raise KeyListUntrusted(
            f"No key can connect: {path} cannot be read: {exc.strerror}"
        ) from exc
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        what = f"No key can connect: {path} is damaged ({exc})"
        aside = f"repair it, or move it aside: mv {path} {path}.damaged"
        raise KeyListUntrusted(f"{what}; {aside}") from exc
    return {grant.key: grant for grant in found.keys}


DOMAIN: Final = b"kmonitor"

_ADDRESS: Final = "inproc://zeromq.zap.01"
_VERSION: Final = b"1.0"
_ENVELOPE: Final = 9
"""Routing id, empty, version, request id, domain, address, identity, mechanism, one credential."""

_MAX_AT_ONCE: Final = 256


class ZapHandler:
    """Owned by the hub's main thread.

    Attributes:
        socket: Socket that the loop polls.
        tried: Keys with which the hub tests its own endpoint; refused like all others, but not
            counted.
    """

    def __init__(
        self,
        context: "zmq.Context[zmq.Socket[bytes]]",
        keys: KeyList,
        faults: HubFaults,
        on_refused: Callable[[str], None],
    ) -> None:
        """Begin to answer in this context; before any socket is bound to the network.

        Args:
            context: Context of the sockets whose connections it answers for.
            keys: Keys that may connect.
            on_refused: Called with a key that may not connect.
        """
        self._on_refused = on_refused
        self.tried: set[str] = set()
        self._keys = keys
        self._faults = faults
        self.socket = context.socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(_ADDRESS)

    def serve(self) -> None:
        """Answer the open handshakes."""
        for _ in range(_MAX_AT_ONCE):
            try:
                frames = self.socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return
            # A request that raises gets no answer, and the device is not admitted.
            with self._faults.guarded("access"):
                self._answer(frames)

    def close(self) -> None:
        """Close; from here on no device may connect."""
        self.socket.close(linger=0)

    def _answer(self, frames: Sequence[bytes]) -> None:
        routing_id, _, _, request, *_ = frames
        user = self._user(frames)
        status, text = (b"200", b"OK") if user else (b"400", b"this key may not connect")
        reply = (routing_id, b"", _VERSION, request, status, text, user, b"")
        self.socket.send_multipart(reply, zmq.DONTWAIT)

    def _user(self, frames: Sequence[bytes]) -> bytes:
        if len(frames) != _ENVELOPE or frames[2] != _VERSION or frames[4] != DOMAIN:
            self._faults.record("access: odd question")
            return b""
        address = frames[5]
        mechanism = frames[7]
        credential = frames[8]
        if mechanism != b"CURVE" or len(credential) != CURVE_KEY_BYTES:
            self._faults.record("access: no key")
            return b""
        key = credential.hex()
        if self._keys.find(key) is None:
            if key not in self.tried:
                where = address.decode("ascii", "replace")
                self._faults.record("access: key refused", f"{key} from {where}")
                self._on_refused(key)
            return b""
        return key.encode()
