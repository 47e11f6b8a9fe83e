"""How a trial ends when it does not pass, and how it runs a command."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / ".setup" / "trials"
"""Below this every trial makes what it needs."""


class Failed(Exception):
    """kmonitor did not do what it should."""


class CannotTry(Exception):
    """This machine cannot carry the trial out; says why."""


def tell(text: str) -> None:
    """One line of progress."""
    print(f"-- {text}", flush=True)


def expect(
    command: Sequence[str | Path],
    *,
    what: str,
    cwd: Path = ROOT,
    environ: Mapping[str, str] | None = None,
    limit_s: float = 1800.0,
) -> str:
    """Run a command that has to succeed, and give what it printed.

    Args:
        command: Program and arguments.
        what: What it shows, in words for the report.
        cwd: Where to run it.
        environ: Added to this process's variables; an empty value removes one.
        limit_s: Longest time that it may take, seconds.

    Raises:
        Failed: It did not succeed in that time; its last lines are printed.
    """
    tell(f"  {what}")
    merged = {**os.environ, **(environ or {})}
    try:
        told = subprocess.run(
            [str(one) for one in command],
            cwd=cwd,
            env={name: value for name, value in merged.items() if value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise Failed(f"{what}: not within {limit_s:g} s") from exc
    if told.returncode != 0:
        print("\n".join(told.stdout.splitlines()[-40:]), flush=True)
        raise Failed(f"{what}: status {told.returncode}")
    return told.stdout
