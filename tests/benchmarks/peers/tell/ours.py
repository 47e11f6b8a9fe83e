"""kmonitor on one of the ten trainings: under `kmonitor run`, with a hub, read by its commands."""

import csv
import io
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kmonitor_agent.wire.local.folders import find_folders
from tests.benchmarks.peers.tell import process
from tests.support.live_hub import LiveHub

_KEYS = {"seq", "t_s", "type", "fit", "epoch", "step"}
_EVENT = re.compile(r" +[\d.]+ (?:ms|s|min) +([!X] )?(\D.*)")
_NO_DEED = re.compile(r"Model |Process |Fit \d+ (?!.*from epoch)")
_TOLD_AFTER_S = 30.0
_LOOKS = 15
_LIMIT = "1GiB"
_TRAINING = Path(__file__).parents[1] / "watched" / "training.py"
_FOLLOWED = "tests.benchmarks.peers.watched.followed"


@dataclass(slots=True)
class Told:
    """Reports of kmonitor on one training.

    Attributes:
        series: Its stored columns, each a list of numbers, up to the first action.
        said: Lines that it marked as a warning, and the state it gives the run.
        done: Lines of its record of actions.
    """

    series: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    said: list[str] = field(default_factory=list[str])
    done: list[str] = field(default_factory=list[str])


def watch(scene: str, words: list[str], folder: Path, environ: dict[str, str]) -> tuple[str, Told]:
    """Run it under `kmonitor run` beside a hub; its output, and kmonitor's reports."""
    resumes = ["--resume-after-crash", "1"] if scene == "OOM" else []
    command = [sys.executable, "-m", "kmonitor", "run", *resumes, "--", *words]
    while_hung: list[str] = []

    def look() -> None:
        started = folder / "hangs"
        if not while_hung and started.exists() and _age_s(started) > _TOLD_AFTER_S:
            while_hung.extend(_asked(environ, "show", "last").splitlines())

    with _hub(folder):
        printed = process.run(command, folder, environ, look)
        told = _read(environ, while_hung)
    return printed, told


def look_before(scene: str, file: Path, environ: dict[str, str]) -> Told:
    """Output of its commands before a training begins; empty where none applies."""
    told = Told()
    if scene == "load cost":
        told.said = _asked(environ, "load-cost", str(file), "--repeats", "1").splitlines()
        told.done = [line for line in told.said if line.startswith("To ")]
        told.said = [line for line in told.said if line not in told.done]
    elif scene == "oversize batch":
        model = f"{_TRAINING}:pictures"
        asked = ("map", model, "--batch", "4096", "--limit", _LIMIT)
        lines = _asked(environ, *asked).splitlines()
        told.said = [line for line in lines if " peak " in line]
        told.done = [line for line in lines if line.startswith("Largest batch")]
    return told


def look_after(
    scene: str, before: Told, python: Path, folder: Path, environ: dict[str, str]
) -> list[str]:
    """Result of following the advice; empty where there is none to follow."""
    words = [str(python), "-m", _FOLLOWED, scene]
    if scene == "oversize batch":
        (batch,) = re.findall(r": ([0-9 ]+) with certainty", before.done[0])
        words.append(batch.replace(" ", ""))
    elif scene != "hang":
        return []
    (folder / "bound").unlink(missing_ok=True)
    return process.run(words, folder, environ).splitlines()[-1:]


def _read(environ: dict[str, str], while_hung: list[str]) -> Told:
    text = _when_over(environ)
    events = json.loads(_asked(environ, "show", "last", "--json"))["events"]
    told = Told(_series(_asked(environ, "export", "last", "--format", "csv"), _until_s(events)))
    for line in [*(each for each in while_hung if _EVENT.fullmatch(each)), *text]:
        event = _EVENT.fullmatch(line)
        if line.startswith("State "):
            told.said.append(line)
        elif event is not None:
            if event[1]:
                told.said.append(event[2])
            elif not _NO_DEED.match(event[2]):
                told.done.append(event[2])
    told.done.sort(key=lambda line: line.startswith("Diagnos"))
    return told


def _when_over(environ: dict[str, str]) -> list[str]:
    """Output of `show` once the hub knows that the process is gone."""
    text: list[str] = []
    for _ in range(_LOOKS):
        text = _asked(environ, "show", "last").splitlines()
        if all(line.split() != ["State", "training"] for line in text):
            break
        threading.Event().wait(1.0)
    return text


def _until_s(events: list[dict[str, Any]]) -> float:
    """When the first action was done or a second process began: the others have neither."""
    sessions = [each["t_s"] for each in events if each["type"] == "session"]
    actions = [each["t_s"] for each in events if each["type"] == "action"]
    return min([*actions[:1], *sessions[1:2]], default=float("inf"))


def _series(exported: str, until_s: float) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in csv.DictReader(io.StringIO(exported)):
        if float(row["t_s"]) > until_s:
            break
        for name, value in row.items():
            if name not in _KEYS and value:
                with suppress(ValueError):
                    found.setdefault(name, []).append(float(value))
    return found


def _asked(environ: dict[str, str], *words: str) -> str:
    """Output of a command, on a terminal too wide for it to fold lines."""
    done = subprocess.run(
        [sys.executable, "-m", "kmonitor", *words],
        env=environ | {"COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300.0,
    )
    return done.stdout


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime


@contextmanager
def _hub(folder: Path) -> Iterator[None]:
    live = LiveHub(find_folders({"KMONITOR_HOME": str(folder)}))
    live.start()
    try:
        yield
    finally:
        live.stop()
