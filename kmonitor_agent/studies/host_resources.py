"""Resources of this host for folds: memory and devices."""

import os
from collections.abc import Mapping
from typing import Any, Final

import psutil

from kmonitor_agent.wire.limits import Limit
from kmonitor_agent.wire.local.control_groups import cgroup_limit

GPU_VARIABLE: Final = "CUDA_VISIBLE_DEVICES"
"""Environment variable that names the GPUs that a process may use."""


def parse_memory_bound(memory: str | float | None) -> int | None:
    """Maximum memory of one fold, bytes; None: bounded only by the reserve of the host.

    Args:
        memory: "4 GiB", "40%" of this host's or the container's memory, or a number of bytes.

    Raises:
        ValueError: The value is not valid.
        TypeError: The value is neither a string nor a number.
    """
    if memory is None:
        return None
    try:
        spec = Limit("ram", memory).spec
    except (ValueError, TypeError) as exc:
        reason = str(exc).removeprefix("Limit: ")
        raise type(exc)(f"run_folds: memory={memory!r}: {reason}") from None
    if spec.fraction is not None:
        return int(spec.fraction * total_memory_bytes())
    return None if spec.value is None else int(spec.value)


def total_memory_bytes() -> float:
    """Total memory, bytes: the host's, or the limit of this control group if that is smaller."""
    host = float(psutil.virtual_memory().total)
    group = cgroup_limit().value
    return host if group is None else min(host, group)


def available_memory_bytes() -> float:
    return float(psutil.virtual_memory().available)


def visible_gpus(environ: Mapping[str, str] | None = None) -> list[str]:
    """NVIDIA GPUs that this process may use, as in CUDA_VISIBLE_DEVICES.

    Args:
        environ: The environment; None: the process's own.
    """
    visible = (os.environ if environ is None else environ).get(GPU_VARIABLE)
    if visible is not None:
        names: list[str] = []
        for name in (each.strip() for each in visible.split(",")):
            if name in {"", "-1", "NoDevFiles"}:
                break
            names.append(name)
        return names
    try:
        import pynvml  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return []
    nvml: Any = pynvml
    try:
        nvml.nvmlInit()
        return [str(number) for number in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError:
        return []
