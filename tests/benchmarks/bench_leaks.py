"""Accuracy of verdicts on real trainings: every script of `tests/leaks`, one by one.

    make bench-leaks                                   all, an hour and more
    make bench-leaks ARGS="tensorflow_37653 memmap"    those whose names hold a word
    make bench-leaks ARGS="--limit-s 60 --forms both --json leaks.json datasets/"

Each runs twice: without kmonitor, for the true growth a unit by its own counters; and with
`MonitorCallback` and a hub in their own folder. A script that fails, is ended or cannot run
here is listed as such, and the others still run.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import psutil

from kmonitor.base.errors import UserError
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric
from tests.leaks.guide_page import write
from tests.leaks.report import FOLDER, Expected, Report, read_report, scripts
from tests.leaks.running import (
    MEMORY,
    Course,
    How,
    ScriptRun,
    as_mib,
    as_record,
    has_ended,
    read_course,
    run_name,
    run_script,
)
from tests.support.live_hub import LiveHub

_LONGEST_WAIT_S: Final = 300.0
_PART_OF_TIME: Final = 0.1
"""Fraction of the time until growth has filled this machine's memory."""

_LATE_S: Final = 30.0
"""Longest time until the hub hears of a run's end."""


@dataclass(frozen=True, slots=True)
class Result:
    """A script, and the verdicts on it.

    Attributes:
        name: Name of its run.
        report: Its head.
        expected: The right verdict; empty: nothing is judged.
        plain: Its run without kmonitor; None: left out.
        watched: Its run with kmonitor; None: skipped or failed before.
        course: The hub's verdicts.
    """

    name: str
    report: Report
    expected: Expected | str
    plain: ScriptRun | None
    watched: ScriptRun | None
    course: Course

    @property
    def problem(self) -> str:
        """Why there is no result; empty if there is one."""
        for run in (self.plain, self.watched):
            if run is not None and run.is_skipped:
                return "skipped"
            if run is not None and run.status not in {0, None}:
                return "failed"
        if self.watched is not None and not self.course.said:
            return "not judged"
        return ""

    @property
    def note(self) -> str:
        """Note on a run that was cut short; else empty."""
        runs = [run for run in (self.plain, self.watched) if run is not None]
        return "cut short" if any(run.status is None for run in runs) else ""

    @property
    def is_right(self) -> bool:
        """True if the verdicts are right."""
        return self.course.is_right(self.expected)

    @property
    def is_cause_right(self) -> bool:
        """True if the right cause was named."""
        return self.course.cause in self.report.named

    @property
    def is_in_time(self) -> bool:
        """True if growth was called within the allowed units, of steps and calls the time."""
        alarm = self.course.first_alarm
        if alarm is None:
            return False
        if alarm.per in {"step", "call"} and alarm.slope is not None:
            growth_per_s = alarm.slope * alarm.units / alarm.t_s
            until_full_s = psutil.virtual_memory().total / growth_per_s
            return alarm.t_s <= min(_LONGEST_WAIT_S, _PART_OF_TIME * until_full_s)
        return alarm.units <= self.report.units_until_called


