"""Cost of each tool in the training process: the same training with each, in turns.

Each training has its own process, in another order each round; ratios are to the training
with no callback of the same round.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from kmonitor_agent.wire.local.folders import find_folders
from tests.benchmarks.bench_delivery import hub_in
from tests.support.live_hub import LiveHub

ROOT = Path(__file__).parents[3]
TOOLS = (
    "none",
    "ours, hub present",
    "ours, hub absent",
    "ours, hub hung",
    "TensorBoard",
    "TensorBoard by batch",
    "W&B offline",
    "MLflow autolog",
    "psutil + print",
)
MODELS = ("small", "image")
BACKENDS = ("jax", "torch")
"""Beside TensorFlow; on them the small model is trained, with the tools in `ELSEWHERE`."""

ELSEWHERE = (
    "none",
    "ours, hub present",
    "TensorBoard",
    "W&B offline",
    "MLflow autolog",
    "psutil + print",
)


class ToolFailed(Exception):
    """The training with a tool ended with an error, whose last lines are the message."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One training with one tool.

    Attributes:
        step_s: Median over epochs of the mean seconds a step.
        epochs_a_minute: Epochs, with what tools do between them.
        rss_added_bytes: Resident set at the end less that before the tool was imported.
        children_bytes: Resident sets of processes that the tool started, summed.
        threads_added: Threads in the training process.
        bytes_an_hour: Bytes written, from the last three quarters of the training; with a hub,
            the growth of its database when the hub has ended and its log is written back.
        import_s: Import and start of the tool, once Keras is imported.
        exit_s: From the end of the last epoch to the end of the process.
    """

    step_s: float
    epochs_a_minute: float
    rss_added_bytes: float
    children_bytes: float
    threads_added: float
    bytes_an_hour: float
    import_s: float
    exit_s: float


@dataclass(frozen=True, slots=True)
class Training:
    """A training to run with each tool.

    Attributes:
        model: One of `MODELS`.
        seconds: Duration of the training.
        backend: Backend of Keras.
        tools: Tools to train with.
    """

    model: str
    seconds: float
    backend: str = "tensorflow"
    tools: Sequence[str] = TOOLS


def measure(
    python: Path, training: Training, rounds: int
) -> tuple[dict[str, list[Cost]], dict[str, str]]:
    """Every tool, `rounds` times in turns; and the errors of those that do not work.

    Args:
        python: The peers' own environment.
        training: Training to run.
        rounds: Trainings with each tool.
    """
    found: dict[str, list[Cost]] = {tool: [] for tool in training.tools}
    failed: dict[str, str] = {}
    for number in range(rounds):
        first = number % len(training.tools)
        for tool in (*training.tools[first:], *training.tools[:first]):
            if tool in failed:
                continue
            try:
                found[tool].append(_one(python, tool, training))
            except ToolFailed as exc:
                failed[tool] = str(exc)
                found.pop(tool)
            told = failed.get(tool) or found[tool][-1]
            _tell(f"{training.model} {training.backend} {number + 1}/{rounds} {tool}: {told}")
    return found, failed


def rows(found: dict[str, list[Cost]]) -> Iterator[Sequence[str]]:
    """The table's lines: medians, and the step's ratio to no callback within the same round."""
    bare = found["none"]
    for tool, costs in found.items():
        ratios = sorted(cost.step_s / none.step_s for cost, none in zip(costs, bare, strict=True))
        none_rss = median(cost.rss_added_bytes for cost in bare)
        none_threads = median(cost.threads_added for cost in bare)

        def middle(name: str, costs: list[Cost] = costs) -> float:
            return median(getattr(cost, name) for cost in costs)

        yield (
            tool,
            f"{1e6 * middle('step_s'):.0f}",
            f"{median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})",
            f"{middle('epochs_a_minute'):.1f}",
            _signed((middle("rss_added_bytes") - none_rss) / 2**20),
            f"{middle('children_bytes') / 2**20:.0f}",
            _signed(middle("threads_added") - none_threads),
            f"{middle('bytes_an_hour') / 2**20:.1f}",
            f"{middle('import_s'):.2f}",
            f"{middle('exit_s'):.2f}",
        )


def _signed(number: float) -> str:
    """With its sign; nothing is 0, without one."""
    return f"{number:+.0f}" if round(number) else "0"


def _one(python: Path, tool: str, training: Training) -> Cost:
    with tempfile.TemporaryDirectory(prefix="kmonitor-peers-") as name:
        folder = Path(name)
        with _hub_for(tool, folder) as empty_bytes:
            environ = os.environ | {"PYTHONPATH": str(ROOT), "KMONITOR_HOME": name, "HOME": name}
            environ["KERAS_BACKEND"] = training.backend
            order = {"tool": tool, "folder": name}
            order |= {"model": training.model, "seconds": training.seconds}
            words = [str(python), "-m", "tests.benchmarks.peers.one_training", json.dumps(order)]
            done = subprocess.run(
                words, cwd=folder, env=environ, capture_output=True, text=True, check=False
            )
            ended_s = time.monotonic()
        # By now the hub has ended, and its last act was to write its log back into the database.
        grown_bytes = bytes_in(_database(folder)) - empty_bytes
    if done.returncode:
        _tell(done.stderr[-3000:])
        raise ToolFailed((done.stderr.strip().splitlines() or ["no message"])[-1][:200])
    told = json.loads(done.stdout.splitlines()[-1])
    if empty_bytes:
        told["bytes_an_hour"] = 3600 * grown_bytes / training.seconds
    told["exit_s"] = ended_s - told.pop("left_s")
    return Cost(**told)


@contextmanager
def _hub_for(tool: str, folder: Path) -> Iterator[int]:
    """Start what the tool needs; bytes of the hub's empty database, 0 where none listens."""
    folders = find_folders({"KMONITOR_HOME": str(folder)})
    if tool == "ours, hub present":
        live = LiveHub(folders)
        live.start()
        live.stop()
        empty_bytes = bytes_in(_database(folder))
        live.start()
        try:
            yield empty_bytes
        finally:
            live.stop()
    elif tool == "ours, hub hung":
        with hub_in("hung", folders):
            yield 0
    else:
        yield 0


def _database(folder: Path) -> Path:
    return find_folders({"KMONITOR_HOME": str(folder)}).database


def bytes_in(folder: Path) -> int:
    """All that files below hold."""
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
