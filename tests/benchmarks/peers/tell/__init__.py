"""Findings of each tool on the same ten trainings, by running each with each.

`measure` runs them all and keeps what was recorded as plain data; `rows` makes the table's lines.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.peers.tell import ours, process
from tests.benchmarks.peers.tell.moved import moves
from tests.benchmarks.peers.tell.wording import moved_text, new_lines, quoted, shape
from tests.benchmarks.peers.watched import tools
from tests.benchmarks.peers.watched.tools import OURS

_WATCHED = "tests.benchmarks.peers.watched"
ROOT = Path(__file__).parents[4]
HEADS = (
    "training",
    "tool",
    "numbers that moved, first → last third",
    "what it reported",
    "what it did",
)
TOOLS = tuple(tools.TOOLS)
ALONE = ("W&B offline", "MLflow autolog")
"""These measure the machine too; other trainings beside them would move their numbers."""
SCENES = (
    "retained traces per model",
    "retracing",
    "Python objects kept",
    "native leak",
    "healthy",
    "slow-down",
    "OOM",
    "hang",
    "load cost",
    "oversize batch",
)
REFERENCE = "healthy"
"""Trained once more with each tool: its numbers and lines are what a healthy training has."""
DOCUMENTED = {
    "TensorBoard": "`keras.callbacks.TensorBoard`",
    "W&B offline": "`wandb.Run` and `WandbMetricsLogger`; `alert` is the script's to call",
    "MLflow autolog": "`mlflow.tensorflow.autolog` and system metrics",
    "psutil + print": "psutil; it is the script's own to write",
}


@dataclass(slots=True)
class Seen:
    """One training with one tool.

    Attributes:
        series: Numbers that the tool recorded, by its name for them.
        printed: Lines of the process, and of the tool.
        said: Those of the tool itself; the end that it recorded.
        done: Actions taken, by the tool's record.
    """

    series: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    printed: list[str] = field(default_factory=list[str])
    said: list[str] = field(default_factory=list[str])
    done: list[str] = field(default_factory=list[str])


Found = dict[tuple[str, str], Seen]


def rows(python: Path, scenes: Sequence[str] = SCENES) -> Iterator[Sequence[str]]:
    """The table's lines, training by training.

    Args:
        python: The peers' own environment.
        scenes: Some of `SCENES`.
    """
    with tempfile.TemporaryDirectory(prefix="kmonitor-tell-") as name:
        found = measure(python, Path(name), scenes)
    for scene in scenes:
        for tool in TOOLS:
            yield row(found, scene, tool)


def row(found: Found, scene: str, tool: str) -> Sequence[str]:
    """One line of the table."""
    seen, healthy = found[scene, tool], found["", tool]
    of_all = [set(map(shape, found[scene, each].printed)) for each in TOOLS]
    of_training = set.intersection(*of_all)
    known = [*healthy.printed, *healthy.said, *of_training]
    said = new_lines([*seen.printed, *seen.said], known)
    done = new_lines(seen.done, healthy.done)
    moved = moved_text(moves(seen.series, healthy.series))
    return (scene, tool, moved, quoted(said, "nothing"), quoted(done, _no_deed(scene, tool)))


def _no_deed(scene: str, tool: str) -> str:
    if scene == REFERENCE:
        return "nothing to do"
    return (
        f"none found in the documentation of {DOCUMENTED[tool]}" if tool in DOCUMENTED else "none"
    )


def measure(python: Path, folder: Path, scenes: Sequence[str]) -> Found:
    """Every training with every tool, each in its own folder below `folder`."""
    file = folder / "large.keras"
    _train(python, {"scene": "file", "tool": "", "folder": str(folder), "file": str(file)})
    found: Found = {}
    pairs = [(scene, tool) for scene in ("", *scenes) for tool in TOOLS]
    for scene, tool in pairs:
        if tool in ALONE:
            found[scene, tool] = _one(python, scene, tool, folder, file)
    others = [pair for pair in pairs if pair[1] not in ALONE]
    with ThreadPoolExecutor(2) as pool:
        seen = pool.map(lambda pair: _one(python, pair[0], pair[1], folder, file), others)
        found |= dict(zip(others, seen, strict=True))
    _read_peers(python, found, folder)
    return found


def _one(python: Path, scene: str, tool: str, folder: Path, file: Path) -> Seen:
    """Train once; peers' files are read later, all at once."""
    here = _folder(folder, scene, tool)
    here.mkdir()
    order = {"scene": scene or REFERENCE, "tool": tool, "folder": str(here), "file": str(file)}
    sys.stderr.write(f"{scene or 'reference'}: {tool}\n")
    if tool != OURS:
        return Seen(printed=_train(python, order).splitlines())
    before = ours.look_before(scene, file, _environ(here))
    printed, told = ours.watch(scene, _words(python, order), here, _environ(here))
    after = ours.look_after(scene, before, python, here, _environ(here))
    said, done = [*before.said, *told.said], [*before.done, *told.done, *after]
    return Seen(told.series, printed.splitlines(), said, done)


def _train(python: Path, order: dict[str, str]) -> str:
    folder = Path(order["folder"])
    return process.run(_words(python, order), folder, _environ(folder))


def _words(python: Path, order: dict[str, str]) -> list[str]:
    return [str(python), "-m", f"{_WATCHED}.training", json.dumps(order)]


def _environ(folder: Path) -> dict[str, str]:
    own = {"PYTHONPATH": str(ROOT), "KMONITOR_HOME": str(folder), "HOME": str(folder)}
    return os.environ | own | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


def _folder(folder: Path, scene: str, tool: str) -> Path:
    return folder / f"{SCENES.index(scene) if scene else 'reference'}-{TOOLS.index(tool)}"


def _read_peers(python: Path, found: Found, folder: Path) -> None:
    peers = {str(_folder(folder, *pair)): pair for pair in found if pair[1] != OURS}
    asked = json.dumps({path: tool for path, (_scene, tool) in peers.items()})
    done = subprocess.run(
        [str(python), "-m", f"{_WATCHED}.reading", asked],
        env=_environ(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"reading failed:\n{done.stderr[-3000:]}")
    for path, (series, ended) in json.loads(done.stdout.splitlines()[-1]).items():
        seen = found[peers[path]]
        seen.series = series
        seen.said = [ended] if ended else []
