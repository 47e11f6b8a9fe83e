"""ssh: checked addresses, command lines, and a process that forwards a host's socket."""

import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kmonitor.base.errors import UserError
from kmonitor.connect.host_errors import HostError, ssh_error
from kmonitor_agent.wire.local.folders import SOCKET_PATH_LIMIT_BYTES, Folders
from kmonitor_agent.wire.local.private_files import make_private_folder

LONGEST_ADDRESS: Final = 255
_ADDRESS = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*@)?[A-Za-z0-9_\[:][A-Za-z0-9_.:%\[\]-]*")
"""`host` or `user@host`, without shell characters: ssh passes it to the user's ProxyCommand."""

_WITH_PORT = re.compile(r"[^:\[\]]+:\d+|\[.*\]:\d+")
"""`host:port`, which ssh would take for the name of a host."""


class BadAddress(UserError):
    """An address that must not be passed to ssh."""

    def __init__(self, address: str) -> None:
        shown = "".join(c if c.isprintable() else "?" for c in address[:80])
        what = f'"{shown}" is not a host name'
        if address.startswith("-"):
            what += ": it begins with a hyphen"
        elif _WITH_PORT.fullmatch(address):
            what += ": it has a port"
        if address.startswith("tcp://"):
            super().__init__(
                f"{what}: it is the address of a hub.",
                (
                    "Pass it with --hub, or add it to the remembered hosts first: kmonitor "
                    "hosts add"
                ),
            )
            return
        super().__init__(
            f"{what}.",
            "Use the form that ssh accepts: gpu-01 or user@gpu-01. Ports and other options go "
            "in ~/.ssh/config, under a name of your choice.",
        )


def checked_address(address: str) -> str:
    """Check an address and strip surrounding blanks. Raises: `BadAddress`."""
    address = address.strip()
    is_odd = address.startswith("-") or "@-" in address or _WITH_PORT.fullmatch(address)
    if is_odd or len(address) > LONGEST_ADDRESS or not _ADDRESS.fullmatch(address):
        raise BadAddress(address)
    return address


class NoSsh(UserError):
    """There is no ssh client on this machine."""

    def __init__(self) -> None:
        super().__init__(
            "ssh is not installed on this machine.",
            "Install it: sudo apt-get install openssh-client",
        )


class NoForwarding(UserError):
    """This system has no sockets that ssh could forward."""

    def __init__(self) -> None:
        super().__init__(
            (
                "Hosts cannot be reached over ssh from Windows: its ssh cannot forward Unix"
                " sockets."
            ),
            "Connect with keys: start kmonitor hub --bind ADDRESS:PORT there, and use the address "
            "that it prints.",
        )


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
"""Options: no prompts, a separate connection, a lost peer noticed within 15 s, and error output.

A shared connection (ControlMaster) would keep the forwarding after our end, and hang with others.
"""

_TUNNEL: Final = (
    "ExitOnForwardFailure=yes",
    "StreamLocalBindUnlink=yes",
    "StreamLocalBindMask=0177",
)
"""Options: end if the socket cannot be forwarded; the local socket is private to its user."""


def remote_arguments(address: str, command: str) -> list[str]:
    """Return the arguments that run a command line on a host.

    Args:
        address: Address of the host; checked again.
        command: Command line for the host's login shell, already quoted.
    """
    options = _options((*_COMMON, "ClearAllForwardings=yes"))
    return [_ssh(), "-n", "-T", "-x", *options, "--", checked_address(address), command]


def tunnel_arguments(address: str, remote: str, local: Path) -> list[str]:
    """Return the arguments that forward a socket of a host to a path on this machine.

    Args:
        address: Address of the host; checked again.
        remote: Absolute path of the socket on the host.
        local: Path of the forwarded socket on this machine.
    """
    options = _options((*_COMMON, *_TUNNEL))
    forward = f"{local}:{remote}"
    arguments = [_ssh(), "-N", "-T", "-x", *options, "-L", forward, "--", checked_address(address)]
    # Without it a tunnel would outlive a window that was killed. Linux only; elsewhere it may.
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", *arguments] if setpriv else arguments


def _options(options: Sequence[str]) -> list[str]:
    return [part for option in options for part in ("-o", option)]


def _ssh() -> str:
    if not hasattr(socket, "AF_UNIX"):
        raise NoForwarding
    found = shutil.which("ssh")
    if found is None:
        raise NoSsh
    return found


def ssh_environment() -> dict[str, str]:
    """Environment for ssh: English messages, and no windows for prompts."""
    left_out = {"DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE"}
    environ = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**environ, "LC_ALL": "C"}


