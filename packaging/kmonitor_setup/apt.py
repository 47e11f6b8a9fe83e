"""Installs missing Debian packages in one call, or says which line does it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kmonitor_setup.words import CannotSetUp, say

_LISTS = Path("/var/lib/apt/lists")

_NO_SSH = "/etc/ssh/sshd_not_to_be_run"
_NO_CLUSTER = "/etc/postgresql-common/createcluster.d/kmonitor.conf"
_NO_PROMETHEUS = "/etc/systemd/system/prometheus.service"
_STAYS_OFF = {
    "openssh-server": (_NO_SSH, [["install", "-D", "/dev/null", _NO_SSH]]),
    "postgresql": (
        _NO_CLUSTER,
        [
            ["install", "-d", str(Path(_NO_CLUSTER).parent)],
            ["sh", "-c", f"echo 'create_main_cluster = false' > {_NO_CLUSTER}"],
        ],
    ),
    "prometheus": (
        _NO_PROMETHEUS,
        [
            ["install", "-d", str(Path(_NO_PROMETHEUS).parent)],
            ["sh", "-c", f"test -e {_NO_PROMETHEUS} || ln -s /dev/null {_NO_PROMETHEUS}"],
        ],
    ),
}
"""Servers that Debian would start: the file that says no, and what makes it. The tests start their
own, and no one requested one that listens to all. Sources: Debian's ssh.service and init
script; pg_createcluster(1), `create_main_cluster`; systemctl(1), `mask`."""


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
    for package, (file, made_by) in _STAYS_OFF.items():
        if package in packages:
            say(f"its server is not started: {package}, by {file}")
            for command in made_by:
                _run(command)
    if not any(_LISTS.glob("*_Packages*")):
        # A list that cannot be had (a third party's, say) is no reason to stop: the install
        # reports it.
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
    """Output of apt-get if it failed; else empty."""
    return _run(["apt-get", "install", "--yes", "-q", "--no-install-recommends", *packages])


def _run(command: list[str]) -> str:
    """Run this as root; what it said if it failed, else nothing."""
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if os.geteuid() != 0:
        # Without a terminal no one can type a password: fail at once instead of waiting.
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
