"""Runs what makes a release, and says what was being made when it fails."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kmonitor_setup.commands import CommandFailed, run_command

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
    """Run a command that has to succeed, away from this process's packages; give what it printed.

    Args:
        command: Program and arguments.
        what: Name of its product, for the message of a failure.
        cwd: Working folder.
        environ: Added to this process's variables; an empty value removes one.

    Raises:
        CannotBuild: It failed, or is not there; with its last lines.
    """
    try:
        return run_command(command, cwd=cwd, environ={"PYTHONPATH": "", **(environ or {})})
    except CommandFailed as exc:
        raise CannotBuild(f"{what}: {exc.why}\n{exc.last(_LAST_LINES)}".rstrip()) from exc
