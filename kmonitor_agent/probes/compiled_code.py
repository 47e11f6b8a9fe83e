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
from pathlib import Path
from typing import Final

from kmonitor_agent.probes.held_memory import FAILURES
from kmonitor_agent.wire.messages.readings import Reading

_UNIT: Final = "regions"
_ANONYMOUS_CODE: Final = re.compile(rb"^\S+ ..x. 00000000 00:00 0 *$", re.MULTILINE)


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
