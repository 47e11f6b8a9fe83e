"""Runs a command that has to succeed, and reports its output when it does not."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class CommandFailed(Exception):
    """A command did not succeed.

    Attributes:
        why: In a few words: its status, or why it was not run to its end.
        said: All that it printed; empty where it was not there.
    """

    def __init__(self, why: str, said: str = "") -> None:
        super().__init__(why)
        self.why, self.said = why, said

    def last(self, lines: int) -> str:
        """The end of what it printed."""
        return "\n".join(self.said.strip().splitlines()[-lines:])


def run_command(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    typed: str = "",
    limit_s: float | None = None,
) -> str:
    """Run a command, and give what it printed on standard output and standard error.

    Args:
        command: Program and arguments.
        cwd: Working folder.
        environ: Added to this process's variables; an empty value removes one.
        typed: Its standard input.
        limit_s: Longest time that it may take, seconds; None: any.

    Raises:
        CommandFailed: It failed, took longer, or is not there.
    """
    merged = {**os.environ, **(environ or {})}
    try:
        told = subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            env={name: value for name, value in merged.items() if value},
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise CommandFailed(f"not within {exc.timeout:g} s") from exc
    except OSError as exc:
        raise CommandFailed(f"{command[0]}: {exc.strerror or exc}") from exc
    if told.returncode != 0:
        raise CommandFailed(f"status {told.returncode}", told.stdout)
    return told.stdout
