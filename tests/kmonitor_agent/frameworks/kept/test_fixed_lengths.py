# pyright: reportImplicitOverride=false, reportAssignmentType=false
"""Places that fill up to an end are found with it, and what several places share counts once."""

import io
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.kept.search import KeptObjectWalk
from kmonitor_agent.wire.messages.events import KeptObjects

pytestmark = pytest.mark.usefixtures("this_module_alone")

MIB = 2**20
ENTRIES = 30
shared: Any = ()


class Recorder:
    """A callback of the script's."""

    def __init__(self, held: Any = ()) -> None:
        self.held = held


def array(mib: float = 1.0) -> Any:
    return np.zeros(int(mib * MIB) // 8)


def searched(
    recorder: object, grow: Callable[[], object], times: int = 4
) -> list[dict[str, KeptObjects]]:
    """Findings by place of searches before each of which a script runs."""
    found: list[dict[str, KeptObjects]] = []
    walk = None
    for _ in range(times):
        grow()
        walk = KeptObjectWalk(
            walk and walk.lengths,
            spaces_before=walk and walk.spaces,
            numbers_before=walk and walk.numbers,
        )
        by_size = walk.search([recorder], None)
        found.append({each.place: each for each in reversed(by_size)})
    return found


MAKE: dict[str, Callable[[], Any]] = {
    "list": lambda: [None] * ENTRIES,
    "dict": lambda: dict.fromkeys(range(ENTRIES)),
    "ndarray": lambda: np.full(ENTRIES, None, object),
}


@pytest.mark.parametrize("order", [1, 7, ENTRIES - 1])
@pytest.mark.parametrize("container", MAKE)
def test_entries_that_are_filled_one_by_one_are_counted_up_to_the_last(container: str, order: int):
    held = MAKE[container]()
    places = iter(range(0, order * ENTRIES, order))

    def grow() -> None:
        for _ in range(5):
            held[next(places) % ENTRIES] = array()

    found = [each["Recorder.held"] for each in searched(Recorder(held), grow, 6)]

    assert {(each.kind, each.container) for each in found} == {("numpy.ndarray", container)}
    assert [each.count for each in found] == [5, 10, 15, 20, 25, 30]
    assert [each.capacity for each in found] == [None, *[ENTRIES] * 5]
    assert [each.n_bytes for each in found] == [each.count * MIB for each in found]


def test_entries_of_a_long_list_are_estimated():
    held: list[Any] = [None] * 400_000
    numbers = iter(range(400_000))

    def grow() -> None:
        for _ in range(50_000):
            n = next(numbers)
            held[n] = 1000.0 + n

    found = searched(Recorder(held), grow)[-1]["Recorder.held"]

    assert (found.kind, found.capacity) == ("number", 400_000)
    assert found.count == pytest.approx(200_000, rel=0.01)


def test_entries_that_all_stay_are_not_measured_again():
    held = [array(), array(), *[None] * 8]

    assert "Recorder.held" not in searched(Recorder(held), lambda: None)[-1]


def test_a_list_that_gets_longer_has_no_end_although_entries_are_none():
    held: list[Any] = [None] * 8

    def grow() -> None:
        held.extend([array(), array(), None])

    found = searched(Recorder(held), grow)[-1]["Recorder.held"]

    assert (found.count, found.capacity) == (8, None)


class Cache:
    def __init__(self, **limits: Any) -> None:
        self.held: Any = OrderedDict()
        self.__dict__.update(limits)


class CacheItself(OrderedDict[int, Any]):
    maxsize = 0


@pytest.mark.parametrize(
    ("limits", "capacity"),
    [
        ({"maxsize": 20}, 20),
        ({"_capacity": 20}, 20),
        ({"limit": 5}, None),
        ({"maxsize": 20.0}, None),
        ({"maxsize": 2**31 - 1}, None),
        ({"maxsize": 20, "limit": 40}, None),
        ({"epochs": 20}, None),
        ({"n": 20}, 20),
        ({"cacheSize": 20}, 20),
        ({"_max_cached": 20, "seed": 17}, 20),
        ({"n": 1000}, None),
        ({"n": 15}, None),
        ({"n": 20, "size": 30}, None),
        ({"max_epochs": 20}, None),
        ({"batch_size": 20}, None),
        ({"n": 20, "maxsize": 18}, 18),
        ({"flush_every": 20}, 20),
        ({"flush_every_n_epochs": 20}, 20),
        ({"chunk_rows": 20, "save_every": 18}, 20),
        ({"save_every": 20}, None),
        ({"_max_queue_size": 20}, None),
        ({"buffer_size": 20, "window": 10}, None),
    ],
)
def test_a_number_beside_a_container_may_be_its_limit(
    limits: dict[str, Any], capacity: int | None
):
    cache = Cache(**limits)

    def grow() -> None:
        cache.held.update({len(cache.held) + n: array() for n in range(4)})

    found = searched(Recorder(cache), grow)[-1]["Cache.held"]

    assert (found.count, found.capacity) == (16, capacity)


class Confusions(Cache):
    """Shows some of its predictions, and keeps all."""


def test_a_bare_size_is_no_limit_of_what_is_no_buffer():
    shown = Confusions(n=20, size=24, k=28)

    def grow() -> None:
        shown.held.update({len(shown.held) + n: array() for n in range(4)})

    found = searched(Recorder(shown), grow)[-1]["Confusions.held"]

    assert (found.count, found.capacity) == (16, None)


def test_a_container_of_the_script_may_have_its_limit_in_itself():
    cache = CacheItself()
    cache.maxsize = 20

    def grow() -> None:
        cache.update({len(cache) + n: array() for n in range(4)})

    found = searched(Recorder(cache), grow)[-1]["Recorder.held"]

    assert (found.count, found.capacity) == (16, 20)


def test_a_cache_of_the_script_that_replaces_its_oldest_is_full():
    cache: Any = Cache(maxsize=6)
    numbers = iter(range(100))

    def grow() -> None:
        for _ in range(4):
            cache.held[next(numbers)] = array()
            while len(cache.held) > cache.maxsize:
                cache.held.popitem(last=False)

    found = [each["Cache.held"] for each in searched(Recorder(cache), grow)]

    named = [(each.container, each.count, each.capacity) for each in found]
    assert named == [("OrderedDict", n, 6) for n in (4, 6, 6, 6)]
    assert [each.n_bytes for each in found] == [each.count * MIB for each in found]


def test_a_number_that_changes_is_no_limit():
    cache: Any = Cache(n=0)

    def grow() -> None:
        cache.held.update({len(cache.held) + n: array() for n in range(4)})
        cache.n = len(cache.held)

    found = [each["Cache.held"] for each in searched(Recorder(cache), grow)]

    assert [(each.count, each.capacity) for each in found] == [(n, None) for n in (4, 8, 12, 16)]


def test_a_number_that_is_passed_is_no_limit():
    cache: Any = Cache(n=10)

    def grow() -> None:
        cache.held.update({len(cache.held) + n: array() for n in range(4)})

    found = [each["Cache.held"].capacity for each in searched(Recorder(cache), grow)]

    assert found == [None, 10, None, None]


class Hostile:
    """Fails the test where any of its code runs."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    def __hash__(self) -> int:
        raise AssertionError

    def __len__(self) -> int:
        raise AssertionError


@pytest.mark.parametrize("container", MAKE)
def test_no_code_of_entries_runs_and_none_is_kept(container: str):
    held = MAKE[container]()
    for n in range(20):
        held[n] = Hostile()
    entry = held[0]
    n_references = sys.getrefcount(entry)

    searched(Recorder(held), lambda: None)

    assert sys.getrefcount(entry) == n_references


@pytest.mark.parametrize("first", [0.0, 3.0, 64.0])
def test_bytes_in_memory_count_as_far_as_they_are_written(first: float):
    held = io.BytesIO(bytes(int(first * MIB)))
    held.seek(0, io.SEEK_END)

    found = searched(Recorder(held), lambda: held.write(bytes(3 * MIB)))

    n_bytes = [each["Recorder.held"].n_bytes for each in found]
    assert n_bytes == [(first + 3.0 * n) * MIB for n in (1, 2, 3, 4)]


def test_bytes_in_memory_that_are_read_again_count():
    held = io.BytesIO()
    held.write(bytes(4 * MIB))
    held.seek(MIB)

    found = searched(Recorder(held), lambda: None)[-1]["Recorder.held"]

    assert found.n_bytes == pytest.approx(4 * MIB, rel=0.13)


def test_an_array_that_is_a_variable_too_counts_with_the_list_of_its_kind():
    recorder: Any = Recorder([])

    def grow() -> None:
        recorder.newest = array()
        recorder.held.append(recorder.newest)

    found = searched(recorder, grow, 5)[-1]

    assert {name: each.n_bytes for name, each in found.items()} == {"Recorder.held": 5 * MIB}


def test_parts_of_an_array_that_is_a_variable_count_with_the_variable():
    recorder: Any = Recorder([])
    recorder.data = array(8.0)

    found = searched(recorder, lambda: recorder.held.append(recorder.data[:10]), 5)[-1]

    assert {name: each.n_bytes for name, each in found.items()} == {"Recorder.data": 8 * MIB}


def test_many_names_of_one_array_do_not_multiply_it():
    recorder: Any = Recorder([])
    data = array(8.0)

    found = searched(recorder, lambda: recorder.held.extend([data] * 200), 3)

    assert [each["Recorder.held"].n_bytes for each in found] == [8 * MIB] * 3


def test_a_variable_of_a_module_names_what_callbacks_refer_to(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules[__name__], "shared", [])
    recorder = Recorder({"callbacks": {"of_the_writer": shared}})

    found = searched(recorder, lambda: shared.append(array()), 3)[-1]

    assert [each.rpartition(".")[2] for each in found] == ["shared"]


def test_arrays_count_in_full_at_the_first_search_though_their_owner_is_in_a_list():
    recorder = Recorder({n: array(0.1) for n in range(40)})
    owner = Recorder([recorder, recorder])

    found = {each.place: each for each in KeptObjectWalk().search([owner, recorder], None)}

    assert found["Recorder.held"].n_bytes == pytest.approx(40 * 0.1 * MIB, rel=0.01)
