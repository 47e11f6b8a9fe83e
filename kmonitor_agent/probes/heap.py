"""Memory from Python and malloc: counts for each epoch's end, growth by type and by line.

`HeapCounts` costs microseconds. `ObjectCounts` walks all objects and `AllocationTrace` traces
allocations (`tracemalloc`), both only for a diagnosis.
"""

import ctypes
import gc
import math
import os
import re
import sys
import sysconfig
import tracemalloc
from collections import Counter
from itertools import chain, islice
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.messages.events import AllocationGrowth, ObjectGrowth
from kmonitor_agent.wire.messages.readings import Reading

BLOCKS: Final = "python_blocks"

COLLECTIONS: Final = "full_collections"

FULL_AFTER: Final = "objects_to_full_collection"

IN_USE: Final = "malloc_bytes"

FREE: Final = "malloc_free_bytes"

LARGEST_FREE: Final = "malloc_largest_free_bytes"

ARENAS: Final = "malloc_arenas"


class HeapCounts:
    """Reads the counts; from any thread.

    Attributes:
        newest: Last readings by field of `EpochEnded`; empty at first.

    Source: measured in a training with two million blocks: 66 us for Python's. Malloc's take 85 us
    with 11 arenas, and 12 ms with 300 000 free blocks, each of which the C library walks.
    """

    def __init__(self) -> None:
        self.newest: dict[str, Reading] = {}
        self._malloc_info, self._why_not = _find_malloc_info()

    def read(self) -> dict[str, Reading]:
        """Read the counts now, keep them as `newest`, and return them by field name."""
        blocks = float(sys.getallocatedblocks())
        collections = float(gc.get_stats()[-1]["collections"])
        readings = {
            BLOCKS: Reading(blocks, "1", "python: sys.getallocatedblocks"),
            COLLECTIONS: Reading(collections, "1", "python: gc.get_stats"),
            FULL_AFTER: Reading(_full_after(), "1", "python: gc.get_threshold, gc.isenabled"),
        }
        counts = None if self._malloc_info is None else self._malloc_info()
        for name, (unit, what) in _OF_MALLOC.items():
            readings[name] = (
                Reading.missing(unit, self._why_not or "malloc_info failed")
                if counts is None
                else Reading(counts[name], unit, f"C library: malloc_info, {what}")
            )
        self.newest = readings
        return readings


def _full_after() -> float:
    """New objects until Python looks through all of them; 0: never."""
    if not gc.isenabled():
        return 0.0
    young, *older = gc.get_threshold()
    return float(young * math.prod(max(1, each) for each in older))


_OF_MALLOC: Final = {
    IN_USE: ("bytes", "in use"),
    FREE: ("bytes", "free"),
    LARGEST_FREE: ("bytes", "free in one arena"),
    ARENAS: ("1", "arenas"),
}


class _MallocInfo:
    """glibc's `malloc_info`, which counts each arena separately; `mallinfo2` adds them up."""

    def __init__(self, library: ctypes.CDLL) -> None:
        pointer = ctypes.POINTER(ctypes.c_void_p)
        size = ctypes.POINTER(ctypes.c_size_t)
        self._open = library.open_memstream
        self._open.restype = ctypes.c_void_p
        self._open.argtypes = (pointer, size)
        self._write = library.malloc_info
        self._write.argtypes = (ctypes.c_int, ctypes.c_void_p)
        self._close = library.fclose
        self._close.argtypes = (ctypes.c_void_p,)
        self._free = library.free
        self._free.argtypes = (ctypes.c_void_p,)

    def __call__(self) -> dict[str, float] | None:
        """Counts by field name; None if they could not be read."""
        text = self._text()
        *arenas, whole = text.split(b"</heap>")
        if not arenas:
            return None
        free = [_sum(_FREE_BYTES, arena) for arena in arenas]
        handed_out = _sum(_SYSTEM_BYTES, whole) - sum(free) + _sum(_MAPPED_BYTES, whole)
        return {
            IN_USE: float(handed_out),
            FREE: float(sum(free)),
            LARGEST_FREE: float(max(free)),
            ARENAS: float(len(free)),
        }

    def _text(self) -> bytes:
        buffer = ctypes.c_void_p()
        size = ctypes.c_size_t()
        stream = self._open(ctypes.byref(buffer), ctypes.byref(size))
        if not stream:
            return b""
        self._write(0, stream)
        self._close(stream)
        text = ctypes.string_at(buffer, size.value) if buffer else b""
        self._free(buffer)
        return text


def _sum(pattern: re.Pattern[bytes], text: bytes) -> int:
    return sum(map(int, pattern.findall(text)))


_FREE_BYTES: Final = re.compile(rb'<total type="(?:fast|rest)" count="\d+" size="(\d+)"')
_SYSTEM_BYTES: Final = re.compile(rb'<system type="current" size="(\d+)"')
_MAPPED_BYTES: Final = re.compile(rb'<total type="mmap" count="\d+" size="(\d+)"')


_OTHERS: Final = {"mallctl": "jemalloc", "tc_malloc": "tcmalloc", "mi_malloc": "mimalloc"}
"""Symbols that identify allocators in place of the C library's."""


def _find_malloc_info() -> tuple[_MallocInfo | None, str]:
    """(counts of the C library, ""), or (None, reason why there are none)."""
    if sys.platform == "win32":
        return None, "this C library does not report malloc statistics"
    try:
        library = ctypes.CDLL(None)
    except OSError as exc:
        return None, f"the C library cannot be queried: {exc}"
    other = next((name for key, name in _OTHERS.items() if hasattr(library, key)), "")
    if other:
        return None, f"{other} replaces the C library's malloc"
    # Some older glibc count wrong in `malloc_info`: one with `mallinfo2` is newer than they are.
    if not hasattr(library, "mallinfo2"):
        return None, "this C library does not report malloc statistics (no mallinfo2)"
    return _MallocInfo(library), ""


