# pyright: basic
"""TensorFlow's own allocator: bytes in use and peak, of the first GPU, else of the CPU device."""

import sys
from typing import Any

from kmonitor_agent.frameworks.base import AllocatorReadings
from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals
from kmonitor_agent.wire.messages.reading import Reading

_CPU_SEES = " (tensors of 256 KiB and more)"
"""The CPU device's meter is blind below that size: a small model reads 0.

Source: measured with tensorflow-cpu 2.21 by allocating tensors of rising size."""

_MIB = 1024 * 1024
"""Unit of `tf.config.LogicalDeviceConfiguration.memory_limit`, bytes."""

_NOT_STARTED = "TensorFlow has not started its devices yet"


class TensorFlowAllocator:
    """Reads the allocator; from any thread, microseconds once the device is known."""

    def __init__(self, internals: TensorFlowInternals) -> None:
        self._internals = internals
        self._device = ""
        self._limit = Reading.missing("bytes", _NOT_STARTED)

    def read(self) -> AllocatorReadings:
        """In use, peak and limit; absent with the reason before TensorFlow has started."""
        tf = sys.modules.get("tensorflow")
        if tf is None or not self._has_started():
            # Asking would start the devices, after which a script could not configure them.
            return _absent("", _NOT_STARTED)
        try:
            self._device = self._device or self._find_device(tf)
            info = tf.config.experimental.get_memory_info(self._device)
        except (AttributeError, ValueError, RuntimeError, KeyError) as exc:
            return _absent(self._device, f"TensorFlow's allocator cannot be read: {exc}"[:300])
        source = f"tensorflow allocator, {self._device}"
        sees = _CPU_SEES if self._device.startswith("CPU") else ""
        return AllocatorReadings(
            device=self._device,
            in_use=Reading(float(info["current"]), "bytes", f"{source} in use{sees}"),
            peak=Reading(float(info["peak"]), "bytes", f"{source} peak{sees}"),
            limit=self._limit,
        )

    def _has_started(self) -> bool:
        if self._internals.eager_context is None:
            return True
        context = self._internals.eager_context()
        return context is not None and bool(getattr(context, "_initialized", True))

    def _find_device(self, tf: Any) -> str:
        if not tf.config.list_logical_devices("GPU"):
            self._limit = Reading.missing("bytes", "the CPU device's allocator has no limit")
            return "CPU:0"
        self._limit = _gpu_limit(tf)
        return "GPU:0"


def _gpu_limit(tf: Any) -> Reading:
    # `device_lib` would tell the limit that TensorFlow chose, but makes all devices once more for
    # it, with TensorFlow's messages about them in the script's output.
    try:
        visible = tf.config.get_visible_devices("GPU")
        logical = tf.config.get_logical_device_configuration(visible[0]) or ()
        given_mib = [device.memory_limit for device in logical][:1]
    except (AttributeError, IndexError, ValueError, RuntimeError) as exc:
        return Reading.missing("bytes", f"TensorFlow does not tell the limit: {exc}"[:300])
    if not given_mib or given_mib[0] is None:
        return Reading.missing("bytes", "the script gave TensorFlow no memory limit for GPU:0")
    source = "tensorflow: memory limit of GPU:0 that the script set"
    return Reading(float(given_mib[0]) * _MIB, "bytes", source)


def _absent(device: str, why: str) -> AllocatorReadings:
    missing = Reading.missing("bytes", why)
    return AllocatorReadings(device=device, in_use=missing, peak=missing, limit=missing)
