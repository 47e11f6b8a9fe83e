# pyright: basic
"""Arrays of NumPy that a script created as long as they will get, and fills row by row.

The kernel gives memory to a page of `np.zeros((14_400, 1024))` when it is first written, so that
memory rises as a replay buffer fills, up to the size of the array. Which pages have memory is in
pagemap; long arrays are read in samples.

Source: https://docs.kernel.org/admin-guide/mm/pagemap.html: bits 63 (present) and 62 (swapped) of
8 bytes for each page, little-endian.

Pages of a memory map that was opened copy-on-write (`np.load(path, mmap_mode="c")`) are those of
its file, which take no memory, until they are written to.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import (
    instance_dict,
    is_exactly,
    is_instance,
    own_attributes,
)

ROWS: Final = "rows"
"""Container of an array whose rows are counted."""

_PAGEMAP: Final = "/proc/self/pagemap"
_ENTRY_BYTES: Final = 8
_WITHOUT_MEMORY: Final = bytes(range(0x40))
"""Last bytes of the entries of pages that are neither in RAM nor swapped out."""

_OF_FILE: Final = bytes([*_WITHOUT_MEMORY, *range(0xA0, 0xC0)])
"""The same with those of pages in RAM that are those of a file (bit 61)."""

_LEAST_BYTES: Final = 4 * 2**20
"""Smallest size of an array whose pages are counted."""

_MOST_PAGES: Final = 2**16
"""Maximum number of pages that are read; 1 ms for all of them."""

_PAGES: Final = 1024
_PAGES_OF_MORE: Final = 64
"""Number of pages read at once: of arrays with at most as many, and in each sample of longer ones.
"""

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
    part = _part_with_memory(address, n_bytes, _WITHOUT_MEMORY)
    if part is None or (part >= _WHOLE and not is_known):
        return None
    part = 1.0 if part >= _WHOLE else part
    return FilledRows(round(part * shape[0]), shape[0], round(part * n_bytes))


@dataclass(frozen=True, slots=True)
class CopiedPages:
    """Pages of a memory map opened copy-on-write that were written to.

    Attributes:
        file: Name of the file, without its folder; empty if unknown.
        count: Number of pages.
        n_bytes: Memory of these pages, bytes.
    """

    file: str
    count: int
    n_bytes: int


def copied_pages(value: Any) -> CopiedPages | None:
    """Copied pages of a memory map; None where they cannot be read.

    Args:
        value: An array of `numpy.memmap`, or a view of one.
    """
    kind: Any = sys.modules["numpy"].ndarray
    fields = own_attributes(kind)
    while is_instance(base := fields["base"].__get__(value), kind):
        value = base
    n_bytes = fields["nbytes"].__get__(value)
    address = fields["__array_interface__"].__get__(value)["data"][0]
    part = _part_with_memory(address, n_bytes, _OF_FILE)
    if part is None:
        return None
    path: Any = instance_dict(value).get("filename")
    file = Path(path).name if is_exactly(path, str, type(Path())) else ""
    n_pages = round(part * n_bytes / os.sysconf("SC_PAGE_SIZE"))
    return CopiedPages(file, n_pages, round(part * n_bytes))


def _part_with_memory(address: int, n_bytes: int, without: bytes) -> float | None:
    """Part of the pages at an address that have memory; None where pagemap cannot be read.

    Args:
        without: Last bytes of the entries of pages that have none.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    first = -(-address // page)
    n_pages = (address + n_bytes) // page - first
    most = _PAGES if n_pages <= _MOST_PAGES else _PAGES_OF_MORE
    stride = max(most, most * n_pages // _MOST_PAGES)
    found = read = 0
    try:
        number = os.open(_PAGEMAP, os.O_RDONLY)
    except OSError:
        return None
    try:
        for at in range(first, first + n_pages, stride):
            n = min(most, first + n_pages - at)
            last = os.pread(number, n * _ENTRY_BYTES, at * _ENTRY_BYTES)[
                _ENTRY_BYTES - 1 :: _ENTRY_BYTES
            ]
            found += len(last.translate(None, without))
            read += len(last)
    except OSError:
        return None
    finally:
        os.close(number)
    return found / read if read else None
