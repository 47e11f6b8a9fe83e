"""Errors of trials that do not pass, and the running of their commands."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kmonitor_setup.commands import CommandFailed, run_command

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / ".setup" / "trials"
"""Below this every trial makes what it needs."""

_LAST_LINES = 40


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
    typed: str = "",
    limit_s: float = 7200.0,
) -> str:
    """Run a command that has to succeed, and give what it printed.

    Args:
        command: Program and arguments.
        what: Its subject, in words for the report.
        cwd: Working folder.
        environ: Added to this process's variables; an empty value removes one.
        typed: Its standard input.
        limit_s: Longest time that it may take, seconds.

    Raises:
        Failed: It did not succeed in that time; its last lines are printed.
    """
    tell(f"  {what}")
    try:
        return run_command(command, cwd=cwd, environ=environ, typed=typed, limit_s=limit_s)
    except CommandFailed as exc:
        print(exc.last(_LAST_LINES), flush=True)
        raise Failed(f"{what}: {exc.why}") from exc
