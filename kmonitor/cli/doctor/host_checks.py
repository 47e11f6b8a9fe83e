"""Checks of `kmonitor doctor` for ssh and each remembered host, and their result, `Finding`."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from kmonitor.base.errors import UserError
from kmonitor.cli.common.hub_access import HOST_S, HOSTS_AT_ONCE, deadline
from kmonitor.cli.common.terminal import pluralized
from kmonitor.connect.host_access import check_host, known_host
from kmonitor.connect.host_errors import HostError
from kmonitor.connect.remembered_hosts import HostStore, RememberedHost
from kmonitor.connect.remote_hub import ConnectCancelled
from kmonitor.connect.ssh import ssh_environment
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import SCHEME
from kmonitor_agent.wire.local.private_files import NotPrivate

FindingLevel = Literal["ok", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check.

    Attributes:
        state: "ok", "note" (missing, but needed only for some uses) or "bad".
        found: Result as text.
        remedy: Advice for the user, if possible a command; empty when nothing is to do.
    """

    subject: str
    state: FindingLevel
    found: str
    remedy: str = ""


_INSTALL: Final = "sudo apt-get install openssh-client"


def examine_ssh(hosts: Sequence[RememberedHost]) -> Iterator[Finding]:
    """Check the ssh client, its settings and the agent.

    Args:
        hosts: Hosts for which the settings are read.
    """
    client = shutil.which("ssh")
    if client is None:
        yield Finding("ssh", "note", "not installed; needed only for remote hosts", _INSTALL)
        return
    result = _run_command([client, "-V"])
    version = result[1].strip() if result is not None else ""
    yield Finding("ssh", "ok", f"{version or 'it does not report its version'}, {client}")
    addresses = [h.address for h in hosts if not h.address.startswith(SCHEME)] or ["localhost"]
    yield _settings(client, addresses)
    yield _agent()


def _settings(client: str, addresses: Sequence[str]) -> Finding:
    """Check that ssh can read its settings for these hosts, without connecting."""
    for address in addresses:
        result = _run_command([client, "-G", "--", address])
        if result is None or result[0]:
            last = (result[1].strip().splitlines() or [""])[-1] if result is not None else ""
            found = f"not read for {address}: {last or 'ssh -G is not responding'}"
            return Finding("ssh settings", "bad", found, "see ~/.ssh/config")
    return Finding("ssh settings", "ok", f"read for {pluralized(len(addresses), 'host')}")


_NO_KEYS: Final = 1
_NO_AGENT: Final = 2
"""Exit statuses of `ssh-add -l`."""


def _agent() -> Finding:
    if not os.environ.get("SSH_AUTH_SOCK"):
        found = "not running; keys with a passphrase cannot be used without it"
        return Finding("ssh agent", "note", found, 'eval "$(ssh-agent)" && ssh-add')
    tool = shutil.which("ssh-add")
    result = _run_command([tool, "-l"]) if tool is not None else None
    if result is None or result[0] == _NO_AGENT:
        found = "SSH_AUTH_SOCK points to one, but it is not responding"
        return Finding("ssh agent", "note", found, 'eval "$(ssh-agent)" && ssh-add')
    if result[0] == _NO_KEYS:
        found = "it holds no keys; a key file without a passphrase does not need the agent"
        return Finding("ssh agent", "note", found, "ssh-add")
    n_keys = len(result[2].strip().splitlines())
    return Finding("ssh agent", "ok", f"it holds {pluralized(n_keys, 'key')}")


_TOOL_S: Final = 5.0


def _run_command(arguments: list[str]) -> tuple[int, str, str] | None:
    """Exit status, standard error and output of a command; None: no reply in time."""
    try:
        ran = subprocess.run(  # noqa: S603 - a list, never a shell; addresses were checked
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TOOL_S,
            check=False,
            env=ssh_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    err, out = (text.decode("utf-8", "replace") for text in (ran.stderr, ran.stdout))
    return ran.returncode, err, out


def examine_hosts(folders: Folders, name: str | None = None) -> list[Finding]:
    """Check the connection to, and the hub of, each remembered host or of one host.

    Args:
        name: Name or address of the one host to check; None: all remembered hosts.

    Raises:
        UserError: The address cannot be used.
    """
    store = HostStore(folders)
    hosts = store.hosts() if name is None else [known_host(folders, name)]
    found = [Finding("hosts", "bad", store.trouble)] if store.trouble else []
    # One of many hosts may well be off, and nothing is wrong here.
    state: FindingLevel = "note" if name is None else "bad"
    if not hosts:
        return found
    with ThreadPoolExecutor(min(len(hosts), HOSTS_AT_ONCE), "kmonitor-doctor") as pool:
        return found + list(pool.map(partial(_host, folders, state), hosts))


def _host(folders: Folders, level: FindingLevel, host: RememberedHost) -> Finding:
    subject = f"host {host.called}"
    try:
        with deadline(HOST_S) as stop:
            found = check_host(folders, host, stop=stop)
    except ConnectCancelled:
        what = f"{host.address} took longer than {HOST_S:g} s to respond"
        return Finding(subject, level, what, f"check how long this takes: ssh {host.address} true")
    except HostError as exc:
        step = _STEPS.get(exc.code, "its hub")
        return Finding(subject, level, f"{step}: {exc.what.rstrip('.')}", exc.remedy)
    except UserError as exc:
        return Finding(subject, level, exc.what.rstrip("."), exc.remedy)
    except (NotPrivate, OSError) as exc:
        return Finding(subject, level, str(exc))
    what = f"reached; kmonitor {found.version} is running on {found.host}, process {found.pid}"
    return Finding(subject, "ok", what)


_STEPS: Final = {
    "host_unknown": "name",
    "silent": "network",
    "refused": "network",
    "host_key_changed": "host key",
    "host_key_unknown": "host key",
    "key_refused": "login",
    "settings": "ssh settings",
    "no_kmonitor": "kmonitor on the host",
    "too_old": "kmonitor on the host",
    "too_new": "kmonitor on the host",
    "forwarding": "hub socket",
    "broken": "connection",
}
"""Error code to the step that failed; other codes belong to the hub."""
