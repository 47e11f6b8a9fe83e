"""Heads of the corpus's scripts: what was reported, what is true of it, and what should be said.

`read_report` parses a head without running its script.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

FOLDER: Final = Path(__file__).resolve().parent
ROOT: Final = FOLDER.parents[1]

Memory = Literal[
    "anonymous",
    "file",
    "malloc",
    "blocks",
    "children",
    "open_files",
    "threads",
    "zombies",
    "shared",
    "written",
]
Expected = Literal["leak", "growing", "tiny", "none"]

KINDS: Final = frozenset(
    {
        "retained traces",
        "retracing",
        "xla",
        "predict and evaluate loops",
        "load_model loops",
        "searches",
        "custom loops",
        "eager training",
        "callbacks",
        "notebooks",
        "inside an epoch",
        "validation",
        "datasets",
        "workers",
        "native",
        "mapped files",
        "buffers",
        "curriculum",
        "collector",
        "warm-up",
        "resources",
    }
)

COUNTED: Final = frozenset(
    {"retained_traces", "disused_traces", "retracing", "compiled", "rebuilt", "workers", "python"}
    | {"files", "threads", "processes", "zombies", "blocks", "disk"}
)
"""Causes of verdicts that have their own counter."""

UNITS_COUNTED: Final = 8
UNITS_OTHERS: Final = 15
"""Within this many units growth should be called, where its cause is counted and where not."""

_THREAD: Final = re.compile(r"[\w.-]+/[\w.-]+#\d+|https://\S+")


@dataclass(frozen=True, slots=True)
class Report:
    """Head of a script.

    Attributes:
        thread: "owner/repository#number", or the address of a page.
        kind: One of `KINDS`.
        unit: Item that the script runs UNITS times; "step" is a block of steps, "call" of calls.
        grows: Kinds of memory, or other counts, that grow with each unit.
        expected: The right verdict: "leak": growth is called, and stays called; "growing": it
            is called, though it would end; "tiny": anything but a suspected leak; "none": neither
            growth nor a leak.
        cause: The cause.
        remedy: A fix that ends it; run by FIXED=1.
        named: Causes of verdicts that are right.
        units: Number of units unless UNITS is set.
        fixed: The right verdict with FIXED=1; empty: the script has no remedy to run.
        needs: Modules without which it is skipped.
        also: More threads.
        metric: Metric that is judged.
    """

    thread: str
    kind: str
    unit: Literal["fit", "epoch", "step", "call"]
    grows: tuple[Memory, ...]
    expected: Expected
    cause: str
    remedy: str
    named: tuple[str, ...] = ()
    units: int = 25
    fixed: Expected | Literal[""] = "none"
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    metric: VerdictMetric = "ram"

    @property
    def units_until_called(self) -> int:
        """Within how many units growth should be called."""
        return UNITS_COUNTED if COUNTED.issuperset(self.named) else UNITS_OTHERS

    def faults(self) -> list[str]:
        """Why the head is not complete; empty if it is."""
        found = [
            f"thread {one}" for one in (self.thread, *self.also) if not _THREAD.fullmatch(one)
        ]
        found += [f"no {name}" for name in ("cause", "remedy") if not getattr(self, name)]
        if self.kind not in KINDS:
            found.append(f"kind {self.kind}")
        is_growth = self.expected in {"leak", "growing"}
        if is_growth != bool(self.named):
            found.append(f"{self.expected}, and causes {self.named}")
        if is_growth and not self.grows:
            found.append("nothing grows")
        return found


def scripts() -> list[Path]:
    """Every script of the corpus about memory, by folder and name."""
    return sorted(each for each in FOLDER.glob("*/*.py") if each.parent.name != "times")


def script_named(name: str) -> Path:
    """The script of this name."""
    return next(script for script in scripts() if script.stem == name)


def read_report(script: Path) -> Report:
    """The head of a script, which is not run."""
    for node in ast.parse(script.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name("LEAK")], value=ast.Call(keywords=keywords)):
                return Report(
                    **{each.arg or "": ast.literal_eval(each.value) for each in keywords}
                )
            case _:
                pass
    raise LookupError(f"{script}: no LEAK = Report(...)")
