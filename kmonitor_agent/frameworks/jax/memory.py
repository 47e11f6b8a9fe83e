# pyright: basic
"""The allocator of JAX' default device: bytes in use, peak and limit."""

from typing import Any

from kmonitor_agent.frameworks.base import AllocatorReadings
from kmonitor_agent.frameworks.jax.programs import JaxInternals
from kmonitor_agent.wire.messages.readings import Reading

_NAMES = {"cuda": "GPU", "rocm": "GPU", "gpu": "GPU"}
"""Platforms by the word that every framework's readings use."""


class JaxAllocator:
    """Reads the allocator; from any thread, microseconds."""

    def __init__(self, internals: JaxInternals) -> None:
        self._internals = internals

    def read(self) -> AllocatorReadings:
        """In use, peak and limit; absent with the reason where the device does not report."""
        if not self._internals.has_started():
            # Asking would start the devices, after which a script could not choose them.
            return AllocatorReadings.missing("", "JAX has not initialized its devices yet")
        name = ""
        try:
            device = self._internals.device()
            name = _device_name(device)
            stats = device.memory_stats()
        except (AttributeError, IndexError, RuntimeError, NotImplementedError) as exc:
            return AllocatorReadings.missing(name, f"JAX's allocator cannot be read: {exc}"[:300])
        if not stats:
            return AllocatorReadings.missing(name, f"JAX does not report the memory of {name}")
        source = f"jax allocator, {name}"
        return AllocatorReadings(
            device=name,
            in_use=_reading(stats, "bytes_in_use", f"{source} in use"),
            peak=_reading(stats, "peak_bytes_in_use", f"{source} peak"),
            limit=_reading(stats, "bytes_limit", f"{source} limit"),
        )


def _device_name(device: Any) -> str:
    platform = str(device.platform)
    return f"{_NAMES.get(platform, platform.upper())}:{device.id}"


def _reading(stats: Any, name: str, source: str) -> Reading:
    value = stats.get(name)
    if value is None:
        return Reading.missing("bytes", f"{source}: JAX does not report it")
    return Reading(float(value), "bytes", source)