MOST_LISTED: Final = 32
"""Maximum number of types, and of lines, in a diagnosis."""


class ObjectCounts:
    """Counts of the objects that the garbage collector tracks, against the count before.

    Owned by the thread that counts. Holds names and numbers, and no object.
    """

    def __init__(self) -> None:
        self._before: Counter[str] | None = None

    def count(self) -> list[ObjectGrowth]:
        """Types that grew most since the call before, then the most numerous; at most 32.

        Walks all objects once: about 0.1 s for each million of them.
        """
        current = _count_by_kind()
        before, self._before = self._before, current
        if before is None:
            return [ObjectGrowth(kind, count) for kind, count in current.most_common(MOST_LISTED)]
        grown = {kind: current[kind] - before[kind] for kind in current.keys() | before.keys()}
        first = sorted(grown, key=lambda kind: (-grown[kind], kind))[: MOST_LISTED // 2]
        chosen = [kind for kind in first if grown[kind] > 0]
        chosen += [kind for kind, _ in current.most_common(MOST_LISTED) if kind not in chosen]
        return [ObjectGrowth(kind, current[kind], grown[kind]) for kind in chosen[:MOST_LISTED]]


_IDENTITY: Final = object.__hash__
"""One number for each living object.

`id` would call the script's audit hooks for every object: Python code, which must not run here.
"""


def _count_by_kind() -> Counter[str]:
    # In one go without Python code, as the list is gone when the counter has it: while one holds
    # it, `tuple(generator)` fails in other threads (see `kmonitor_agent.frameworks.live_objects`).
    # By identity: a type of the script may not be hashable, or lie about its name.
    once = islice(iter(gc.get_objects, None), 1)
    by_type = Counter(map(_IDENTITY, map(type, chain.from_iterable(once))))
    counts: Counter[str] = Counter()
    for kind in _all_types():
        counts[_name(kind)] += by_type.pop(_IDENTITY(kind), 0)
    return +counts


def _all_types() -> list[type]:
    types_by_id: dict[int, type] = {}
    waiting: list[type] = [object]
    while waiting:
        kind = waiting.pop()
        if id(kind) not in types_by_id:
            types_by_id[id(kind)] = kind
            waiting += type.__subclasses__(kind)
    return list(types_by_id.values())


def _name(kind: type) -> str:
    try:
        module = kind.__module__
        name = kind.__qualname__
    except Exception:  # noqa: BLE001 - a metaclass of the script may answer with anything
        return "unknown"
    return f"{module}.{name}"[:200]


class AllocationTrace:
    """Memory that each line of Python allocated between two moments, from `tracemalloc`.

    Tracing is a setting of the process: if the script has it on already, it stays on as it is.
    """

    def __init__(self) -> None:
        self._is_ours = False
        self._first: tracemalloc.Snapshot | None = None

    @property
    def is_running(self) -> bool:
        """True between `begin` and `end`."""
        return self._first is not None

    def begin(self) -> None:
        """Take the first snapshot; allocations are traced from here on, which costs time."""
        if not tracemalloc.is_tracing():
            tracemalloc.start()
            self._is_ours = True
        self._first = tracemalloc.take_snapshot()

    def end(self) -> tuple[list[AllocationGrowth], int]:
        """Take the second snapshot; return the lines that grew most, and the cost of tracing.

        Returns:
            At most 32 lines, most bytes first, and the memory that tracing itself took, bytes.
            Empty if the script has switched tracing off meanwhile.
        """
        first, self._first = self._first, None
        if first is None or not tracemalloc.is_tracing():
            self._is_ours = False
            return [], 0
        try:
            tracing_bytes = tracemalloc.get_tracemalloc_memory()
            grown = _without_ours(tracemalloc.take_snapshot()).compare_to(
                _without_ours(first), "lineno"
            )
        finally:
            if self._is_ours:
                tracemalloc.stop()
            self._is_ours = False
        lines = [each for each in grown if each.size_diff > 0]
        lines.sort(key=lambda each: -each.size_diff)
        return [_allocation_growth(each) for each in lines[:MOST_LISTED]], tracing_bytes


_OURS: Final = f"{Path(__file__).parent.parent}{os.sep}*"


def _without_ours(snapshot: tracemalloc.Snapshot) -> tracemalloc.Snapshot:
    return snapshot.filter_traces(
        [
            tracemalloc.Filter(inclusive=False, filename_pattern=tracemalloc.__file__),
            tracemalloc.Filter(inclusive=False, filename_pattern=_OURS),
        ]
    )


def _allocation_growth(difference: tracemalloc.StatisticDiff) -> AllocationGrowth:
    frame = difference.traceback[0]
    location = f"{_short(frame.filename)}:{frame.lineno}"
    return AllocationGrowth(location[-4096:], difference.size_diff, difference.count_diff)


def _short(path: str) -> str:
    """Path of a file relative to its package or the script's folder."""
    slashed = path.replace("\\", "/")
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in slashed:
            return slashed.rpartition(folder)[2]
    for root in (f"{sysconfig.get_path('stdlib')}/", f"{sys.path[0]}/"):
        if slashed.startswith(root):
            return slashed.removeprefix(root)
    return slashed
