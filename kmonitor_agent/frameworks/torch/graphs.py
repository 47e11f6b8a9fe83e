# pyright: basic
"""Graphs on PyTorch, which `torch.compile` captures, and the memory that PyTorch can give back.

By default Keras runs without a graph. PyTorch counts graphs from the process's start, upwards.
"""

import sys
from typing import Any, Final

from kmonitor_agent.frameworks.base import GraphCount, missing_name_text
from kmonitor_agent.wire.messages.events import FunctionTraces
from kmonitor_agent.wire.messages.readings import Reading

SOURCE: Final = "torch.compile: calls captured since the start or the last reload"

_EAGER: Final = (
    "Keras on PyTorch runs its steps without a graph; compile(jit_compile=True) creates graphs"
)


class TorchGraphs:
    """Counts captured graphs; `count` belongs to the training thread, `number` to any.

    Counts are relative to the time when all graphs were dropped.
    """

    def __init__(self) -> None:
        self._dropped = {"graphs": 0, "calls": 0}

    def count(self) -> GraphCount:
        """Captured graphs and the calls in them now; microseconds."""
        counts, why = self._counts_since_reload()
        if why:
            return GraphCount(operations=None, absent=why)
        calls = counts["calls"]
        graphs = counts["graphs"]
        compiled = FunctionTraces(name="torch.compile", traces=graphs, operations=calls)
        return GraphCount(
            operations=calls,
            traces=graphs,
            functions=graphs,
            by_function=(compiled,),
            source=SOURCE,
        )

    def number(self) -> Reading:
        """Captured graphs; any thread."""
        counts, why = self._counts_since_reload()
        if why:
            return Reading.missing("functions", why)
        source = "torch.compile: graphs captured since the start or the last reload"
        return Reading(float(counts["graphs"]), "functions", source)

    def why_unreadable(self) -> str:
        """Reason why this PyTorch cannot be read at all; empty if it can, also without graphs."""
        return _captured_counts()[1]

    def all_dropped(self) -> None:
        """Note that all graphs were released."""
        self._dropped = _captured_counts()[0]

    def _counts_since_reload(self) -> tuple[dict[str, int], str]:
        counts, why = _captured_counts()
        dropped = self._dropped
        remaining = {name: max(0, number - dropped[name]) for name, number in counts.items()}
        if not why and not counts["graphs"]:
            why = _EAGER
        return remaining, why


def _captured_counts() -> tuple[dict[str, int], str]:
    """Graphs and calls captured since the process began; and why they are unknown, else ""."""
    if _dynamo() is None:
        return {"graphs": 0, "calls": 0}, ""
    try:
        stats = sys.modules["torch._dynamo.utils"].counters["stats"]  # pyright: ignore[reportAttributeAccessIssue]
        # `get`: these are defaultdicts, which reading by key would fill.
        return {
            "graphs": int(stats.get("unique_graphs", 0)),
            "calls": int(stats.get("calls_captured", 0)),
        }, ""
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        return {"graphs": 0, "calls": 0}, missing_name_text("PyTorch", exc)[:300]


def reset_dynamo() -> str:
    """Release everything that `torch.compile` has compiled.

    Return why it was not done, else "".
    """
    module = _dynamo()
    if module is None:
        return ""
    reset = getattr(module, "reset", None)
    if reset is None:
        missing = missing_name_text("PyTorch", "torch._dynamo.reset")
        return f"compiled functions not dropped: {missing}"
    reset()
    return ""


def _dynamo() -> Any:
    """Compiler of `torch.compile`; None if it was not imported."""
    return sys.modules.get("torch._dynamo")


def empty_device_caches() -> None:
    """Give the memory that the devices' allocators hold but do not use back to the devices."""
    torch = torch_module()
    for name in ("cuda", "xpu", "mps"):
        device = getattr(torch, name, None)
        empty = getattr(device, "empty_cache", None)
        if empty is not None and _has_started(device):
            empty()


def _has_started(device: Any) -> bool:
    # A query would start one that has not started. MPS has no such state.
    started = getattr(device, "is_initialized", None) or getattr(device, "is_available", None)
    return bool(started()) if callable(started) else False


def torch_module() -> Any:
    """PyTorch, which Keras has imported."""
    return sys.modules["torch"]
