"""Prints measured times beside their bounds, and says when the machine was too busy to judge.

    with Judge() as judge:
        judge.add("resize 1562x744", 12.0, 50.0, "ms")
    sys.exit(judge.status)

prints `resize 1562x744: 12 ms (bound 50 ms)`. A value within its bound is so on any machine,
since other work only makes things slower. One that is not counts as missed only if the machine was
quiet: a loop of known work is timed before and after, who else wished to run is counted meanwhile,
and steal is read. Rates and other values that should be high are given with `at_least=True`.
"""

import os
import statistics
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_ROUNDS: Final = 60
_ROUND: Final = 200_000
"""Additions of a round: about 5 ms, longer than a turn of the scheduler."""

_WAITED: Final = 1.15
"""Times of the clock to times of the processor, above which others held the cores."""

_DRIFT: Final = 1.25
"""Between the rounds before and after."""

_STEAL: Final = 0.05
"""Part of all cores' time that the hypervisor gave to other machines."""

_OTHERS: Final = 0.75
"""Other tasks that wish to run, for each core, while the loop runs; the load average would still
include the benchmark before."""


class Verdict(StrEnum):
    """Result of one comparison."""

    WITHIN = "within"
    ABOVE = "above"
    BELOW = "below"
    TOO_BUSY = "machine too busy to judge"


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured value.

    Attributes:
        name: Name of the line.
        value: In `unit`.
        bound: It should be no higher, or no lower with `at_least`; None: only printed.
        unit: "ms", "s", "%".
        at_least: The bound is a lower one.
        beside: Other values that help to read this one.
    """

    name: str
    value: float
    bound: float | None
    unit: str
    at_least: bool = False
    beside: str = ""

    @property
    def is_met(self) -> bool:
        """True if there is no bound or the value keeps it."""
        if self.bound is None:
            return True
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def verdict(self, why_busy: str) -> Verdict:
        """Compare with the bound. Args: `why_busy`: "" on a quiet machine."""
        if self.is_met:
            return Verdict.WITHIN
        if why_busy:
            return Verdict.TOO_BUSY
        return Verdict.BELOW if self.at_least else Verdict.ABOVE

    def line(self, why_busy: str) -> str:
        """For the table: `resize 1562x744: 12 ms (bound 50 ms)`."""
        text = f"{self.name}: {_number(self.value)} {self.unit}"
        notes = [f"bound {_number(self.bound)} {self.unit}"] if self.bound is not None else []
        if self.beside:
            notes.append(self.beside)
        if notes:
            text += f" ({', '.join(notes)})"
        verdict = self.verdict(why_busy)
        return text if verdict is Verdict.WITHIN else f"{text} {verdict.value.upper()}"


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop of known work: milliseconds a round, and who else wished to run meanwhile."""

    wall_ms: float
    cpu_ms: float
    others: float


class Machine:
    """State of the machine since it was made: whether times measured meanwhile mean anything."""

    def __init__(self) -> None:
        self._before = _run_loop()
        self._ticks = _cpu_ticks()

    def why_busy(self) -> str:
        """Reasons not to judge, or an empty string."""
        loops = (self._before, _run_loop())
        total, steal = (now - then for now, then in zip(_cpu_ticks(), self._ticks, strict=True))
        slowest, fastest = (pick(each.cpu_ms for each in loops) for pick in (max, min))
        waited = max(each.wall_ms / each.cpu_ms for each in loops)
        others = max(each.others for each in loops)
        reasons = []
        if others > _OTHERS * _cores():
            reasons.append(f"{others:.1f} other tasks on {_cores()} cores")
        if waited > _WAITED:
            reasons.append(f"a loop of {fastest:.1f} ms took {waited:.2f} times as long")
        if slowest > fastest * _DRIFT:
            reasons.append(f"the same loop took {fastest:.1f} and {slowest:.1f} ms")
        if total and steal / total > _STEAL:
            reasons.append(f"steal {100 * steal / total:.0f}%")
        return "; ".join(reasons)


class Judge:
    """Collects measured values of one benchmark and prints them when it is left.

    Attributes:
        status: Exit status, after the block: 1 if a bound is missed on a quiet machine.
    """

    def __init__(self) -> None:
        self.status = 0
        self._machine = Machine()
        self._measured: list[Measured] = []

    def add(self, name: str, value: float, bound: float | None, unit: str) -> None:
        """Add a value that should be at most `bound`."""
        self.take(Measured(name, value, bound, unit))

    def take(self, *measured: Measured) -> None:
        """Add values with all that is known of them."""
        self._measured += measured

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        why_busy = self._machine.why_busy()
        for each in self._measured:
            print(each.line(why_busy))
        verdicts = [each.verdict(why_busy) for each in self._measured]
        if why_busy:
            print(f"machine busy: {why_busy}")
        missed = sum(each in {Verdict.ABOVE, Verdict.BELOW} for each in verdicts)
        unjudged = verdicts.count(Verdict.TOO_BUSY)
        print(f"{len(verdicts)} measured, {missed} missed, {unjudged} not judged")
        self.status = 1 if missed else 0


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 10.0 else f"{value:.3g}"


def _cores() -> int:
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


def _run_loop() -> _Loop:
    wall_ms: list[float] = []
    cpu_ms: list[float] = []
    others: list[int] = []
    for _ in range(_ROUNDS):
        cpu_s, began_s = time.thread_time(), time.perf_counter()
        sum(range(_ROUND))
        wall_ms.append((time.perf_counter() - began_s) * 1e3)
        cpu_ms.append((time.thread_time() - cpu_s) * 1e3)
        others.append(_runnable() - 1)
    mean = statistics.mean
    return _Loop(mean(wall_ms), max(mean(cpu_ms), 1e-6), mean(others))


def _runnable() -> int:
    """Tasks that run or wish to, this one among them; 1 where unknown."""
    file = Path("/proc/loadavg")
    return int(file.read_text().split()[3].split("/")[0]) if file.exists() else 1


def _cpu_ticks() -> tuple[int, int]:
    """Ticks of all cores since the start, and those that were stolen; zeros where unknown."""
    file = Path("/proc/stat")
    if not file.exists():
        return 0, 0
    fields = [int(word) for word in file.read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[7]
