"""Installs missing Debian packages in one call, or says which line does it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kmonitor_setup.words import CannotSetUp, say

_LISTS = Path("/var/lib/apt/lists")

_SSH_SERVER = "openssh-server"
_SSH_STAYS_OFF = "/etc/ssh/sshd_not_to_be_run"
"""While this file exists, Debian starts no ssh server. Source: its ssh.service and init script."""

_POSTGRES_SERVER = "postgresql"
_NO_CLUSTER = "/etc/postgresql-common/createcluster.d/kmonitor.conf"
"""With this file Debian makes no database when it installs the server, and starts none.
Source: pg_createcluster(1), `create_main_cluster`."""


def install_line(packages: Sequence[str]) -> str:
    """The one line that a user can paste."""
    return f"sudo apt-get update && sudo apt-get install --yes {' '.join(packages)}"


def why_not_allowed(*, no_apt: bool) -> str:
    """Why packages cannot be installed from here; empty if they can."""
    if no_apt:
        return "NO_APT is set"
    if not shutil.which("apt-get"):
        return "this system has no apt-get"
    if os.geteuid() != 0 and not shutil.which("sudo"):
        return "this user is not root and there is no sudo"
    return ""


def install(packages: Sequence[str]) -> None:
    """Install packages, all in one call.

    Raises:
        CannotSetUp: apt-get failed; the message holds its last lines.
    """
    say(f"installing from Debian: {' '.join(packages)}")
    if _SSH_SERVER in packages:
        # The tests start one of their own on loopback; nobody asked for one that listens to all.
        say(f"no ssh server is started: {_SSH_STAYS_OFF}")
        _run(["install", "-D", "/dev/null", _SSH_STAYS_OFF])
    if _POSTGRES_SERVER in packages:
        say(f"no PostgreSQL server is started: {_NO_CLUSTER}")
        text = "create_main_cluster = false"
        _run(["install", "-d", str(Path(_NO_CLUSTER).parent)])
        _run(["sh", "-c", f"echo '{text}' > {_NO_CLUSTER}"])
    if not any(_LISTS.glob("*_Packages*")):
        # A list that cannot be had (a third party's, say) is no reason to stop: the install tells.
        _run(["apt-get", "update", "-q"])
    failed = _install(packages)
    if failed:
        _run(["apt-get", "update", "-q"])
        failed = _install(packages)
    if failed:
        tail = "\n".join(failed.splitlines()[-8:])
        raise CannotSetUp(
            "apt-get could not install what is missing.", f"{tail}\n{install_line(packages)}"
        )


def _install(packages: Sequence[str]) -> str:
    """What apt-get said if it failed, else nothing."""
    return _run(["apt-get", "install", "--yes", "-q", "--no-install-recommends", *packages])


def _run(command: list[str]) -> str:
    """Run this as root; what it said if it failed, else nothing."""
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if os.geteuid() != 0:
        # Without a terminal nobody can type a password: fail at once instead of waiting.
        ask = [] if sys.stdin.isatty() else ["--non-interactive"]
        command = ["sudo", *ask, "DEBIAN_FRONTEND=noninteractive", *command]
    told = subprocess.run(
        command,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=sys.stdin if sys.stdin.isatty() else subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return "" if told.returncode == 0 else told.stdout or f"status {told.returncode}"
