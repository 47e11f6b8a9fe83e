"""Runs pip with little noise: big downloads are named, the rest goes to a log."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kmonitor_setup.words import CannotSetUp, say

_BIG_MB = 20.0
"""A download below this passes too quickly to be worth a line, MB."""

_DOWNLOADING = re.compile(r"^\s*Downloading (\S+?)-(\d[^-]*)-\S+ \(([\d.]+) MB\)")

_NO_NETWORK = (
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Connection refused",
    "ConnectTimeoutError",
    "Network is unreachable",
    "ProxyError",
    "Read timed out",
)


_WRONG_HASH = "DO NOT MATCH THE HASHES"

_NOT_FOUND = ("No matching distribution found", "ResolutionImpossible")


def pip_install(python: Path, arguments: Sequence[str], *, log: Path) -> None:
    """Run `pip install` in an environment.

    PIP_* and proxy variables of the caller hold; no index is ever named here.

    Args:
        python: The environment's interpreter.
        arguments: Arguments after `pip install`.
        log: Everything that pip said is added here.

    Raises:
        CannotSetUp: pip failed; says whether the network is the reason.
    """
    command = [str(python), "-m", "pip", "install", "--no-input", "--progress-bar=off"]
    environ = {**os.environ, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environ.pop("PYTHONPATH", None)
    said: list[str] = []
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("a", encoding="utf-8") as kept,
        subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environ,
            text=True,
        ) as pip,
    ):
        for line in pip.stdout or ():
            kept.write(line)
            said.append(line)
            _tell(line)
    if pip.returncode != 0:
        raise failure_of("".join(said), log)


def failure_of(said: str, log: Path) -> CannotSetUp:
    """Failure with a remedy, from pip's output."""
    tail = "\n".join(said.strip().splitlines()[-6:])
    if any(sign in said for sign in _NO_NETWORK):
        return CannotSetUp(
            "the Python packages could not be fetched: the package index does not answer.",
            "Is this machine online? pip's own settings hold here: behind a proxy set\n"
            "HTTPS_PROXY, with an index of your own set PIP_INDEX_URL, then run this again.\n"
            f"pip's whole output is in {log}",
        )
    if _WRONG_HASH in said:
        return CannotSetUp(
            "a package is not the file that was locked: its hash is another one. Nothing of it\n"
            "was installed.",
            "The package index, or something on the way to it, hands out other files than those\n"
            "that packaging/lock.txt was made from. Use another index (PIP_INDEX_URL), or find\n"
            f"out why they differ; `make lock` makes the lock anew.\n{_first_error(said)}\n"
            f"pip's whole output is in {log}",
        )
    if "No space left on device" in said:
        return CannotSetUp(
            "the disk is full.", "About 2 GB are needed here, and as much again in pip's cache."
        )
    if any(sign in said for sign in _NOT_FOUND):
        # Also pip's message on an index that does not answer, when it is set not to retry.
        return CannotSetUp(
            "pip found no version of a package that fits.",
            "Either the package index does not answer (is this machine online?), or it does not\n"
            "have the versions that packaging/lock.txt names.\n"
            f"{_first_error(said)}\npip's whole output is in {log}",
        )
    return CannotSetUp(
        "pip could not install the Python packages.",
        f"{tail}\npip's whole output is in {log}",
    )


def download_in(line: str) -> str:
    """Text about a big download that pip reports in this line; else empty."""
    found = _DOWNLOADING.match(line)
    if found is None or float(found[3]) < _BIG_MB:
        return ""
    return f"downloading {found[1]} {found[2]} ({float(found[3]):.0f} MB)"


def _first_error(said: str) -> str:
    return next((line for line in said.splitlines() if line.startswith("ERROR:")), "")


def _tell(line: str) -> None:
    told = download_in(line)
    if told:
        say(f"  {told}")
    elif line.startswith("Installing collected packages:"):
        say(f"  installing {line.count(',') + 1} Python packages")
