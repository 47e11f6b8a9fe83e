# pyright: basic
"""PyTorch's own allocator of the device that Keras uses: bytes in use, peak and limit."""

from typing import Any, Final

from kmonitor_agent.frameworks.base import AllocatorReadings
from kmonitor_agent.frameworks.torch.graphs import torch_module
from kmonitor_agent.wire.messages.readings import Reading

_IN_USE: Final = "allocated_bytes.all.current"
_PEAK: Final = "allocated_bytes.all.peak"
_UNREADABLE: Final = (AttributeError, AssertionError, RuntimeError, TypeError, ValueError)


class TorchAllocator:
    """Reads the allocator; from any thread, some ten microseconds."""

    def __init__(self, device: str) -> None:
        """Args: `device`: As Keras names it where the model is made: "cpu", "cuda", "cuda:1"."""
        self._kind, _, index = device.partition(":")
        self._index = int(index) if index.isdigit() else None

    def read(self) -> AllocatorReadings:
        """In use, peak and limit; absent with the reason where the device does not report."""
        if self._kind != "cuda":
            name = self._kind.upper()
            return AllocatorReadings.missing(
                f"{name}:{self._index or 0}", f"PyTorch does not report the memory of {name}"
            )
        cuda = getattr(torch_module(), "cuda", None)
        try:
            if cuda is None or not cuda.is_initialized():
                # Asking would start the device.
                return AllocatorReadings.missing("", "PyTorch has not initialized the GPU yet")
            return self._read(cuda)
        except _UNREADABLE as exc:
            return AllocatorReadings.missing(
                "", f"PyTorch's allocator cannot be read: {exc}"[:300]
            )

    def _read(self, cuda: Any) -> AllocatorReadings:
        if self._index is None:
            self._index = int(cuda.current_device())
        name = f"GPU:{self._index}"
        stats = cuda.memory_stats(self._index)
        source = f"torch allocator, {name}"
        return AllocatorReadings(
            device=name,
            # Nothing was allocated yet where it has no such entry.
            in_use=Reading(float(stats.get(_IN_USE, 0)), "bytes", f"{source} in use"),
            peak=Reading(float(stats.get(_PEAK, 0)), "bytes", f"{source} peak"),
            limit=_limit(cuda, self._index),
        )


def _limit(cuda: Any, index: int) -> Reading:
    fraction = getattr(cuda, "get_per_process_memory_fraction", None)
    share = 1.0 if fraction is None else float(fraction(index))
    if share >= 1.0:
        return Reading.missing(
            "bytes", f"the script set no memory limit in PyTorch for GPU:{index}"
        )
    total = float(cuda.get_device_properties(index).total_memory)
    return Reading(
        share * total,
        "bytes",
        f"torch: memory fraction for GPU:{index} set by the script, {share:.0%}",
    )
