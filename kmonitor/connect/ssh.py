"""One ssh process that forwards a host's hub to a socket in this user's private folder."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path
from typing import Final

from kmonitor.connect.host_errors import HostTrouble, ssh_trouble
from kmonitor.connect.ssh_command import free_socket, ssh_environment, tunnel_arguments
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import make_private_folder

_LOOK_S: Final = 0.01
_ENDS_S: Final = 2.0
_KEPT_WORDS: Final = 8192


class SshTunnel:
    """Owned by one thread: `start`, `wait_up`, look at `trouble` now and then, `stop`.

    Attributes:
        local: The socket here; `ipc://` before it is the hub's address.
        address: The host.
    """

    def __init__(self, address: str, remote: str, local: Path) -> None:
        self.address = address
        self.local = local
        self._arguments = tunnel_arguments(address, remote, local)
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b""

    def start(self) -> None:
        """Start ssh; it needs some tenths of a second until the socket is there."""
        self.local.unlink(missing_ok=True)
        self._said = b""
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
        """Of ssh; 0 before `start`."""
        return self._process.pid if self._process is not None else 0

    def wait_up(self, stop: threading.Event, *, timeout_s: float = 30.0) -> bool:
        """Wait until the socket is there; False when `stop` was set first.

        Raises:
            HostTrouble: ssh ended, or took longer than `timeout_s` seconds.
        """
        end_s = time.monotonic() + timeout_s
        while not stop.wait(_LOOK_S):
            trouble = self.trouble()
            if trouble is not None:
                raise trouble
            if self.local.exists():
                return True
            if time.monotonic() > end_s:
                raise HostTrouble("silent", self.address, f"{self.address} does not answer.")
        return False

    def trouble(self) -> HostTrouble | None:
        """Why ssh ended; None while it runs."""
        process = self._process
        if process is None:
            return HostTrouble("broken", self.address, f"No connection to {self.address}.")
        self._listen()
        if process.poll() is None:
            return None
        self._listen()
        return ssh_trouble(self.address, self._said.decode("utf-8", "replace"))

    @property
    def leads_nowhere(self) -> bool:
        """Whether ssh said that the socket there was not reached.

        Nobody listens on it, or its server forbids it: sshd 9 has the same words for both.
        """
        return b": open failed: " in self._said

    def reaches(self, stop: threading.Event, *, timeout_s: float = 3.0) -> bool:
        """Try once: False when the socket there is not reached; after `wait_up`.

        Silence is none: who is frozen there is reached, or may be.
        """
        end_s = time.monotonic() + timeout_s
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_LOOK_S)
            with contextlib.suppress(OSError):
                probe.connect(os.fsencode(self.local))
            while time.monotonic() < end_s and not stop.is_set():
                # A hub begins to speak as soon as somebody comes.
                with contextlib.suppress(OSError):
                    if probe.recv(1):
                        return True
                if self.trouble() is not None or self.leads_nowhere:
                    return False
                stop.wait(_LOOK_S)
        return True

    def stop(self) -> None:
        """End ssh and take the socket away."""
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
        while said := stderr.read(_KEPT_WORDS):
            self._said = (self._said + said)[-_KEPT_WORDS:]


def place_for_socket(folders: Folders) -> Path:
    """Where a forwarded socket goes; what killed processes left there is taken away.

    Raises:
        NotPrivate: The folder is open to others.
        OSError: It cannot be made.
    """
    make_private_folder(folders.runtime)
    for old in folders.runtime.glob("s??????????"):
        if _is_forsaken(old):
            with contextlib.suppress(OSError):
                old.unlink()
    return free_socket(folders)


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
