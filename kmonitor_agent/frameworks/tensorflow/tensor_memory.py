# pyright: basic
"""Memory of TensorFlow's tensors on the CPU, seen as numpy arrays without a copy."""

import ctypes
import sys
from typing import Any, Final

_ON_CPU: Final = "device:CPU:"


class TensorMemory:
    """Tensors that are made empty, filled through an array, and then taken by a variable."""

    def __init__(self) -> None:
        """To be opened once what the tensors replace is gone: among it they would leave holes."""
        self._tensors: dict[int, Any] = {}
        self.is_open = False

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array to be filled: a new tensor's memory; numpy's if it is not open or cannot be.

        It is valid until the tensor that `take` gives is gone.
        """
        tf, np = sys.modules["tensorflow"], sys.modules["numpy"]
        if not self.is_open:
            return np.empty(shape, dtype)
        try:
            with tf.init_scope(), tf.device("CPU:0"):
                tensor = tf.raw_ops.Empty(shape=shape, dtype=tf.as_dtype(dtype), init=False)
                seen = np.asarray(tensor)
        except _unknown_here():
            return np.empty(shape, dtype)
        if not is_same_memory(seen, np.asarray(tensor)):
            return np.empty(shape, dtype)
        address = _address(seen)
        self._tensors[address] = tensor
        # What TensorFlow shows is read-only; nobody else has this tensor yet.
        memory = (ctypes.c_char * seen.nbytes).from_address(address)
        return np.ndarray(shape, dtype, buffer=memory)

    def take(self, value: Any) -> Any | None:
        """The tensor in whose memory an array of `empty` is, once; None for any other array."""
        return self._tensors.pop(_address(value), None)


def counted(value: Any) -> Any:
    """An array's values in memory that TensorFlow's allocator counts; itself where that fails."""
    tf = sys.modules["tensorflow"]
    try:
        return tf.raw_ops.DeepCopy(x=value)
    except _unknown_here():
        return value


def _unknown_here() -> tuple[type[Exception], ...]:
    # What an operation raises of a dtype that it was not made for: float8, for many.
    errors = sys.modules["tensorflow"].errors
    return (errors.InvalidArgumentError, errors.NotFoundError, errors.UnimplementedError)


def in_use_bytes() -> int | None:
    """What tensors on the CPU take, small ones not counted; None if TensorFlow does not tell."""
    try:
        return sys.modules["tensorflow"].config.experimental.get_memory_info("CPU:0")["current"]
    except (AttributeError, KeyError, RuntimeError, ValueError):
        return None


def is_on_cpu(device: str) -> bool:
    """Whether a tensor on this device of TensorFlow is in the process's own memory."""
    return _ON_CPU in device


def is_same_memory(one: Any, other: Any) -> bool:
    """Whether two living arrays are the same values in the same place."""
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and (not one.nbytes or _address(one) == _address(other))


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]