class Bench:
    """Runs scripts beside one hub.

    Attributes:
        results: So far.
    """

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.results: list[Result] = []
        self._options = options
        self._folder = folder
        self._home = folder / "home"
        self._hub = LiveHub(find_folders({"KMONITOR_HOME": str(self._home)}))

    def __enter__(self) -> Self:
        self._hub.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._hub.stop()

    def run(self, script: Path, *, fixed: bool) -> Result:
        """Both runs of a script, and the verdicts."""
        report, name = read_report(script), run_name(script, fixed=fixed)
        runs = self._options.runs
        plain, watched, course = None, None, Course([])
        if runs in {"both", "plain"}:
            plain = self._run(script, fixed=fixed, home=None)
        if runs != "plain" and (plain is None or plain.status in {0, None}):
            watched = self._run(script, fixed=fixed, home=self._home)
            plain = watched if runs == "one" else plain
            if not watched.is_skipped:
                course = self._course_or_none(name, report.metric)
        expected = report.fixed if fixed else report.expected
        result = Result(name, report, expected, plain, watched, course)
        self.results.append(result)
        return result

    def _run(self, script: Path, *, fixed: bool, home: Path | None) -> ScriptRun:
        options = self._options
        traced = home is None or options.runs == "one"
        how = How(fixed, traced, options.units, options.limit_s)
        return run_script(script, self._folder, how, home)

    def _course(self, name: str, metric: VerdictMetric) -> Course:
        if self._hub.process.poll() is not None:
            self._hub.start()
        with self._hub.client(timeout_s=60.0) as client:
            end_s = time.monotonic() + _LATE_S
            while not has_ended(client, name) and time.monotonic() < end_s:
                time.sleep(0.2)
            return read_course(client, name, metric)

    def _course_or_none(self, name: str, metric: VerdictMetric) -> Course:
        """Verdicts of the hub; empty if it does not answer, so that the others continue."""
        try:
            return self._course(name, metric)
        except (UserError, AssertionError) as exc:
            print(f"{name}: {exc}", file=sys.stderr)
            return Course([])


_COLUMNS: Final = (
    ("script", 42),
    ("anon", 7),
    ("file", 6),
    ("malloc", 7),
    ("child", 6),
    ("blocks", 7),
    ("said", 14),
    ("at", 6),
    ("leak at", 8),
    ("back", 5),
    ("cause", 22),
    ("expected", 9),
    ("", 16),
)


