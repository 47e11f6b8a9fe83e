"""Accuracy of verdicts on time: every script of `tests/leaks/times`, one by one.

    make bench ARGS=slowdowns
    python tests/benchmarks/bench_slowdowns.py [WORD ...]      those whose names hold a word

Each runs with `MonitorCallback` and a hub in its own folder, and itself times the part
that it is about. Those that have a remedy run with it too, for what it gains.
"""

import sys
import tempfile
from pathlib import Path
from statistics import median

from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.events import EPOCH_PARTS, EpochParts
from tests.leaks.running import How, ScriptRun, has_ended, run_name, run_script
from tests.leaks.slowdowns import (
    Slowdown,
    read_slowdown,
    read_time_course,
    time_scripts,
    true_parts,
)
from tests.support.live_hub import LiveHub
from tests.support.waiting import wait_until

_LIMIT_S = 600.0
_LATE = 5


def main() -> None:
    """Print the table."""
    chosen = [
        script
        for script in time_scripts()
        if not sys.argv[1:] or any(word in script.stem for word in sys.argv[1:])
    ]
    print("| script | part | true s | said s | adds up | called at | result | remedy: s a unit |")
    print("|---|---|---|---|---|---|---|---|")
    n_right = n_run = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        hub = LiveHub(find_folders({"KMONITOR_HOME": str(home)}))
        hub.start()
        try:
            for script in chosen:
                is_right = _run(script, Path(folder), home, hub)
                n_run += is_right is not None
                n_right += bool(is_right)
        finally:
            hub.stop()
    print(f"\n{n_right} of {n_run} right")


def _run(script: Path, folder: Path, home: Path, hub: LiveHub) -> bool | None:
    head = read_slowdown(script)
    run = run_script(script, folder, How(traced=True, limit_s=_LIMIT_S), home)
    if run.status != 0:
        print(f"| {script.stem} | | | | | | {_why_not(run)} | |", flush=True)
        return None
    name = run_name(script, fixed=False)
    with hub.client() as client:
        wait_until(lambda: has_ended(client, name), what="the hub has it all")
        course = read_time_course(client, name)
    parts = [each.parts for each in course.epochs[1:] if each.parts is not None]
    said_s = sum((getattr(each, f"{head.part}_s", 0.0) or 0.0) for each in parts)
    true_s = true_parts(run.trace).get(head.part)
    named = [each for each in course.alarms if each.where]
    called = f"{named[0].unit} ({named[0].where} {named[0].name})" if named else ""
    faults = course.faults(head, run.trace)
    true_text = "" if true_s is None else f"{true_s:.2f}"
    print(
        f"| {script.stem} | {head.part} | {true_text} | {said_s:.2f} | {_largest_gap(parts):.1%} |"
        f" {called} | {'; '.join(faults) or 'right'} | {_gain(script, head, folder, run)} |",
        flush=True,
    )
    return not faults


def _why_not(run: ScriptRun) -> str:
    """Why a script has no result, in one line."""
    if run.is_skipped:
        return "skipped"
    if run.status is None:
        return f"not done within {_LIMIT_S:.0f} s, on a machine that may be busy"
    return f"status {run.status}: {' '.join(run.errors[-300:].split())}"


def _gain(script: Path, head: Slowdown, folder: Path, before: ScriptRun) -> str:
    """Time of a unit at the end, as reported and with the remedy; empty without one."""
    if not head.remedy:
        return ""
    fixed = run_script(script, folder, How(fixed=True, traced=True, limit_s=_LIMIT_S))
    late = [median(row["wall"] for row in run.trace[-_LATE:]) for run in (before, fixed)]
    return f"{late[0]:.2f} -> {late[1]:.2f}: {head.remedy}"


def _largest_gap(parts: list[EpochParts]) -> float:
    """By how much the parts of an epoch miss its time, at most."""
    gaps = [
        abs(sum(getattr(each, f"{name}_s") or 0.0 for name in EPOCH_PARTS) / each.wall_s - 1.0)
        for each in parts
    ]
    return max(gaps, default=0.0)


if __name__ == "__main__":
    main()
