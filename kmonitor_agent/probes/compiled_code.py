"""Machine code that was compiled while the process ran, counted by executable pages.

XLA on a CPU keeps each program that it compiles for a function and the shapes of its arguments
in a number of pages of its own, about 10 to 30 for a training step, for as long as the process
runs; so do LLVM and Numba. Neither TensorFlow's Python API nor a graph's traces show them: one
trace with unknown dimensions is compiled again for each shape. oneDNN enlarges one region.

Programs for a GPU are on the GPU, and are not seen.

Source: proc(5), /proc/PID/maps; measured: 25 regions a program of TensorFlow 2.21, 2 ms for 2 000
    lines.
"""

import re
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Final

from kmonitor_agent.probes.held_memory import FAILURES
from kmonitor_agent.wire.messages.readings import Reading

_UNIT: Final = "regions"
_ANONYMOUS_CODE: Final = re.compile(rb"^\S+ ..x. 00000000 00:00 0 *$", re.MULTILINE)
_PROC: Final = Path("/proc/self")

_COMPILED_FROM_S: Final = 0.02
"""Length from which a step may include compiling, seconds; the check takes microseconds."""

CODE_FROM_S: Final = 0.3
"""The same length if regions of code must be counted for the check, which takes milliseconds."""

_UNUSUAL_S: Final = 0.05
_UNUSUAL: Final = 5.0
"""They are also counted for a step of this length that is so many times as long as others."""

_LEAST_ADDED: Final = {"functions": 1.0, "code": 4.0}
"""Smallest rise that shows compiling: XLA adds 10 to 30 regions of code, libraries one or two."""

_CODE_COSTS: Final = 100.0
"""Minimum time to the next such count, in times that this one took."""


def read_code_regions(folder: Path) -> Reading:
    """Regions of machine code without a file; some milliseconds in a large process.

    Args:
        folder: Folder of this process in procfs.
    """
    try:
        maps = (folder / "maps").read_bytes()
    except FAILURES as exc:
        return Reading.missing(_UNIT, f"compiled code cannot be counted: {exc}")
    source = f"process: {folder}/maps, executable anonymous pages"
    return Reading(float(len(_ANONYMOUS_CODE.findall(maps))), _UNIT, source)


class CompileDetector:
    """Detects steps that were compiled, by counts that grow with it; for the training thread.

    Args:
        count_functions: Returns the framework's count of functions, which grows with each trace or
            compiled program.
    """

    def __init__(self, count_functions: Callable[[], Reading]) -> None:
        self._count_functions = count_functions
        self._read_code_from_s = 0.0
        self._counts: dict[str, float] = {}
        self.begin(with_code=True)

    def begin(self, *, with_code: bool) -> None:
        """Leave out what was compiled until now.

        Args:
            with_code: True to count regions of code, too.
        """
        self._counts = self._read_counts(with_code=with_code)

    def was_compiled(self, inside_s: float, plain_s: float, usual_s: float) -> bool:
        """True if counts show that a step was compiled.

        Args:
            inside_s: Time of the step.
            plain_s: The same without known waiting for input.
            usual_s: Time of a plain step; 0: unknown.
        """
        if inside_s < _COMPILED_FROM_S:
            return False
        before = self._counts
        is_unusual = plain_s >= max(_UNUSUAL_S, _UNUSUAL * usual_s)
        is_due = is_unusual and perf_counter() >= self._read_code_from_s
        self._counts = self._read_counts(with_code=is_due or inside_s >= CODE_FROM_S)
        added = {name: now - before.get(name, now) for name, now in self._counts.items()}
        return any(by >= _LEAST_ADDED[name] for name, by in added.items())

    def _read_counts(self, *, with_code: bool) -> dict[str, float]:
        counts = dict(self._counts)
        functions = self._count_functions().value
        if functions is not None:
            counts["functions"] = functions
        if with_code:
            began_s = perf_counter()
            code = read_code_regions(_PROC).value
            ended_s = perf_counter()
            self._read_code_from_s = ended_s + _CODE_COSTS * (ended_s - began_s)
            if code is not None:
                counts["code"] = code
        return counts
