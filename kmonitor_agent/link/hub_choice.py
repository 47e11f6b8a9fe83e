"""Choice of an agent's hub: this user's own, none, one behind a socket, or a remote one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kmonitor_agent.wire.local.file_system import DISK
from kmonitor_agent.wire.local.folders import SOCKET_PATH_LIMIT_BYTES, Folders, expand_user
from kmonitor_agent.wire.local.hub_address import (
    SCHEME,
    DirectAddress,
    ingest_socket_path,
    parse_direct_address,
)

HUB_VARIABLE = "KMONITOR_HUB"
"""Environment variable that is read when a script names no hub."""


@dataclass(frozen=True, slots=True)
class HubChoice:
    """Destination of events.

    Attributes:
        is_off: True for no hub; events only wait in the spool.
        path: Socket of a named hub; None: this user's hub on this host.
        direct: Address of a hub that listens on the network; wins over `path`.
    """

    is_off: bool = False
    path: Path | None = None
    direct: DirectAddress | None = None

    def socket(self, folders: Folders) -> Path | DirectAddress | None:
        """Socket or address to connect to; None for no hub."""
        if self.is_off:
            return None
        if self.direct is not None:
            return self.direct
        return self.path if self.path is not None else ingest_socket_path(folders)


def parse_hub(value: str | None, environ: Mapping[str, str]) -> HubChoice:
    """Parse the hub that a script or the environment names.

    Args:
        value: `hub=` of the script: None (the variable, else this user's hub), "off", a path, or
            `tcp://HOST:PORT?key=KEY`.
        environ: The environment, for `KMONITOR_HUB`.

    Raises:
        ValueError: The value is none of these; the message says what to write instead.
    """
    source = "hub" if value is not None else HUB_VARIABLE
    text = value if value is not None else environ.get(HUB_VARIABLE, "")
    match text.strip():
        case "" | "local":
            return HubChoice()
        case "off":
            return HubChoice(is_off=True)
        case named if named.startswith(SCHEME):
            return HubChoice(direct=_direct(named, source))
        case named:
            return HubChoice(path=_socket_path(named, source))


def _direct(named: str, source: str) -> DirectAddress:
    try:
        return parse_direct_address(named)
    except ValueError as exc:
        raise ValueError(f"{source}={exc}") from exc


def _socket_path(named: str, source: str) -> Path:
    if named.startswith("ipc://"):
        named = named.removeprefix("ipc://")
    if "://" in named:
        raise ValueError(
            f'{source}={named!r} is not valid: use "off", the path of a hub\'s socket or '
            "the address of a hub (tcp://HOST:PORT?key=KEY); to use your own hub, leave this "
            "setting out"
        )
    path = expand_user(named)
    if not path.is_absolute():
        raise ValueError(
            f'{source}={named!r} is not valid: use "off" or the absolute path of a hub\'s '
            f"socket, such as {path.absolute()}"
        )
    if DISK.sees(path, Path.is_dir):
        raise ValueError(
            f"{source}={named!r} is a folder: use the path of the hub's socket, such as"
            f" {path / 'run' / 'agents.sock'}, or move everything with KMONITOR_HOME"
        )
    if len(str(path).encode()) > SOCKET_PATH_LIMIT_BYTES:
        raise ValueError(
            f"{source}={named!r}: a socket path can be at most {SOCKET_PATH_LIMIT_BYTES} "
            "bytes long; use a shorter KMONITOR_HOME for the hub"
        )
    return path
