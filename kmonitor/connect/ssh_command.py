"""How ssh is called: which addresses are taken, with which options, as which arguments.

The system's own ssh does all of it, so the user's configuration, agent and jump hosts apply.
Source of the options: ssh(1), ssh_config(5) of OpenSSH 8.4 and later.
"""

import os
import re
import secrets
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kmonitor.base.errors import Expected
from kmonitor_agent.wire.local.folders import SOCKET_PATH_LIMIT_BYTES, Folders

LONGEST_ADDRESS: Final = 255

_ADDRESS = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*@)?[A-Za-z0-9_\[:][A-Za-z0-9_.:%\[\]-]*")
"""`host` or `user@host`. No sign that a shell knows: ssh hands it to the user's ProxyCommand."""

_COMMON: Final = (
    "BatchMode=yes",
    "ControlMaster=no",
    "ControlPath=none",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=2",
    "LogLevel=INFO",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
)
"""Never asks; a connection of its own; notices within 15 s that nobody answers; says why.

A shared connection (ControlMaster) would keep the forwarding after us, and hang with the others.
"""

_TUNNEL: Final = (
    "ExitOnForwardFailure=yes",
    "StreamLocalBindUnlink=yes",
    "StreamLocalBindMask=0177",
)
"""Ends when the socket cannot be forwarded; the socket here is for its user alone."""


_WITH_PORT = re.compile(r"[^:\[\]]+:\d+|\[.*\]:\d+")
"""`host:port`: ssh would look for a host of that name."""


class BadAddress(Expected):
    """What was typed is no host that ssh should be given."""

    def __init__(self, address: str) -> None:
        shown = "".join(c if c.isprintable() else "?" for c in address[:80])
        what = f'"{shown}" is no host name'
        if address.startswith("-"):
            what += ": it begins with a hyphen"
        elif _WITH_PORT.fullmatch(address):
            what += ": it has a port"
        if address.startswith("tcp://"):
            super().__init__(
                f"{what}: it is the address of a hub.",
                "Give it as --hub, or remember it first: kmonitor hosts add",
            )
            return
        super().__init__(
            f"{what}.",
            "Type it as for ssh: gpu-01 or user@gpu-01. Ports and all else belong into "
            "~/.ssh/config, under a name of your own.",
        )


class NoSsh(Expected):
    """There is no ssh client on this machine."""

    def __init__(self) -> None:
        super().__init__(
            "There is no ssh on this machine.",
            "Install it: sudo apt-get install openssh-client",
        )


class NoForwarding(Expected):
    """This system has no sockets that ssh could forward."""

    def __init__(self) -> None:
        super().__init__(
            "From Windows no host is reached over ssh: it has no sockets that ssh could forward.",
            "Connect with keys: start kmonitor hub --bind ADDRESS:PORT there, and use the address "
            "that it prints.",
        )


def checked_address(address: str) -> str:
    """An address without the blanks around it. Raises: `BadAddress`."""
    address = address.strip()
    is_odd = address.startswith("-") or "@-" in address or _WITH_PORT.fullmatch(address)
    if is_odd or len(address) > LONGEST_ADDRESS or not _ADDRESS.fullmatch(address):
        raise BadAddress(address)
    return address


def remote_arguments(address: str, command: str) -> list[str]:
    """Arguments that run a command line on a host.

    Args:
        address: Checked here again.
        command: For the login shell there; already quoted.
    """
    options = _options((*_COMMON, "ClearAllForwardings=yes"))
    return [_ssh(), "-n", "-T", "-x", *options, "--", checked_address(address), command]


def tunnel_arguments(address: str, remote: str, local: Path) -> list[str]:
    """Arguments that forward a socket of a host's to a place on this machine.

    Args:
        address: Checked here again.
        remote: The socket's absolute path there.
        local: Where it appears here.
    """
    options = _options((*_COMMON, *_TUNNEL))
    forward = f"{local}:{remote}"
    arguments = [_ssh(), "-N", "-T", "-x", *options, "-L", forward, "--", checked_address(address)]
    # Without it a tunnel would outlive a window that was killed. Linux only; elsewhere it may.
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", *arguments] if setpriv else arguments


def is_forwardable(path: str) -> bool:
    """Whether ssh can be given this path of a socket: absolute, short, and without a colon."""
    is_short = len(os.fsencode(path)) <= SOCKET_PATH_LIMIT_BYTES
    return path.startswith("/") and is_short and ":" not in path and path.isprintable()


def free_socket(folders: Folders) -> Path:
    """A place for a forwarded socket that nobody uses, in the private folder, short enough."""
    # As long as "agents.sock", for which the folder was chosen.
    return folders.runtime / f"s{secrets.token_hex(5)}"


def ssh_environment() -> dict[str, str]:
    """The environment for ssh: its words in English, and never a window that asks."""
    left_out = {"DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE"}
    environ = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**environ, "LC_ALL": "C"}


def _options(options: Sequence[str]) -> list[str]:
    return [part for option in options for part in ("-o", option)]


def _ssh() -> str:
    if not hasattr(socket, "AF_UNIX"):
        raise NoForwarding
    found = shutil.which("ssh")
    if found is None:
        raise NoSsh
    return found