def _line(cells: Sequence[str]) -> str:
    widths = [width for _, width in _COLUMNS]
    parts = [
        cell.ljust(width) if column in {0, 6, 9, 10, 11, 12} else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return " ".join(parts).rstrip()


def _growth(result: Result) -> list[str]:
    growth = result.plain.growth() if result.plain is not None else {}
    shown: list[str] = []
    for name in ("anonymous", "file", "malloc", "children"):
        value = as_mib(growth, name)
        shown.append("-" if value is None else f"{value:.2f}")
    return [*shown, f"{growth['blocks']:.0f}" if "blocks" in growth else "-"]


def row(result: Result) -> str:
    """A line of the table."""
    course = result.course
    last, alarm, leak = course.last, course.first_alarm, course.first_suspicion
    if result.problem or result.watched is None:
        said = ["", "", "", "", ""]
        outcome = result.problem
    else:
        said = [
            f"{last.state} {last.units}" if last else "",
            f"{alarm.units} {alarm.per[0]}" if alarm else "-",
            f"{leak.units}" if leak else "-",
            "yes" if course.is_taken_back else "",
            _cause(result),
        ]
        outcome = ("right" if result.is_right else "WRONG") + (
            f", {result.note}" if result.note else ""
        )
    return _line([result.name, *_growth(result), *said, result.expected, outcome])


def _cause(result: Result) -> str:
    cause = result.course.cause
    if not cause or not result.report.named:
        return cause
    return cause if result.is_cause_right else f"{cause} (x)"


def totals(results: Sequence[Result]) -> list[str]:
    """Totals of all results."""
    judged = [one for one in results if one.watched is not None and not one.problem]
    grows = [one for one in judged if one.expected in {"leak", "growing"}]
    leaks = [one for one in grows if one.expected == "leak"]
    ending = [one for one in grows if one.expected == "growing"]
    called = [one for one in grows if one.course.first_alarm is not None]
    harmless = [one for one in judged if one.expected == "none"]
    tiny = [one for one in judged if one.expected == "tiny"]

    def line(text: str, of: Sequence[Result], is_so: Callable[[Result], bool]) -> str:
        n = sum(map(is_so, of))
        return f"{text}: {n} of {len(of)}" + (f" ({n / len(of):.0%})" if of else "")

    return [
        line("leaks called within 8 units where counted, 15 else", leaks, lambda r: r.is_in_time),
        line("leaks called at all", leaks, lambda r: r.course.first_alarm is not None),
        line("leaks suspected", leaks, lambda r: r.course.first_suspicion is not None),
        line("growth that would end, called", ending, lambda r: r in called),
        line("causes right, of what was called", called, lambda r: r.is_cause_right),
        line(
            "alarms of leaks taken back",
            [one for one in called if one in leaks],
            lambda r: r.course.is_taken_back,
        ),
        line("harmless ones called", harmless, lambda r: not r.is_right),
        line("tiny ones called a leak", tiny, lambda r: not r.is_right),
        line("right", judged, lambda r: r.is_right),
        line("skipped, failed or not judged", results, lambda r: bool(r.problem)),
    ]


def record(result: Result) -> dict[str, Any]:
    """A result as plain data."""
    plain, watched = result.plain, result.watched
    growth = plain.growth() if plain is not None else {}
    return {
        "script": result.name,
        "problem": result.problem,
        "note": result.note,
        "errors": [one.errors for one in (plain, watched) if one is not None and result.problem],
        "expected": result.expected,
        "is_right": result.is_right,
        "is_cause_right": result.is_cause_right,
        "is_in_time": result.is_in_time,
        "units": len(plain.trace) if plain is not None else None,
        "growth": {name: growth[name] for name in MEMORY if name in growth},
        "took_s": [round(one.took_s, 1) for one in (plain, watched) if one is not None],
        "said": as_record(result.course),
        "verdicts": [[one.units, one.state, one.cause] for one in result.course.said],
        "report": asdict(result.report),
    }


def picked(words: Sequence[str]) -> list[Path]:
    """Scripts whose folder and name hold one of `words`; all without any."""
    named = {script: str(script.relative_to(FOLDER)) for script in scripts()}
    return [
        script
        for script, name in named.items()
        if not words or any(word in name for word in words)
    ]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="bench_leaks", description="Verdicts on real leaks.")
    parser.add_argument("words", nargs="*", help="parts of scripts' folders and names; none: all")
    parser.add_argument("--limit-s", type=float, default=300.0, help="longest time of a run")
    parser.add_argument("--units", type=int, help="units in place of each script's own number")
    parser.add_argument("--json", type=Path, help="file for the results, written as they come")
    parser.add_argument("--guide", action="store_true", help="write the guide's page of leaks")
    parser.add_argument(
        "--forms",
        choices=["reported", "fixed", "both"],
        default="reported",
        help="scripts as reported, with their remedies, or both",
    )
    parser.add_argument(
        "--runs",
        choices=["both", "one", "plain", "watched"],
        default="both",
        help="one: growth and verdicts of the same run, in half the time, with kmonitor's own"
        " memory among what grows; plain: only the true growth; watched: only verdicts",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Run what was picked, print the table, and give 1 if something failed."""
    options = parse(arguments)
    chosen = picked(options.words)
    if not chosen:
        print(f"no script is called {' or '.join(options.words)}", file=sys.stderr)
        return 2
    print(f"{len(chosen)} scripts; growth in MiB a unit, blocks of Python in numbers")
    print(_line([name for name, _ in _COLUMNS]), flush=True)
    forms = {"reported": [False], "fixed": [True], "both": [False, True]}[options.forms]
    runs = [
        (script, fixed)
        for script in chosen
        for fixed in forms
        if not fixed or read_report(script).fixed
    ]
    with (
        tempfile.TemporaryDirectory(prefix="kmonitor-leaks-") as name,
        Bench(options, Path(name)) as bench,
    ):
        for script, fixed in runs:
            print(row(bench.run(script, fixed=fixed)), flush=True)
            if options.json:
                found = [record(one) for one in bench.results]
                options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print("", *totals(bench.results), sep="\n")
    if options.guide:
        write({one.name: record(one) for one in bench.results})
    return 1 if any(one.problem == "failed" for one in bench.results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
