"""Runs what makes a release, and says what was being made when it fails."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_LAST_LINES = 30


class CannotBuild(Exception):
    """A part of the release cannot be made; says why."""


def tell(text: str) -> None:
    """One line of progress."""
    print(f"dist: {text}", flush=True)


def run(
    command: Sequence[str | Path],
    *,
    what: str,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> str:
    """Run a command that has to succeed, and give what it printed on standard output.

    Args:
        command: Program and arguments.
        what: What it makes, for the failure.
        cwd: Where to run it.
        environ: Added to this process's variables; an empty value removes one.

    Raises:
        CannotBuild: It failed, or is not there; with its last lines.
    """
    merged = {**os.environ, "PYTHONPATH": "", **(environ or {})}
    try:
        told = subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            env={name: value for name, value in merged.items() if value},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as exc:
        raise CannotBuild(f"{what}: {command[0]}: {exc.strerror or exc}") from exc
    if told.returncode != 0:
        last = "\n".join((told.stdout + told.stderr).strip().splitlines()[-_LAST_LINES:])
        raise CannotBuild(f"{what}: status {told.returncode}\n{last}")
    return told.stdout
