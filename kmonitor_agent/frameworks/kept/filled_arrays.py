# pyright: basic
"""Arrays of NumPy that a script created as long as they will get, and fills row by row.

The kernel gives memory to a page of `np.zeros((14_400, 1024))` when it is first written, so that
memory rises as a replay buffer fills, up to the size of the array. Which pages have memory is in
pagemap; long arrays are read in samples.

Source: https://docs.kernel.org/admin-guide/mm/pagemap.html: bits 63 (present) and 62 (swapped) of
8 bytes for each page, little-endian.
"""

import os
import sys
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import instance_dict, own_attributes

ROWS: Final = "rows"
"""Container of an array whose rows are counted."""

_PAGEMAP: Final = "/proc/self/pagemap"
_ENTRY_BYTES: Final = 8
_WITHOUT_MEMORY: Final = bytes(range(0x40))
"""Last bytes of the entries of pages that are neither in RAM nor swapped out."""

_LEAST_BYTES: Final = 4 * 2**20
"""Smallest size of an array whose pages are counted."""

_PAGES: Final = 1024
_SAMPLES: Final = 64
"""Number of pages in a sample, and most samples of an array; 1 ms for all of them."""

_WHOLE: Final = 0.99
"""Part of the pages from which an array is filled: its first and last page are shared."""


@dataclass(frozen=True, slots=True)
class FilledRows:
    """Rows of an array that have memory.

    Attributes:
        count: Number of rows with memory, estimated from their pages.
        capacity: Number of rows.
        n_bytes: Memory of the array's pages, bytes.
    """

    count: int
    capacity: int
    n_bytes: int


def filled_rows(value: Any, *, is_known: bool) -> FilledRows | None:
    """Rows of an array that have memory, if others have none as yet; else None.

    Args:
        is_known: True if some had none before: then all of them may be filled by now.
    """
    numpy: Any = sys.modules.get("numpy")
    kind = instance_dict(numpy).get("ndarray")
    if kind is None or type(value) is not kind:
        return None
    fields = own_attributes(kind)
    n_bytes = fields["nbytes"].__get__(value)
    shape = fields["shape"].__get__(value)
    is_own = fields["base"].__get__(value) is None and value.flags.c_contiguous
    if n_bytes < _LEAST_BYTES or not is_own:
        return None
    address = fields["__array_interface__"].__get__(value)["data"][0]
    part = _part_with_memory(address, n_bytes)
    if part is None or (part >= _WHOLE and not is_known):
        return None
    part = 1.0 if part >= _WHOLE else part
    return FilledRows(round(part * shape[0]), shape[0], round(part * n_bytes))


def _part_with_memory(address: int, n_bytes: int) -> float | None:
    """Part of the pages at an address that have memory; None where pagemap cannot be read."""
    page = os.sysconf("SC_PAGE_SIZE")
    first = -(-address // page)
    n_pages = (address + n_bytes) // page - first
    stride = max(_PAGES, n_pages // _SAMPLES)
    found = read = 0
    try:
        number = os.open(_PAGEMAP, os.O_RDONLY)
    except OSError:
        return None
    try:
        for at in range(first, first + n_pages, stride):
            n = min(_PAGES, first + n_pages - at)
            last = os.pread(number, n * _ENTRY_BYTES, at * _ENTRY_BYTES)[
                _ENTRY_BYTES - 1 :: _ENTRY_BYTES
            ]
            found += len(last.translate(None, _WITHOUT_MEMORY))
            read += len(last)
    except OSError:
        return None
    finally:
        os.close(number)
    return found / read if read else None
