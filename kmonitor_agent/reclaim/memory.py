"""The process's memory: how much is resident, and giving free pages back to the system."""

import ctypes
import gc
import sys

import psutil

from kmonitor_agent.frameworks.base import Framework, KerasModel
from kmonitor_agent.wire.messages.events import Footprint


def footprint(framework: Framework, model: KerasModel | None) -> Footprint:
    """Memory and graph size now; what cannot be read is None."""
    graph = framework.graph(model)
    has_functions = graph.operations is not None and framework.function_count().value is not None
    return Footprint(
        ram_process_bytes=resident_bytes(),
        allocator_in_use_bytes=framework.allocator().in_use.value,
        graph_operations=graph.operations,
        functions=graph.functions if has_functions else None,
        retained=graph.step_entries,
    )


def collect_garbage() -> None:
    """Free Python's unreachable objects, whatever the script set for its own collections."""
    gc.collect()


def give_pages_back() -> None:
    """Ask the C library to return free pages; only glibc can."""
    if sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
    if trim is not None:
        trim(0)


def resident_bytes() -> float | None:
    """Resident set of this process, bytes; None if it cannot be read."""
    try:
        return float(psutil.Process().memory_info().rss)
    except psutil.Error:
        return None
