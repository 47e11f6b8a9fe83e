"""kmonitor side by side with what people use today: `make bench-peers`, which writes a page.

`cost`, `history` and `scale` pick parts; without any, all are measured and written to the guide.
"""

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kmonitor_agent.release import VERSION
from tests.benchmarks.peers import cost, environment, history, scale

GUIDE = Path(__file__).parents[3] / "resources" / "guide"
PEERS = ("keras", "tensorflow-cpu", "tensorboard", "wandb", "mlflow")
ROUNDS = 5
SECONDS = 40.0
COST = (
    "tool",
    "step, us",
    "ratio to none (lowest to highest)",
    "epochs a minute",
    "RSS added, MiB",
    "own processes, MiB",
    "threads added",
    "written, MiB an hour",
    "import and start, s",
    "end, s",
)
HISTORY = ("tool", *(f"{runs} runs" for runs in history.RUNS))
SCALE = (
    "runs",
    "events",
    "s for the hour",
    "events a second",
    "hub's CPU, us an event",
    "of a core, %",
    "database, MiB a run and day",
    "hub's RSS, MiB",
    "list of runs, ms",
    "a chart, ms",
)


def main() -> None:
    """Measure what was asked for, and print it; write the page where all was."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("parts", nargs="*", choices=["cost", "history", "scale", []])
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    asked.add_argument("--seconds", type=float, default=SECONDS)
    wish = asked.parse_args()
    parts = wish.parts or ["cost", "history", "scale"]
    python = environment.python()
    told: dict[str, str] = {}
    if "scale" in parts:
        told["scale"] = table(SCALE, scale.rows())
    if "history" in parts:
        told["history"] = table(HISTORY, history.rows(python))
    if "cost" in parts:
        for model in cost.MODELS:
            found = cost.measure(python, model, wish.rounds, wish.seconds)
            told[model] = table(COST, cost.rows(found))
    for text in told.values():
        print(text + "\n")
    if not wish.parts:
        write(told, environment.versions(python, PEERS), wish)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(told: dict[str, str], versions: dict[str, str], wish: argparse.Namespace) -> None:
    """Both languages' pages from one set of figures."""
    named = ", ".join([f"kmonitor {VERSION}", *(f"{n} {v}" for n, v in versions.items())])
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    for language, folder in (("en", GUIDE), ("zh_CN", GUIDE / "zh_CN")):
        frame = Path(__file__).with_name(f"page.{language}.md").read_text(encoding="utf-8")
        page = frame.format(
            machine=f"{machine}, {datetime.now(UTC).date().isoformat()}",
            versions=named,
            rounds=wish.rounds,
            seconds=f"{wish.seconds:g}",
            points=f"{history.POINTS:,}",
            **told,
        )
        (folder / "side-by-side.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
