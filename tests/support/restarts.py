"""Scripts that are restarted under `kmonitor run`, and their and their runs' reports."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import FitStarted, SessionEnded, SessionStarted
from tests.support.source_tree import ROOT
from tests.support.spooled import spooled_events
from tests.support.waiting import DEADLINE_S


class Recycled:
    """Outcome of a script.

    Attributes:
        result: Its output.
        starts: Number of processes that it took.
    """

    def __init__(self, result: dict[str, Any], starts: int) -> None:
        self.result = result
        self.starts = starts


def supervisor(*options: str) -> list[str]:
    """The words before a script that is run under `kmonitor run`."""
    return [sys.executable, "-m", "kmonitor.cli.main", "run", *options, "--"]


def run(
    folder: Path,
    scenario: str,
    *points: str,
    under: list[str] | None = None,
    module: str = "tests.support.restart_script",
) -> Recycled:
    """Run a scenario of a script to its end."""
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / "result.json"
    script = [sys.executable, "-m", module, scenario, str(result)]
    ran = subprocess.run(
        [*(under or []), *script, *points],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=4 * DEADLINE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    starts = 1 + ran.stderr.count("restarting the script")
    return Recycled(json.loads(result.read_text()), starts)


def supervised_run(folders: Folders) -> list[Any]:
    """Events of the one run that took several processes."""
    supervised = [
        events
        for run_folder in folders.spool.iterdir()
        if len(_boots(events := spooled_events(folders, run_folder.name))) > 1
    ]
    assert len(supervised) == 1, "one run over all its processes"
    return supervised[0]


def fits_told(folders: Folders) -> list[tuple[int, int]]:
    """Each start of a fit in that run: its ordinal and first epoch; the run ended well."""
    events = supervised_run(folders)
    endings = [each.why for each in events if isinstance(each, SessionEnded)]
    assert endings == ["restart"] * (len(endings) - 1) + ["finished"]
    return [(each.fit, each.initial_epoch) for each in events if isinstance(each, FitStarted)]


def _boots(events: list[Any]) -> list[Any]:
    return [each for each in events if isinstance(each, SessionStarted)]
