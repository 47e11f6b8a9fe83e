"""What Python and malloc have handed out: three counts, cheap enough for each epoch's end."""

import ctypes
import sys
from typing import Any, Final

from kmonitor_agent.wire.messages.reading import Reading

_FIELDS: Final = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
    *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
)
_OTHERS: Final = {"mallctl": "jemalloc", "tc_malloc": "tcmalloc", "mi_malloc": "mimalloc"}
"""A name by which an allocator that stands in for the C library's is known."""

BLOCKS: Final = "python_blocks"
IN_USE: Final = "malloc_bytes"
FREE: Final = "malloc_free_bytes"


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


class Heap:
    """Reads the counts; from any thread.

    Attributes:
        newest: The last readings by the name of their field in `EpochEnded`; empty at first.

    Source: measured in a training with two million blocks: 66 us for Python's, 14 us for malloc's.
    """

    def __init__(self) -> None:
        self.newest: dict[str, Reading] = {}
        self._mallinfo, self._why_not = _find_mallinfo()

    def read(self) -> dict[str, Reading]:
        """Read them now, keep them as the newest, and give their values by field name."""
        blocks = float(sys.getallocatedblocks())
        found = {BLOCKS: Reading(blocks, "1", "python: sys.getallocatedblocks")}
        if self._mallinfo is None:
            found |= {name: Reading.missing("bytes", self._why_not) for name in (IN_USE, FREE)}
        else:
            info = self._mallinfo()
            in_use = float(info.uordblks + info.hblkhd)
            found[IN_USE] = Reading(in_use, "bytes", "C library: mallinfo2, in use")
            found[FREE] = Reading(float(info.fordblks), "bytes", "C library: mallinfo2, free")
        self.newest = found
        return found


def _find_mallinfo() -> tuple[Any, str]:
    """The C library's function and an empty text, or None and why there is none."""
    if sys.platform == "win32":
        return None, "this C library does not count what malloc handed out"
    try:
        library = ctypes.CDLL(None)
    except OSError as exc:
        return None, f"the C library cannot be asked: {exc}"
    other = next((name for key, name in _OTHERS.items() if hasattr(library, key)), "")
    if other:
        return None, f"{other} stands in for the C library's malloc"
    if not hasattr(library, "mallinfo2"):
        return None, "this C library does not count what malloc handed out (no mallinfo2)"
    function = library.mallinfo2
    function.restype = _Mallinfo
    function.argtypes = ()
    return function, ""
