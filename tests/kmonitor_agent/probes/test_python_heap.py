"""Objects by type and lines that allocate: counted, compared, and nothing left switched on."""

# pyright: reportImplicitOverride=false, reportIncompatibleVariableOverride=false

import gc
import tracemalloc
from typing import Any

from kmonitor_agent.probes.heap import MOST_LISTED, AllocationTrace, ObjectCounts


class Grown:
    """One of a kind that no one else makes."""


class Liar(type):
    """A metaclass whose classes answer for their names with an error, and cannot be hashed."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __eq__(cls, other: object) -> bool:
        return False

    @property
    def __module__(cls) -> str:
        raise RuntimeError("not to be told")


def kind_of(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def test_first_count_has_no_growth_and_lists_the_most_numerous():
    listed = ObjectCounts().count()

    assert 1 < len(listed) <= MOST_LISTED
    assert all(each.grown is None for each in listed)
    assert [each.count for each in listed] == sorted((e.count for e in listed), reverse=True)


def test_growth_since_the_count_before_comes_first():
    counts = ObjectCounts()
    counts.count()
    kept = [Grown() for _ in range(20_000)]

    [first] = [each for each in counts.count() if each.kind == kind_of(Grown)]
    del kept
    gc.collect()
    after = {each.kind: each.grown for each in counts.count()}

    assert (first.count, first.grown) == (20_000, 20_000)
    assert kind_of(Grown) not in after


def test_type_that_does_not_tell_its_name_is_counted_as_unknown():
    liar: Any = Liar("Strange", (), {})
    kept = [liar() for _ in range(50_000)]

    counted = {each.kind: each.count for each in ObjectCounts().count()}

    assert counted["unknown"] >= len(kept)


def test_line_that_allocates_most_is_named_and_tracing_ends():
    trace = AllocationTrace()
    trace.begin()
    assert trace.is_running
    kept = bytearray(5_000_000)

    lines, taken_bytes = trace.end()

    assert len(kept) == 5_000_000
    assert lines[0].grown_bytes >= 5_000_000
    assert lines[0].location.rpartition(":")[0].endswith("test_python_heap.py")
    assert not [each for each in lines if "probes/heap.py" in each.location]
    assert taken_bytes > 0
    assert not trace.is_running
    assert not tracemalloc.is_tracing()


def test_tracing_of_the_script_is_left_as_it_is():
    tracemalloc.start(2)
    try:
        trace = AllocationTrace()
        trace.begin()
        trace.end()

        assert tracemalloc.get_traceback_limit() == 2
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_tracing_that_the_script_ended_meanwhile_tells_nothing():
    trace = AllocationTrace()
    trace.begin()
    tracemalloc.stop()

    assert trace.end() == ([], 0)
    assert AllocationTrace().end() == ([], 0)
