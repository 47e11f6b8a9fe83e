"""Counts of what was handed out, against what this very process takes."""

import ctypes
import gc
import sys

import pytest

from kmonitor_agent.probes.heap import HeapCounts

MIB = 2.0**20


def test_objects_of_python_are_counted_in_blocks():
    heap = HeapCounts()
    gc.collect()  # what other tests left would be freed amid this one
    before = heap.read()["python_blocks"].value or 0.0
    held = [[n] for n in range(20_000)]
    after = heap.read()["python_blocks"].value or 0.0

    assert after - before >= len(held)


@pytest.mark.skipif(sys.platform != "linux", reason="mallinfo2 is glibc's")
def test_what_malloc_hands_out_is_counted_and_what_it_is_given_back():
    heap = HeapCounts()
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.free.argtypes = (ctypes.c_void_p,)
    before = heap.read()["malloc_bytes"].value
    assert before is not None
    taken = [library.malloc(64 * 1024) for _ in range(128)]
    held = heap.read()["malloc_bytes"].value or 0.0
    for address in taken:
        library.free(address)
    after = heap.read()["malloc_bytes"].value or 0.0

    assert held - before == pytest.approx(8 * MIB, rel=0.1)
    assert after - before < 2 * MIB


def test_the_newest_counts_have_their_sources():
    heap = HeapCounts()
    assert heap.newest == {}

    heap.read()

    assert set(heap.newest) == {
        "python_blocks",
        "full_collections",
        "malloc_bytes",
        "malloc_free_bytes",
    }
    assert all(each.source or each.absent for each in heap.newest.values())
