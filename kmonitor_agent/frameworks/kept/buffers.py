# pyright: basic
"""Memory of texts, bytes, images and the like, read without running code of the script."""

import errno
import gc
import io
import math
from collections.abc import Callable
from types import MethodDescriptorType
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import (
    class_attribute,
    class_bases,
    class_module,
    class_name,
    instance_dict,
    is_exactly,
    is_known_class,
    is_known_module,
    is_made_at_runtime,
    own_attributes,
)


def is_native(kind: type) -> bool:
    """True for a class of a library's compiled code: nobody knows what its objects hold.

    Classes of Python and of the frameworks do not count, and neither do functions.
    """
    is_function = class_attribute(kind, "__get__") is not None
    if is_function or is_known_module(class_module(kind)):
        return False
    if not is_made_at_runtime(kind):
        return True
    return any(class_module(base) == _PYBIND for base in class_bases(kind)) or any(
        type(each) is MethodDescriptorType and each.__objclass__ is kind
        for each in list(own_attributes(kind).values())
    )


_PYBIND: Final = "pybind11_builtins"

_EMPTY_BYTES: Final = bytearray().__sizeof__()


_POINTER_BYTES: Final = 8
_NUMBER_BYTES: Final = 32
"""Size of a float or an int, whose 24 and 28 bytes Python rounds up to a multiple of 16."""

_SHARED_INTS: Final = range(-5, 257)


def bytes_of_number(value: Any) -> int:
    """Size of a number or None with the pointer to it, bytes; of one that exists once the latter.

    Args:
        value: An int, float, bool or None of Python's own class.
    """
    is_shared = not is_exactly(value, int, float) or (type(value) is int and value in _SHARED_INTS)
    return _POINTER_BYTES if is_shared else _POINTER_BYTES + _NUMBER_BYTES


_LITTLE_DATA: Final = 2**16
"""Size of data, bytes, from which the object that holds them is a small part."""

_OBJECT_BYTES: Final = {
    "numpy.ndarray": 140,
    "tensorflow.Tensor": 770,
    "torch.Tensor": 500,
    "jax.Array": 2300,
    "pandas.Series": 1400,
    "pandas.DataFrame": 3700,
}
"""Approximate size of an object beside its data, bytes, by kind.

Source: growth of the process with 5,000 to 40,000 of them, on CPython 3.11 with NumPy 2,
TensorFlow 2.21, PyTorch 2 and JAX on the CPU, and pandas 3.
"""


def bytes_with_object(n_bytes: int, kind: str) -> int:
    """Size of data with the object that holds them, bytes.

    Args:
        n_bytes: Size of the data.
        kind: Kind of the object, as in `ObjectSize`.
    """
    return n_bytes + _OBJECT_BYTES.get(kind, 0) if n_bytes < _LITTLE_DATA else n_bytes


def bytes_of_scalar(value: Any) -> int:
    """Size of a date, a number of NumPy or the like with the pointer to it, bytes.

    0 for an object that may refer to others, and for one of the script's classes.
    """
    if gc.is_tracked(value) or not is_known_class(type(value)):
        return 0
    return _POINTER_BYTES + -(-object.__sizeof__(value) // _UNIT_BYTES) * _UNIT_BYTES


_UNIT_BYTES: Final = 16
"""Python allocates multiples of these."""


def bytes_of_buffer(value: Any) -> int:
    """Size of a text or of bytes in memory, of Python's own classes, or of an image of Pillow.

    0 for anything else, and for an image that is not read from its file as yet.
    """
    kind: Any = type(value)
    if kind is bytearray:
        return _EMPTY_BYTES + len(value)  # it reserves up to an eighth more, and never uses it
    if is_exactly(value, str, bytes):
        return kind.__sizeof__(value)
    for base in class_bases(kind):
        named = class_module(base), class_name(base)
        if named == _IMAGE:
            return _pixels(instance_dict(value))
        read = _BUFFERS.get(named)
        if read is not None and is_known_class(base):
            return read(base, value)
    return 0


def _characters(base: Any, value: Any) -> int:
    """Characters of a `StringIO` up to its position, where a script writes.

    It takes a byte or more for each, and only a copy would show how many.
    """
    try:
        return base.tell(value)
    except ValueError:  # closed, or not initialized
        return 0


def _bytes_in_memory(base: Any, value: Any) -> int:
    """Bytes of a `BytesIO` up to its position, where a script writes, else all that it reserves.

    It reserves up to an eighth more, and never uses it. To ask for its length would copy it, or
    keep other threads from writing meanwhile.
    """
    reserved = base.__sizeof__(value)
    position = _characters(base, value)
    least = _LEAST_USED * (reserved - _EMPTY_BYTES_IO)
    return position if least <= position <= reserved else reserved


_EMPTY_BYTES_IO: Final = io.BytesIO().__sizeof__() + b"".__sizeof__() + 6
"""Size without bytes in it, with those that it reserves at least."""


_LEAST_USED: Final = 8 / 9
"""Smallest share of the bytes reserved that are used once a script wrote beyond those before.

Source: `resize_buffer` in CPython's Modules/_io/bytesio.c."""


def _anonymous(base: Any, value: Any) -> int:
    """Length of memory that `mmap` gave; 0 for pages of a file, which take none."""
    try:
        base.size(value)
    except OSError as exc:
        return base.__len__(value) if exc.errno == errno.EBADF else 0
    except ValueError:  # closed
        return 0
    return 0


_IMAGE: Final = ("PIL.Image", "Image")
_BYTES_PER_PIXEL: Final = {
    **dict.fromkeys(("1", "L", "P"), 1),
    **dict.fromkeys(("I;16", "I;16L", "I;16B", "I;16N", "BGR;15", "BGR;16"), 2),
}
_MOST_BYTES_PER_PIXEL: Final = 4
"""Size of a pixel in all other modes: Pillow keeps three channels as four, too.

Source: `ImagingNewPrologueSubtype` in Pillow's src/libImaging/Storage.c."""


def _pixels(fields: dict[str, Any]) -> int:
    """Size of an image by its attributes, some of which have other names before Pillow 11."""
    size, mode, pixels = (fields.get(f"_{name}", fields.get(name)) for name in _OF_IMAGE)
    if pixels is None or type(size) is not tuple or type(mode) is not str:
        return 0
    is_flat = len(size) == _N_AXES and all(type(each) is int for each in size)
    return math.prod(size) * _BYTES_PER_PIXEL.get(mode, _MOST_BYTES_PER_PIXEL) if is_flat else 0


_OF_IMAGE: Final = ("size", "mode", "im")
_N_AXES: Final = 2


_BUFFERS: Final[dict[tuple[str, str], Callable[[Any, Any], int]]] = {
    ("array", "array"): lambda base, value: base.__sizeof__(value),
    ("_io", "BytesIO"): _bytes_in_memory,
    ("_io", "StringIO"): _characters,
    ("mmap", "mmap"): _anonymous,
}
"""Sizes by modules and names of classes whose instances hold bytes or text."""
