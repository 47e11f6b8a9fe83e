"""Counts of what was handed out, against what this very process takes."""

import ctypes
import gc
import sys
import threading
from collections.abc import Generator

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


@pytest.mark.skipif(sys.platform != "linux", reason="malloc_info is glibc's")
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


@pytest.mark.skipif(sys.platform != "linux", reason="malloc_info is glibc's")
def test_free_memory_of_one_arena_is_told_from_that_of_all():
    """Blocks below one that is kept stay free in the arena of the thread that took them."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.free.argtypes = (ctypes.c_void_p,)
    turn = threading.Barrier(3)
    kept: list[int] = []

    def leave_free() -> None:
        taken = [library.malloc(64 * 1024) for _ in range(128)]
        kept.append(library.malloc(64 * 1024))
        turn.wait()  # both hold theirs: no thread has the other's arena
        turn.wait()
        for address in taken:
            library.free(address)
        turn.wait()

    heap = HeapCounts()
    threads = [threading.Thread(target=leave_free) for _ in range(2)]
    for thread in threads:
        thread.start()
    turn.wait()
    held = heap.read()  # what other tests left free may have been handed out again
    turn.wait()
    turn.wait()
    after = heap.read()
    for thread in threads:
        thread.join()
    for address in kept:
        library.free(address)

    names = ("malloc_arenas", "malloc_free_bytes", "malloc_largest_free_bytes")
    arenas, free, largest = (after[name].value or 0.0 for name in names)
    assert arenas >= 1.0
    assert free - (held["malloc_free_bytes"].value or 0.0) > 8 * MIB
    assert 0.0 < largest <= free


def test_the_newest_counts_have_their_sources():
    heap = HeapCounts()
    assert heap.newest == {}

    heap.read()

    assert set(heap.newest) == {
        "python_blocks",
        "full_collections",
        "objects_to_full_collection",
        "malloc_bytes",
        "malloc_free_bytes",
        "malloc_largest_free_bytes",
        "malloc_arenas",
    }
    assert all(each.source or each.absent for each in heap.newest.values())


@pytest.fixture
def _collector() -> Generator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.enable()


@pytest.mark.usefixtures("_collector")
def test_a_collector_that_is_off_never_makes_a_full_collection():
    heap = HeapCounts()
    gc.set_threshold(100, 5, 20)
    found = [heap.read()["objects_to_full_collection"].value]
    gc.disable()
    found.append(heap.read()["objects_to_full_collection"].value)
    gc.enable()
    gc.set_threshold(0)
    found.append(heap.read()["objects_to_full_collection"].value)

    assert found == [10_000.0, 0.0, 0.0]
