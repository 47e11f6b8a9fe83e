"""Scripts about time: their heads, the truth that they measure themselves, what a hub said.

Each script of `tests/leaks/times/` is one report, or a harmless twin, and measures with a clock of
its own how long the part takes that the report is about.
"""

import ast
import importlib
import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import decode_row
from kmonitor_agent.wire.messages.events import EpochEnded, Verdict
from kmonitor_agent.wire.messages.verdict_events import TIME_METRICS
from tests.leaks.report import FOLDER

_TRACE: Final = os.environ.get("LEAKS_TRACE")

FIXED: Final = os.environ.get("FIXED") == "1"
"""True if the remedy of a script runs in place of the reported code."""

LEAST_PART: Final = 0.3
"""Fraction of the time: a part that takes it should be named in a training that is steady."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Head of a script.

    Attributes:
        thread: "owner/repository#number", or a description of the twin.
        expected: "slower": it is to be called; "share": a part takes much of the time, from the
            first epoch on; "steps": a few steps take much of it; "none": nothing is to be called.
        part: Part that is to be named, as in `EpochParts`; empty: none.
        name: Class of the callback that is to be named; empty: none.
        cause: Cause that is to be named, as in `Verdict`; empty: the part says enough.
        units: Epochs that run unless UNITS says so.
        within: Units within which it should be called, from where it begins.
        is_late: It begins once memory runs out: at a unit that depends on the machine, and is
            taken from the trace.
        remedy: A fix that makes it fast, as kmonitor advises; run by FIXED=1. Empty: it has none.
    """

    thread: str
    expected: Literal["slower", "share", "steps", "none"]
    part: str = ""
    name: str = ""
    cause: str = ""
    units: int = 25
    within: int = 15
    is_late: bool = False
    remedy: str = ""


def time_scripts() -> list[Path]:
    """Every script about time, by name."""
    return sorted((FOLDER / "times").glob("*.py"))


def read_slowdown(script: Path) -> Slowdown:
    """The head of a script, which is not run."""
    for node in ast.parse(script.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name("SLOW")], value=ast.Call(keywords=keywords)):
                return Slowdown(
                    **{each.arg or "": ast.literal_eval(each.value) for each in keywords}
                )
            case _:
                pass
    raise LookupError(f"{script}: no SLOW = Slowdown(...)")


def units(head: Slowdown) -> int:
    """Number of epochs to run."""
    return int(os.environ.get("UNITS", head.units))


_spent: dict[str, float] = {}
_last_s = time.perf_counter()


@contextmanager
def spent(part: str) -> Generator[None]:
    """Time that belongs to a part, by a clock of the script's own."""
    began_s = time.perf_counter()
    try:
        yield
    finally:
        _spent[part] = _spent.get(part, 0.0) + time.perf_counter() - began_s


def unit(index: int) -> None:
    """An epoch, or a round of fits, has ended."""
    global _last_s  # noqa: PLW0603 - of the script's process
    now_s = time.perf_counter()
    if _TRACE:
        line = {"unit": index, "wall": now_s - _last_s, **_spent}
        with Path(_TRACE).open("a", encoding="ascii") as out:
            out.write(json.dumps(line) + "\n")
    _spent.clear()
    _last_s = now_s


def watch(*, each_epoch: bool = True) -> list[Any]:
    """Callbacks of the bench: MonitorCallback in a watched run, and the trace's."""
    added: list[Any] = []
    if name := os.environ.get("LEAKS_MONITOR"):
        from kmonitor_agent import MonitorCallback  # noqa: PLC0415 - a plain run has none of it

        added.append(MonitorCallback(name))
    if _TRACE and each_epoch:
        made = importlib.import_module("keras").callbacks
        added.append(made.LambdaCallback(on_epoch_end=lambda epoch, _logs: unit(epoch)))
    return added


