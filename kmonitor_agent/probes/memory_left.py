"""Memory that this process can still get, and the bound that is nearest.

Three bounds are read: available memory and free swap of the host, the remainder of the control
group's limit, and the remainder of the limit on address space. The smallest one holds.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from kmonitor_agent.probes.held_memory import FAILURES, PROC, read_sizes
from kmonitor_agent.wire.messages.readings import Reading

try:
    import resource
except ImportError:  # Windows has none
    resource = None

_UNIT: Final = "bytes"


def read_host(proc: Path = PROC) -> tuple[Reading, Reading]:
    """Available memory of this host without swap, and its free swap, bytes; about 10 us."""
    if sys.platform != "linux":
        why = "free swap is available only on Linux"
        return _available_by_psutil(), Reading.missing(_UNIT, why)
    path = f"{proc}/meminfo"
    try:
        available, free = read_sizes(path, "MemAvailable", "SwapFree")
    except FAILURES as exc:
        why = f"free swap cannot be read: {exc}"
        return _available_by_psutil(), Reading.missing(_UNIT, why)
    return (
        _available_by_psutil() if available is None else Reading(float(available), _UNIT, _HOST),
        Reading.missing(_UNIT, f"{path} has no SwapFree")
        if free is None
        else Reading(float(free), _UNIT, f"host: {path} SwapFree"),
    )


def _available_by_psutil() -> Reading:
    try:
        return Reading(float(psutil.virtual_memory().available), _UNIT, _HOST)
    except FAILURES as exc:
        return Reading.missing(_UNIT, f"the host's memory cannot be read: {exc}")


_HOST: Final = "host: available memory"


def read_address_space_left(used_bytes: int | None) -> Reading:
    """Remainder of the limit on this process's address space (`ulimit -v`), bytes.

    Args:
        used_bytes: Address space that is used; None: unknown.
    """
    if resource is None or used_bytes is None:
        return Reading.missing(_UNIT, "this system does not report how much address space is used")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return Reading.missing(_UNIT, "the process's address space has no limit")
    return Reading(
        float(max(0, limit - used_bytes)),
        _UNIT,
        "process: RLIMIT_AS less the address space in use",
    )


def nearest_bound(
    host: Reading, swap: Reading, cgroup: Reading, address_space: Reading
) -> Reading:
    """Memory that is still available, with the nearest bound as its source.

    Args:
        host: Available memory of the host without swap.
        cgroup: Remainder of the control group's limit.
        address_space: Remainder of the limit on address space.
    """
    bounds = [*_host(host, swap), *(each for each in (cgroup, address_space) if not each.absent)]
    known = [each for each in bounds if each.value is not None]
    if not known:
        return Reading.missing(_UNIT, host.absent or "the remaining memory is unknown")
    return min(known, key=lambda each: each.value or 0.0)


def _host(host: Reading, swap: Reading) -> Iterator[Reading]:
    if host.value is None:
        return
    with_swap = "; and free swap" if swap.value else ""
    yield Reading(host.value + (swap.value or 0.0), _UNIT, f"{host.source}{with_swap}")


def what_can_be_had(held: Reading, left: Reading) -> Reading:
    """The whole that a percentage of RAM refers to: held plus available memory.

    Args:
        held: The metric `ram`.
        left: Memory that is still available.
    """
    if held.value is None or left.value is None:
        return Reading.missing(_UNIT, left.absent or held.absent)
    return Reading(
        held.value + left.value, _UNIT, f"memory in use plus memory left: {left.source}"
    )