def is_forwardable(path: str) -> bool:
    """True if ssh can forward a socket at this path: absolute, short, and without a colon."""
    is_short = len(os.fsencode(path)) <= SOCKET_PATH_LIMIT_BYTES
    return path.startswith("/") and is_short and ":" not in path and path.isprintable()


_POLL_S: Final = 0.01
_ENDS_S: Final = 2.0
_TAIL_BYTES: Final = 8192


class SshTunnel:
    """An ssh process that forwards a socket of a host.

    Owned by one thread: `start`, `wait_until_open`, check `error` now and then, `stop`.

    Attributes:
        local: Path of the local socket; with `ipc://` before it, the hub's endpoint.
    """

    def __init__(self, address: str, remote: str, local: Path) -> None:
        self.address = address
        self.local = local
        self._arguments = tunnel_arguments(address, remote, local)
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr_tail = b""

    def start(self) -> None:
        """Start ssh; the socket appears some tenths of a second later."""
        self.local.unlink(missing_ok=True)
        self._stderr_tail = b""
        self._process = subprocess.Popen(  # noqa: S603 - a list, never a shell
            self._arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=ssh_environment(),
            start_new_session=True,
        )
        if self._process.stderr is not None:
            os.set_blocking(self._process.stderr.fileno(), False)

    @property
    def pid(self) -> int:
        """Process id of ssh; 0 before `start`."""
        return self._process.pid if self._process is not None else 0

    def wait_until_open(self, stop: threading.Event, *, timeout_s: float = 30.0) -> bool:
        """Wait until the socket exists; False when `stop` was set first.

        Raises:
            HostError: ssh ended, or took longer than `timeout_s` seconds.
        """
        end_s = time.monotonic() + timeout_s
        while not stop.wait(_POLL_S):
            trouble = self.error()
            if trouble is not None:
                raise trouble
            if self.local.exists():
                return True
            if time.monotonic() > end_s:
                raise HostError("silent", self.address, f"{self.address} is not responding.")
        return False

    def error(self) -> HostError | None:
        """Reason why ssh ended; None while it runs."""
        process = self._process
        if process is None:
            return HostError("broken", self.address, f"No connection to {self.address}.")
        self._listen()
        if process.poll() is None:
            return None
        self._listen()
        return ssh_error(self.address, self._stderr_tail.decode("utf-8", "replace"))

    @property
    def is_target_missing(self) -> bool:
        """True if ssh reported that the remote socket was not reached.

        No process listens on it, or the server forbids it: sshd 9 has the same message for both.
        """
        return b": open failed: " in self._stderr_tail

    def reaches(self, stop: threading.Event, *, timeout_s: float = 3.0) -> bool:
        """Try the remote socket once, after `wait_until_open`; False if it is not reached.

        Silence is no failure: a frozen process may have been reached.
        """
        end_s = time.monotonic() + timeout_s
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_POLL_S)
            with contextlib.suppress(OSError):
                probe.connect(os.fsencode(self.local))
            while time.monotonic() < end_s and not stop.is_set():
                # A hub begins to speak as soon as somebody comes.
                with contextlib.suppress(OSError):
                    if probe.recv(1):
                        return True
                if self.error() is not None or self.is_target_missing:
                    return False
                stop.wait(_POLL_S)
        return True

    def stop(self) -> None:
        """End ssh and remove the socket."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            # Stopped by a signal it would not hear the other one.
            with contextlib.suppress(OSError, AttributeError):
                process.send_signal(signal.SIGCONT)
            try:
                process.wait(_ENDS_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stderr is not None:
                process.stderr.close()
        with contextlib.suppress(OSError):
            self.local.unlink(missing_ok=True)

    def _listen(self) -> None:
        # Read also while all is well: ssh must never wait for a full pipe.
        stderr = self._process.stderr if self._process is not None else None
        if stderr is None:
            return
        while received := stderr.read(_TAIL_BYTES):
            self._stderr_tail = (self._stderr_tail + received)[-_TAIL_BYTES:]


def make_socket_path(folders: Folders) -> Path:
    """Return a path for a forwarded socket, and remove sockets left by killed processes.

    Raises:
        NotPrivate: The folder is open to others.
        OSError: The folder cannot be created.
    """
    make_private_folder(folders.runtime)
    for old in folders.runtime.glob("s??????????"):
        if _is_forsaken(old):
            with contextlib.suppress(OSError):
                old.unlink()
    return free_socket(folders)


def free_socket(folders: Folders) -> Path:
    """An unused, short path for a forwarded socket in the private folder."""
    # As long as "agents.sock", for which the folder was chosen.
    return folders.runtime / f"s{secrets.token_hex(5)}"


def _is_forsaken(path: Path) -> bool:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(0.2)
            probe.connect(os.fsencode(path))
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False