def loaded_by_workers(n_batches: int, load: Callable[[], Any]) -> Any:
    """A data set whose batches are loaded by eight workers at once.

    Args:
        n_batches: In an epoch.
        load: Returns a batch.
    """
    made: Any = importlib.import_module("keras").utils

    class Loaded(made.PyDataset):
        def __len__(self) -> int:
            return n_batches

        def __getitem__(self, index: int) -> Any:
            return load()

    return Loaded(workers=8, max_queue_size=16)


@dataclass(frozen=True, slots=True)
class TimeCourse:
    """Verdicts on a run.

    Attributes:
        alarms: Verdicts that it is slower, in order.
        last: The newest on the epoch's time; None: none was stored.
        epochs: Ends of its epochs.
    """

    alarms: list[Verdict]
    last: Verdict | None
    epochs: list[EpochEnded]

    def faults(self, head: Slowdown, trace: Sequence[dict[str, float]]) -> list[str]:
        """Faults in the verdicts; empty if all are right.

        Args:
            head: Head of the script.
            trace: Times that the script measured itself, a unit each.
        """
        named = [(each.where, each.name if head.name else "") for each in self.alarms]
        match head.expected:
            case "none":
                return [f"called at unit {each.unit}: {each.where}" for each in self.alarms]
            case "slower":
                if not self.alarms:
                    return ["not called"]
                late = self.alarms[0].unit > _begin(head, trace) + head.within
                found = [f"called at unit {self.alarms[0].unit}"] if late else []
                wrong = (head.part, head.name) not in named
                causes = [each.cause for each in self.alarms]
                found += [f"named {named}"] if wrong else []
                is_open = bool(head.cause) and head.cause not in causes
                return found + ([f"caused by {causes}"] if is_open else [])
            case "share":
                last = self.last
                is_said = last is not None and last.where == head.part
                return [] if is_said else [f"said {last and last.where} of the time"]
            case "steps":
                times = [each.step_times for each in self.epochs if each.step_times is not None]
                few = [each for each in times if each.slow and each.slow_part >= LEAST_PART]
                return [] if len(few) > len(times) / 2 else ["no slow steps were seen"]


def _begin(head: Slowdown, trace: Sequence[dict[str, float]]) -> int:
    """Number of units before the slowdown begins; 0 if it begins with the first."""
    if not head.is_late:
        return 0
    spent = [row.get(head.part, 0.0) for row in trace]
    first = slice(1, _USUAL_UNITS + 1)
    usual = 1.5 * median(spent[first]) + 0.1 * median(row["wall"] for row in trace[first])
    slow = [at for at in range(len(spent) - 2) if median(spent[at : at + 3]) > usual]
    return min(slow, default=len(spent))


_USUAL_UNITS: Final = 10
"""Units after the first that are not yet slower in a script where memory runs out."""


def read_time_course(client: HubClient, run: str) -> TimeCourse:
    """A hub's verdicts on a run.

    Args:
        client: Client of the hub.
        run: Its name.
    """
    summary = next(each for each in client.runs() if each.name == run)
    events = [decode_row(row) for row in client.all_rows(summary.run, ("verdict", "epoch_end"))]
    verdicts = [
        each for each in events if isinstance(each, Verdict) and each.metric in TIME_METRICS
    ]
    newest = [each for each in client.verdicts(summary.run) if each.metric == "epoch_time"]
    return TimeCourse(
        alarms=[each for each in verdicts if each.state == "growing" and each.turned],
        last=newest[-1] if newest else None,
        epochs=[each for each in events if isinstance(each, EpochEnded)],
    )


def true_parts(trace: Iterable[dict[str, float]]) -> dict[str, float]:
    """Seconds of each part by the script's own clock, all units but the first together."""
    found: dict[str, float] = {}
    for row in list(trace)[1:]:
        for name, seconds in row.items():
            if name != "unit":
                found[name] = found.get(name, 0.0) + seconds
    return found
