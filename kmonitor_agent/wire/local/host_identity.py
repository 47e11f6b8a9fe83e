"""Identity of this device: its keys for hubs, and its pseudonyms in private sessions.

Keys and the pseudonyms' salt are created once, kept in private files, and refused when others can
read them. `keys/` below the state folder holds one file per purpose, each with a secret key as 64
hexadecimal digits; the public key follows from it.
"""

import contextlib
import hmac
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import (
    KEY_BYTES,
    NotPrivate,
    check_own_folder,
    check_secret,
    make_own_folder,
    make_private_folder,
    open_new,
    read_own,
    write_all,
)

Purpose = Literal["hub", "desktop", "agent"]
"""Keys of the hub itself, of app and command line, or of trainings."""

_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True, repr=False)
class KeyPair:
    """A Curve25519 key pair, as ZeroMQ takes it (Z85).

    Attributes:
        secret: Secret key; never shown, not even by `repr`.
    """

    public: bytes
    secret: bytes

    @property
    def public_text(self) -> str:
        """The public key as 64 hexadecimal digits, for people to copy."""
        return key_hex(self.public)


def keys_folder(folders: Folders) -> Path:
    return folders.state / "keys"


def key_hex(z85: bytes) -> str:
    """A ZeroMQ key as 64 hexadecimal digits."""
    from zmq.utils import z85 as codec  # noqa: PLC0415 - as `own_keys` does

    return codec.decode(z85).hex()


def key_z85(text: str) -> bytes:
    """A key of 64 hexadecimal digits in ZeroMQ's form. Raises: ValueError."""
    from zmq.utils import z85 as codec  # noqa: PLC0415 - as `own_keys` does

    raw = bytes.fromhex(text)
    if len(raw) != _SECRET_BYTES:
        raise ValueError(text)
    return codec.encode(raw)


def own_keys(folders: Folders, purpose: Purpose) -> KeyPair:
    """This device's keys for a purpose; created if there are none yet.

    Raises:
        NotPrivate: Others could read or replace the file, or it holds no key.
        OSError: It cannot be read or created.
    """
    folder = keys_folder(folders)
    make_own_folder(folders.state)
    make_private_folder(folder)
    path = folder / f"{purpose}.key"
    with contextlib.suppress(FileNotFoundError):
        return _read_keys(path)
    _make_keys(path)
    return _read_keys(path)


def _read_keys(path: Path) -> KeyPair:
    import zmq  # noqa: PLC0415 - a training without a direct hub never loads it

    # Others know a hub by its key, and a device by what it was let in with.
    is_hub = path.name == "hub.key"
    consequence = (
        (
            "changes the hub's address, which you then have to redistribute (kmonitor keys list "
            "prints it)"
        )
        if is_hub
        else "has to be authorized again"
    )
    check_secret(
        path,
        "can be read by others, so the private key may have been compromised; remove it to create"
        f" a new one, which {consequence}",
    )
    try:
        secret = key_z85(read_own(path, KEY_BYTES).decode("ascii").strip())
    except ValueError as exc:
        raise NotPrivate(path, "contains no key; remove it to create a new one") from exc
    return KeyPair(zmq.curve_public(secret), secret)


def _make_keys(path: Path) -> None:
    import zmq  # noqa: PLC0415 - as `_read_keys`

    _public, secret = zmq.curve_keypair()
    _write_once(path, key_hex(secret).encode() + b"\n")


def _write_once(path: Path, data: bytes) -> None:
    """Create a small file that is never seen half written; an existing one stays."""
    # Whole before it has its name: who dies in between leaves no half a key behind.
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    file = open_new(new)
    try:
        try:
            write_all(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        # Two processes may be first at once: the link that is there already wins.
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)


SALT_NAME: Final = "host-salt"
"""File in the state folder; 0600."""

_SALT_BYTES: Final = 32
_MARK_DIGITS: Final = 12


def host_pseudonym(salt: bytes, session_id: str) -> str:
    """The name of this host in a private session, 12 hexadecimal digits.

    Args:
        salt: Salt from `read_salt` or `make_salt`.
        session_id: Id of the process start.
    """
    message = f"{session_id}\0{socket.gethostname()}".encode("utf-8", "backslashreplace")
    return hmac.new(salt, message, "sha256").hexdigest()[:_MARK_DIGITS]


def group_pseudonym(salt: bytes, group: str) -> str:
    """The name of a process group in a private session: the same on every host with this salt.

    Args:
        salt: See above; the hosts of a group share it with the state folder.
    """
    message = f"group\0{group}".encode("utf-8", "backslashreplace")
    return hmac.new(salt, message, "sha256").hexdigest()[:_MARK_DIGITS]


def read_salt(state: Path) -> bytes | None:
    """This user's salt, or None if there is none that only this user can have written."""
    path = state / SALT_NAME
    try:
        check_own_folder(state)
        check_secret(path)
        salt = read_own(path, KEY_BYTES)
    except OSError:
        return None
    return salt if len(salt) == _SALT_BYTES else None


def make_salt(state: Path) -> bytes:
    """This user's salt, created if missing; if the disk refuses, one for this process only.

    In the latter case a hub cannot recognise its host, and nothing more is disclosed.
    """
    known = read_salt(state)
    if known is not None:
        return known
    salt = os.urandom(_SALT_BYTES)
    with contextlib.suppress(OSError):
        make_own_folder(state)
        _write_once(state / SALT_NAME, salt)
    return read_salt(state) or salt
