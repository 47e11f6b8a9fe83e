"""The command line as a separate process, as a user starts it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.waiting import DEADLINE_S

MODULE = "kmonitor.cli.main"


@dataclass(frozen=True, slots=True)
class Ran:
    """Result of a command.

    Attributes:
        status: Exit status.
        out: Standard output.
        err: Standard error.
    """

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as one JSON document a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def kmonitor(
    *arguments: object,
    environ: Mapping[str, str] | None = None,
    given: str | None = None,
    folder: Path | None = None,
    timeout_s: float = 2 * DEADLINE_S,
) -> Ran:
    """Run `kmonitor ARGUMENTS` to its end.

    Args:
        arguments: Arguments of the command line.
        environ: Variables on top of the test's own; an empty one is taken away.
        given: Standard input; None: there is none.
        folder: Working directory; None: that of the tests.
        timeout_s: Longest wait, seconds.
    """
    with start_kmonitor(*arguments, environ=environ, folder=folder) as process:
        try:
            out, err = process.communicate(given, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.terminate()
            raise
    return Ran(process.returncode, out, err)


def start_kmonitor(
    *arguments: object, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> "subprocess.Popen[str]":
    """Start `kmonitor ARGUMENTS` and do not wait for it."""
    variables = {**os.environ, **(environ or {})}
    return subprocess.Popen(
        [sys.executable, "-m", MODULE, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={name: value for name, value in variables.items() if value},
    )
