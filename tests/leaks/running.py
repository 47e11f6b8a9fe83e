"""Runs scripts of the corpus and reads what a hub said of them; for the benchmark and tests."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import decode_row
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES, VerdictMetric
from tests.leaks.corpus import EXIT_SKIPPED
from tests.leaks.report import ROOT, Expected

MEMORY: Final = (
    *("anonymous", "file", "malloc", "malloc_free", "children", "blocks"),
    *("open_files", "threads", "zombies", "shared", "written"),
)
"""Counters of a trace: bytes, blocks of Python's allocator, and numbers of the others."""

ENDED: Final = frozenset({"finished", "stopped", "failed", "interrupted", "lost"})

_SUSPECTED: Final = "suspected"
_MIB: Final = 2.0**20
_LAST_WORDS_S: Final = 20.0
"""Time for a script that was ended to send what it has."""

_ENVIRON: Final = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",
    "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16",  # see tests/conftest.py
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "PYTHONPATH": str(ROOT),
}


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """A script that was run.

    Attributes:
        status: Exit status; None: it took too long and was ended.
        took_s: Seconds.
        trace: Counters after each unit; empty unless a trace was requested.
        errors: Last words of its standard error.
    """

    status: int | None
    took_s: float
    trace: list[dict[str, float]]
    errors: str

    @property
    def is_skipped(self) -> bool:
        """True if something that it needs is not installed."""
        return self.status == EXIT_SKIPPED

    def growth(self) -> dict[str, float]:
        """Growth a unit by kind of memory, over the last three quarters; bytes, or blocks."""
        rows = self.trace[len(self.trace) // 4 :]
        present = [name for name in MEMORY if rows and name in rows[0]]
        return {name: _theil_sen([row[name] for row in rows]) for name in present}


def _theil_sen(values: Sequence[float]) -> float:
    y = np.array(values)
    later, earlier = np.triu_indices(len(y), 1)[::-1]
    if not len(later):
        return 0.0
    return float(np.median((y[later] - y[earlier]) / (later - earlier)))


@dataclass(frozen=True, slots=True)
class How:
    """Options for running a script.

    Attributes:
        fixed: True if its remedy runs.
        traced: True if it writes counters after each unit.
        units: Number of units; None: as its head says.
        limit_s: It is ended after this many seconds.
    """

    fixed: bool = False
    traced: bool = False
    units: int | None = None
    limit_s: float = 600.0


def run_script(script: Path, folder: Path, how: How, home: Path | None = None) -> ScriptRun:
    """Run a script as a separate process.

    Args:
        script: A script of the corpus.
        folder: Folder for its trace and errors.
        how: Form of it to run.
        home: KMONITOR_HOME: it is watched, as the run `run_name`; None: it is not.
    """
    name = run_name(script, fixed=how.fixed)
    trace, errors = folder / f"{name}.trace", folder / f"{name}.errors"
    trace.unlink(missing_ok=True)
    environ = {**os.environ, **_ENVIRON, "FIXED": "1" if how.fixed else ""}
    environ |= {"UNITS": str(how.units)} if how.units else {}
    environ |= {"LEAKS_TRACE": str(trace)} if how.traced else {}
    environ |= {} if home is None else {"LEAKS_MONITOR": name, "KMONITOR_HOME": str(home)}
    module = ".".join(script.relative_to(ROOT).with_suffix("").parts)
    began_s = time.monotonic()
    with errors.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=out,
            start_new_session=True,
        )
        status = _wait(process, how.limit_s)
    took_s = time.monotonic() - began_s
    lines = trace.read_text(encoding="ascii").splitlines() if trace.exists() else []
    said = errors.read_text(encoding="utf-8", errors="replace")[-2000:]
    return ScriptRun(status, took_s, [json.loads(line) for line in lines], said)


def _wait(process: "subprocess.Popen[bytes]", limit_s: float) -> int | None:
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.terminate()
        return None
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LAST_WORDS_S)
        # Also what a script that failed or took too long has started.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_name(script: Path, *, fixed: bool) -> str:
    """Name of a script's run."""
    return f"{script.stem}{' fixed' if fixed else ''}"


@dataclass(frozen=True, slots=True)
class Course:
    """Verdicts on one metric of a run, unit by unit.

    Attributes:
        said: Its verdicts, oldest first.
    """

    said: list[Verdict]

    @property
    def first_alarm(self) -> Verdict | None:
        """The first that called it growing, or a leak suspected."""
        return next((one for one in self.said if one.state in ALARMED_STATES), None)

    @property
    def first_suspicion(self) -> Verdict | None:
        """The first that suspected a leak."""
        return next((one for one in self.said if one.state == _SUSPECTED), None)

    @property
    def last(self) -> Verdict | None:
        """Newest verdict; None: there is none."""
        return self.said[-1] if self.said else None

    @property
    def is_taken_back(self) -> bool:
        """True if an alarm was followed by a state that is none."""
        alarm = self.first_alarm
        if alarm is None:
            return False
        later = self.said[self.said.index(alarm) :]
        return any(one.state not in ALARMED_STATES for one in later)

    @property
    def cause(self) -> str:
        """Cause in the newest alarm that names one."""
        alarms = [one for one in self.said if one.state in ALARMED_STATES and one.cause]
        return alarms[-1].cause if alarms else ""

    def is_right(self, expected: Expected | str) -> bool:
        """True if the verdicts are as expected."""
        match expected:
            case "leak":
                return self.last is not None and self.last.state in ALARMED_STATES
            case "growing":
                return self.first_alarm is not None
            case "tiny":
                return self.first_suspicion is None
            case _:
                return self.first_alarm is None


def read_course(client: HubClient, name: str, metric: VerdictMetric = "ram") -> Course:
    """A hub's verdicts on the newest run of a name; empty if it does not know it.

    The verdicts of a run are complete once their request was answered: the hub judges all that it
    has before.
    """
    runs = [run for run in client.runs() if run.name == name]
    if not runs:
        return Course([])
    run = runs[-1].run
    current = [one for one in client.verdicts(run) if one.metric == metric]
    events = (decode_row(row) for row in client.all_rows(run, ("verdict",)))
    said = [one for one in events if isinstance(one, Verdict) and one.metric == metric]
    return Course(said + [one for one in current if not said or one.to_s > said[-1].to_s])


def has_ended(client: HubClient, name: str) -> bool:
    """True if the hub knows that the run of a name has ended, and has stored all of it."""
    runs = [run for run in client.runs() if run.name == name and run.state in ENDED]
    # A run is known to have finished before its last rows are stored, and judged by what is.
    return any(
        run.state != "finished" or any(True for _ in client.all_rows(run.run, ("session_end",)))
        for run in runs
    )


def as_mib(growth: dict[str, float], name: str) -> float | None:
    """Growth of a kind of memory in MiB a unit; None if it was not measured."""
    return None if name not in growth else growth[name] / _MIB


def as_record(course: Course) -> dict[str, Any]:
    """The verdicts, as plain data."""
    alarm, last = course.first_alarm, course.last
    return {
        "state": last.state if last else "",
        "per": last.per if last else "",
        "units": last.units if last else 0,
        "called_at": alarm.units if alarm else None,
        "suspected_at": course.first_suspicion.units if course.first_suspicion else None,
        "taken_back": course.is_taken_back,
        "cause": course.cause,
        "slope_mib": last.slope / _MIB if last and last.slope is not None else None,
        "why_not": last.why_not if last else "",
    }
