"""Processor time that the process itself takes: work of its own, apart from other processes.

The kernel counts that time for each epoch, of all threads. Other processes have no part in it:
they make the process wait. Where they share a core, its own time grows to 1.7 times at worst.
With a GPU it shows no work: its driver waits in a loop, which takes processor time.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.base.trend import median
from kmonitor.hub.judge.slowness.jumps import TO_CONFIRM, slowest_usual
from kmonitor.hub.judge.slowness.parts import HALF, seconds_of
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit

_FEWEST: Final = 3
"""Units whose processor time has to be known at each end."""

_MORE_WORK: Final = 1.7
"""Factor of processor time that other processes do not explain: two that share a core run at 0.6
of its speed each at worst."""

_QUIET_PART: Final = 25.0
"""Percentile of computing over processor time, as in units without other processes."""

_OWN_SHARE: Final = 0.5
_NO_SHARE: Final = 0.2
"""Logarithm of the factor of its own work, as a share of that of the time: from the first one it
explains the time, up to the second it does not."""


def works_more(units: Sequence[Unit], first: int) -> bool:
    """True if each unit after one takes the process more processor time than those before it.

    Args:
        units: Measured units.
        first: First unit of slower computing, whose samples may be of the one before.
    """
    at, seconds = _processor_times(units)
    before = seconds[(at >= 1) & (at < first)]
    later = seconds[at > first]
    if min(len(before), len(later)) < _FEWEST:
        return False
    is_apart = float(later.min()) > slowest_usual(before)
    return is_apart and median(later) >= _MORE_WORK * median(before)


def is_own_work(window: Sequence[Unit]) -> bool:
    """True if the process itself works longer, and that is why these units take longer."""
    _, seconds = _processor_times(window)
    return works_longer(window) and _growth(seconds) >= _MORE_WORK


def works_longer(window: Sequence[Unit]) -> bool:
    """True if the process itself works longer by as much as explains the time of these units."""
    _, seconds = _processor_times(window)
    return _growth(seconds) >= _growth_of_time(window) ** _OWN_SHARE


def factor_of_work(before: Sequence[Unit], later: Sequence[Unit]) -> float:
    """Factor by which later units take the process more processor time, where it is known."""
    early, late = (median([unit.cpu_s for unit in each]) for each in (before, later))
    return late / early


def works_as_before(window: Sequence[Unit]) -> bool:
    """True if units take the process hardly more processor time, though they take far longer."""
    _, seconds = _processor_times(window)
    return _growth(seconds) <= _growth_of_time(window) ** _NO_SHARE


def worked_seconds(units: Sequence[Unit], name: str) -> Floats:
    """Time of each unit in a part without what other processes add, `[n]`; see `shows_work_of`.

    A unit that takes the process no more processor time has no more to do, however long it had to
    wait for a processor.
    """
    seconds = seconds_of(units, name)
    own = np.array([unit.cpu_s for unit in units])
    return np.minimum(seconds, own * float(np.percentile(seconds / own, _QUIET_PART)))


def shows_work_of(units: Sequence[Unit], name: str) -> bool:
    """True if the processor time of each unit is known, and shows the work of a part.

    That is computing, or what takes most of the newest units' time.
    """
    if not knows_own_work(units):
        return False
    newest = [unit.times for unit in units[-TO_CONFIRM:]]
    of_all = [sum(times.values()) for times in newest]
    return name == "compute" or sum(seconds_of(units, name)[-TO_CONFIRM:]) >= HALF * sum(of_all)


def knows_own_work(units: Sequence[Unit]) -> bool:
    """True if the processor time of each unit is known, and shows work."""
    return not _waits_for_gpu(units) and all(unit.cpu_s > 0.0 for unit in units)


def _waits_for_gpu(units: Sequence[Unit]) -> bool:
    return "device_allocator" in units[-1].low


def _processor_times(units: Sequence[Unit]) -> tuple[NDArray[np.intp], Floats]:
    """Indices and processor times, seconds: of each unit, or from the samples of some of them."""
    if knows_own_work(units):
        return np.arange(len(units), dtype=np.intp), np.array([unit.cpu_s for unit in units])
    known = [(at, each) for at, each in enumerate(units) if "cores" in each.high]
    known = [] if _waits_for_gpu(units) else known
    at = np.array([at for at, _ in known], dtype=np.intp)
    cores = [each.wall_s * (each.low["cores"] + each.high["cores"]) / 2 for _, each in known]
    return at, np.array(cores)


def _growth_of_time(window: Sequence[Unit]) -> float:
    walls = np.array([unit.wall_s for unit in window])
    return _growth(walls[np.isfinite(walls)])


def _growth(values: Floats) -> float:
    """Factor from the first values to the last ones; 1 for too few."""
    if len(values) < 2 * _FEWEST:
        return 1.0
    return median(values[-_FEWEST:]) / median(values[:_FEWEST])
