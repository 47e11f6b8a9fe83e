# pyright: basic
"""Memory of TensorFlow: its allocator's readings, and tensors on the CPU without a copy.

The allocator is that of the first GPU, else of the CPU device. A tensor on the CPU can be seen as
a numpy array in the same memory; `TensorMemory` fills tensors in that way.
"""

import ctypes
import sys
from typing import Any, Final

from kmonitor_agent.frameworks.base import AllocatorReadings
from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals
from kmonitor_agent.wire.messages.readings import Reading

_CPU_SEES = " (tensors of 256 KiB or more)"
"""The CPU device's meter is blind below that size: a small model reads 0.

Source: measured with tensorflow-cpu 2.21 by allocating tensors of rising size."""

_MIB = 1024 * 1024
"""Unit of `tf.config.LogicalDeviceConfiguration.memory_limit`, bytes."""

_NOT_STARTED = "TensorFlow has not initialized its devices yet"


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
            return AllocatorReadings.missing("", _NOT_STARTED)
        try:
            self._device = self._device or self._find_device(tf)
            info = tf.config.experimental.get_memory_info(self._device)
        except (AttributeError, ValueError, RuntimeError, KeyError) as exc:
            return AllocatorReadings.missing(
                self._device, f"TensorFlow's allocator cannot be read: {exc}"[:300]
            )
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
    # `device_lib` knows the limit that TensorFlow chose, but makes all devices once more for it,
    # with TensorFlow's messages about them in the script's output.
    try:
        visible = tf.config.get_visible_devices("GPU")
        logical = tf.config.get_logical_device_configuration(visible[0]) or ()
        limits_mib = [device.memory_limit for device in logical][:1]
    except (AttributeError, IndexError, ValueError, RuntimeError) as exc:
        return Reading.missing("bytes", f"TensorFlow does not report the limit: {exc}"[:300])
    if not limits_mib or limits_mib[0] is None:
        return Reading.missing("bytes", "the script set no memory limit in TensorFlow for GPU:0")
    source = "tensorflow: memory limit for GPU:0 set by the script"
    return Reading(float(limits_mib[0]) * _MIB, "bytes", source)


_ON_CPU: Final = "device:CPU:"


class TensorMemory:
    """Tensors that are created empty, filled through an array, and then used by a variable."""

    def __init__(self) -> None:
        """Start closed: tensors created among those that they replace would fragment memory."""
        self._tensors: dict[int, Any] = {}
        self.is_open = False

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array to be filled, in a new tensor's memory; in numpy's if closed or impossible.

        The array is valid until the tensor from `pop_tensor` is gone.
        """
        tf = sys.modules["tensorflow"]
        np = sys.modules["numpy"]
        if not self.is_open:
            return np.empty(shape, dtype)
        try:
            with tf.init_scope(), tf.device("CPU:0"):
                tensor = tf.raw_ops.Empty(shape=shape, dtype=tf.as_dtype(dtype), init=False)
                seen = np.asarray(tensor)
        except _unsupported_dtype_errors():
            return np.empty(shape, dtype)
        if not is_same_memory(seen, np.asarray(tensor)):
            return np.empty(shape, dtype)
        address = _address(seen)
        self._tensors[address] = tensor
        # The array of TensorFlow is read-only; nothing else refers to this tensor yet.
        memory = (ctypes.c_char * seen.nbytes).from_address(address)
        return np.ndarray(shape, dtype, buffer=memory)

    def pop_tensor(self, value: Any) -> Any | None:
        """The tensor in whose memory an array of `empty` is, once; None for any other array."""
        return self._tensors.pop(_address(value), None)


def copy_into_allocator(value: Any) -> Any:
    """An array's values in memory that TensorFlow's allocator counts; itself where that fails."""
    tf = sys.modules["tensorflow"]
    try:
        return tf.raw_ops.DeepCopy(x=value)
    except _unsupported_dtype_errors():
        return value


def _unsupported_dtype_errors() -> tuple[type[Exception], ...]:
    # An operation raises these for a dtype that it does not support; many lack float8.
    errors = sys.modules["tensorflow"].errors
    return (errors.InvalidArgumentError, errors.NotFoundError, errors.UnimplementedError)


def cpu_in_use_bytes() -> int | None:
    """Bytes of tensors on the CPU, small ones not counted; None if they are unknown."""
    try:
        return sys.modules["tensorflow"].config.experimental.get_memory_info("CPU:0")["current"]
    except (AttributeError, KeyError, RuntimeError, ValueError):
        return None


def is_on_cpu(device: str) -> bool:
    """True if a tensor on this device of TensorFlow is in the process's own memory."""
    return _ON_CPU in device


def is_same_memory(one: Any, other: Any) -> bool:
    """True if two living arrays are the same values in the same memory."""
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and (not one.nbytes or _address(one) == _address(other))


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]
