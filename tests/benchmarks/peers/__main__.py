"""kmonitor side by side with what people use today: `make bench-peers`, which writes a page.

`scale`, `history`, `tell`, `cost` and `backends` pick parts; each keeps its result. `page` writes
the page from the newest of each, which also happens at the end if no part was picked.
"""

import argparse
import os
import platform
import sys
from pathlib import Path

from kmonitor_agent.wire.release import VERSION
from tests.benchmarks.peers import cost, environment, history, results, scale, summary, tell
from tests.benchmarks.peers.results import table

GUIDE = Path(__file__).parents[3] / "resources" / "guide"
PEERS = ("keras", "tensorflow-cpu", "jax", "torch", "tensorboard", "wandb", "mlflow")
PARTS = {
    "scale": ("hub", "window", "day"),
    "history": ("history",),
    "tell": ("tell",),
    "cost": ("small_time", "small_space", "image_time", "image_space", "rounds", "seconds"),
    "backends": ("jax_time", "torch_time"),
}
"""The parts, and the texts of each that the page's frame has places for."""

ROUNDS = 3
SECONDS = 15.0
TIME = ("tool", "step, us", "ratio (lowest to highest)", "epochs a minute", "start, s", "end, s")
SPACE = (
    "tool",
    "RSS added, MiB",
    "own processes, MiB",
    "threads added",
    "written, MiB an hour",
)
_OF_SPACE = slice(4, 8)
HISTORY = ("tool", *(f"{n} run{'s' * (n > 1)}" for n in history.RUNS))


def main() -> None:
    """Measure what was requested, keep and print it; write the page if all was requested."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("parts", nargs="*", choices=[*PARTS, "page", []])
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    asked.add_argument("--seconds", type=float, default=SECONDS)
    wish = asked.parse_args()
    parts = wish.parts or [*PARTS, "page"]
    python = environment.python()
    versions = environment.versions(python, PEERS)
    named = ", ".join([f"kmonitor {VERSION}", *(f"{n} {v}" for n, v in versions.items())])
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    for part in PARTS:
        if part in parts:
            told = measured(part, python, wish)
            results.keep(part, told, named, machine)
            sys.stdout.write("\n\n".join(told.values()) + "\n\n")
    if "page" in parts:
        write()


def measured(part: str, python: Path, wish: argparse.Namespace) -> dict[str, str]:
    """The texts of one part, by the names that the page's frame has for them."""
    if part == "scale":
        hubs, windows = scale.measure()
        day = f"{scale.day_mib():.1f}"
        return {
            "hub": table(scale.HUB, hubs),
            "window": table(scale.WINDOW, windows),
            "day": day,
        }
    if part == "history":
        return {"history": table(HISTORY, history.rows(python))}
    if part == "tell":
        return {"tell": table(tell.HEADS, tell.rows(python))}
    if part == "backends":
        return {
            f"{backend}_time": _costs(
                python, wish, cost.Training("small", wish.seconds, backend, cost.ELSEWHERE)
            )[0]
            for backend in cost.BACKENDS
        }
    told = {"rounds": str(wish.rounds), "seconds": f"{wish.seconds:g}"}
    for model in cost.MODELS:
        time, space = _costs(python, wish, cost.Training(model, wish.seconds))
        told |= {f"{model}_time": time, f"{model}_space": space}
    return told


def _costs(python: Path, wish: argparse.Namespace, training: cost.Training) -> tuple[str, str]:
    """Both tables of one training, and below the first one the tools that do not work."""
    found, failed = cost.measure(python, training, wish.rounds)
    rows = list(cost.rows(found))
    time = table(TIME, ((*row[:4], *row[8:]) for row in rows))
    said = "".join(f"\n\n{tool}: `{why}`" for tool, why in failed.items())
    return time + said, table(SPACE, ((row[0], *row[_OF_SPACE]) for row in rows))


def write() -> None:
    """Both languages' pages from one set of figures."""
    figures = results.newest(PARTS) | {"points": f"{history.POINTS:,}"}
    figures["ticks"] = summary.ticks(figures["tell"])
    figures["costs"] = summary.costs(figures["small_time"], figures["small_space"])
    for language, folder in (("en", GUIDE), ("zh_CN", GUIDE / "zh_CN")):
        text = Path(__file__).with_name(f"page.{language}.md").read_text(encoding="utf-8")
        section = Path(__file__).with_name(f"tell.{language}.md").read_text(encoding="utf-8")
        text = text.replace("{tell_section}", section.strip())
        for name, value in figures.items():
            text = text.replace("{" + name + "}", value.replace("| ours", "| kmonitor"))
        (folder / "side-by-side.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
