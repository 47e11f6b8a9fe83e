"""Scripts under `kmonitor run`, as a user starts them; small ones that need no framework."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests.support.waiting import DEADLINE_S

MODULE = "kmonitor.cli.main"

ASKS = """
    import json, os, sys
    from pathlib import Path
    from kmonitor_agent.wire.local.supervision import RestartRequest as Leaving
    from kmonitor_agent.wire.local.supervision import find_supervision as supervision_of
    shared = supervision_of(os.environ)
    starts = Path(sys.argv[1])
    n = len(starts.read_text()) if starts.exists() else 0
    starts.write_text("x" * (n + 1))

    def commit():
        states = shared.states(shared.run_id("made up"))
        states.mkdir(exist_ok=True)
        (states / "1.json").write_text("{}")

    def leave(requested_by="script"):
        commit()
        shared.leave(Leaving(shared.run_id("made up"), requested_by))
"""
"""Begin of a script that counts its starts in the file it is given, and can `leave`."""


def script(folder: Path, text: str, *, asks: bool = False) -> Path:
    """A script in its own file.

    Args:
        folder: Folder for the file.
        text: Its source; any indentation.
        asks: True if it begins with `ASKS`.
    """
    path = folder / "script.py"
    path.write_text((textwrap.dedent(ASKS) if asks else "") + textwrap.dedent(text))
    return path


def command(path: Path, *arguments: object, options: tuple[str, ...] = ()) -> list[str]:
    """The command line that runs a script under `kmonitor run`."""
    own = [sys.executable, "-m", MODULE, "run", *options, "--"]
    return [*own, sys.executable, str(path), *map(str, arguments)]


def supervised(
    path: Path, *arguments: object, options: tuple[str, ...] = (), given: bytes = b""
) -> "subprocess.CompletedProcess[bytes]":
    """Run a script under `kmonitor run` to its end."""
    return subprocess.run(
        command(path, *arguments, options=options),
        input=given,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )


def start_supervised(path: Path, *arguments: object, **more: Any) -> "subprocess.Popen[bytes]":
    """Start a script under `kmonitor run` in its own process group and do not wait for it."""
    process: Any = subprocess.Popen(
        command(path, *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        env=dict(os.environ),
        **more,
    )
    return process
