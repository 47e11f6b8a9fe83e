"""A real sshd on loopback, and an `ssh` on PATH that knows it as `gpu-01`."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kmonitor.connect.local_hub import stop_hub
from kmonitor_agent.wire.local.folders import Folders, find_folders
from tests.support.capabilities import sshd_path
from tests.support.loopback import free_port
from tests.support.waiting import DEADLINE_S, wait_until

_ROOT = Path(__file__).resolve().parents[2]
NAME = "gpu-01"


class SshHost:
    """One sshd for this user; `kmonitor` is on the PATH of its logins unless taken away.

    Attributes:
        there: Folders of the kmonitor that is reached through it.
        folder: Its own files: keys, configuration, `bin` of the logins.
        port: Port that it listens on.
        may_forward: True if it lets sockets be forwarded, from `start` on.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.there: Folders = find_folders({"KMONITOR_HOME": str(folder / "there")})
        self.home = folder / "home"
        self.may_forward = True
        self._process: subprocess.Popen[bytes] | None = None
        for part in ("bin", "client", "home"):
            (folder / part).mkdir(parents=True)
        for key in ("host_key", "other_key", "id", "other_id"):
            _make_key(folder / key)
        (folder / "authorized").write_text((folder / "id.pub").read_text())
        self.program("kmonitor", f'exec {sys.executable} -m kmonitor "$@"')
        self.trust(folder / "host_key.pub")
        self.configure()

    def program(self, name: str, body: str) -> Path:
        """Put a program on the PATH of the logins."""
        return _script(self.folder / "bin" / name, body)

    def configure(self, *, identity: str = "id", port: int | None = None) -> None:
        """Write the client's configuration, and the `ssh` that reads it."""
        config = self.folder / "client" / "config"
        config.write_text(
            f"Host {NAME}\n  HostName 127.0.0.1\n  Port {port or self.port}\n"
            f"  IdentityFile {self.folder / identity}\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.folder / 'known'}\n  GlobalKnownHostsFile /dev/null\n"
        )
        _script(self.folder / "client" / "ssh", f'exec {_ssh()} -F {config} "$@"')

    def trust(self, key: Path | None) -> None:
        """Set the client's known key of this host; None: none."""
        known = f"[127.0.0.1]:{self.port} {key.read_text()}" if key is not None else ""
        (self.folder / "known").write_text(known)

    def start(self, **environ: str) -> None:
        """Start it; logins have these variables."""
        variables = {
            "KMONITOR_HOME": str(self.there.state),
            "PYTHONPATH": str(_ROOT),
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.home),
            **environ,
        }
        config = self.folder / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder / 'host_key'}\n"
            f"AuthorizedKeysFile {self.folder / 'authorized'}\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            "PermitRootLogin yes\nPidFile none\n"
            f"AllowStreamLocalForwarding {'yes' if self.may_forward else 'no'}\n"
            f"SetEnv {' '.join(f'{name}={value}' for name, value in variables.items())}\n"
        )
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (self.folder / "sshd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sshd_path(), "-D", "-e", "-f", str(config)], stderr=log, stdin=subprocess.DEVNULL
            )
        wait_until(lambda: _answers(self.port), what="sshd answers")

    def process(self) -> psutil.Process:
        """The server itself."""
        assert self._process is not None
        return psutil.Process(self._process.pid)

    def sessions(self) -> list[psutil.Process]:
        """The processes of sshd that serve a connection."""
        return self.process().children(recursive=True)

    def freeze(self) -> list[psutil.Process]:
        """Stop every connection that there is, as a server does that hangs."""
        frozen = self._serving()
        for each in frozen:
            each.suspend()
        return frozen

    def _serving(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        for each in self.sessions():
            # A connection that ends is gone between two looks at it.
            with contextlib.suppress(psutil.NoSuchProcess):
                if each.name() == "sshd":
                    found.append(each)
        return found

    def stop(self) -> None:
        """End it and what it started."""
        if self._process is None:
            return
        for each in self._serving():
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(DEADLINE_S)
        self._process = None


def _make_key(path: Path) -> None:
    keygen = shutil.which("ssh-keygen") or ""
    arguments = [keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(arguments, check=True, timeout=DEADLINE_S)


def _script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def _ssh() -> str:
    return "/usr/bin/ssh" if Path("/usr/bin/ssh").exists() else "ssh"


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as probe:
            return probe.recv(4) == b"SSH-"
    except OSError:
        return False


@pytest.fixture
def ssh_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshHost]:
    """A host that is not started yet; what runs there at the end is ended."""
    host = SshHost(tmp_path / "host")
    monkeypatch.setenv("PATH", f"{host.folder / 'client'}:{os.environ['PATH']}")
    yield host
    host.stop()
    stop_hub(host.there)


@pytest.fixture
def live_ssh_host(ssh_host: SshHost) -> SshHost:
    """A host that answers."""
    ssh_host.start()
    return ssh_host
