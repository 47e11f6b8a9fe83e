# pyright: basic
"""PyTorch's names that the agent reads, each looked up when it is used; each may be missing."""

import sys
from typing import Any

from kmonitor_agent.frameworks.missing_names import lacking


def torch_module() -> Any:
    """PyTorch, which Keras has imported."""
    return sys.modules["torch"]


def dynamo() -> Any:
    """What compiles for `torch.compile`; None where it was not imported."""
    return sys.modules.get("torch._dynamo")


def dynamo_counts() -> dict[str, int]:
    """Graphs and calls that `torch.compile` has captured since the process began.

    Raises:
        AttributeError: This PyTorch counts elsewhere.
        TypeError: It counts otherwise.
    """
    if dynamo() is None:
        return {"graphs": 0, "calls": 0}
    stats = sys.modules["torch._dynamo.utils"].counters["stats"]  # pyright: ignore[reportAttributeAccessIssue]
    # `get`: these are defaultdicts, which asking would fill.
    return {
        "graphs": int(stats.get("unique_graphs", 0)),
        "calls": int(stats.get("calls_captured", 0)),
    }


def reset_dynamo() -> str:
    """Let go of everything that `torch.compile` has compiled; why not, else empty."""
    module = dynamo()
    if module is None:
        return ""
    reset = getattr(module, "reset", None)
    if reset is None:
        return f"compiled functions not dropped: {lacking('PyTorch', 'torch._dynamo.reset')}"
    reset()
    return ""


def empty_device_caches() -> None:
    """Give the memory that the devices' allocators hold but do not use back to the devices."""
    torch = torch_module()
    for name in ("cuda", "xpu", "mps"):
        device = getattr(torch, name, None)
        empty = getattr(device, "empty_cache", None)
        if empty is not None and _has_started(device):
            empty()


def _has_started(device: Any) -> bool:
    # Asking one that has not started would start it. MPS has no such state.
    started = getattr(device, "is_initialized", None) or getattr(device, "is_available", None)
    return bool(started()) if callable(started) else False
