"""What the system does at a signal: Python's calls forget its flags and handlers of libraries."""

import ctypes
import functools
from typing import Any, Final

_BYTES: Final = 512  # of a `struct sigaction`, 152 with glibc; its handler comes first


def action_of(number: int) -> bytes | None:
    """All that is set for a signal; None where that cannot be read."""
    found = ctypes.create_string_buffer(_BYTES)
    call = _sigaction()
    if call is None or call(number, None, found) != 0:
        return None
    return found.raw


def set_action(number: int, action: bytes | None) -> None:
    """Set what was read; None changes nothing."""
    call = _sigaction()
    if call is not None and action is not None:
        call(number, ctypes.create_string_buffer(action, _BYTES), None)


def is_same_handler(one: bytes | None, other: bytes | None) -> bool:
    """Whether both lead to one function; taken for granted where it cannot be read."""
    width = ctypes.sizeof(ctypes.c_void_p)
    return one is None or other is None or one[:width] == other[:width]


@functools.cache
def _sigaction() -> Any:
    call = getattr(ctypes.PyDLL(None), "sigaction", None)  # Windows has none
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
    return call
