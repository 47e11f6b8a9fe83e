# pyright: reportImplicitOverride=false, reportAssignmentType=false, reportPrivateUsage=false
"""Growth without a container is found: linked objects, numbered names, classes, full caches."""

import functools
import gc
import io
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.kept.search import KeptObjectWalk
from kmonitor_agent.frameworks.kept.sizes import SizeReader
from kmonitor_agent.wire.messages.events import KeptObjects

pytestmark = pytest.mark.usefixtures("this_module_alone")

MIB = 2**20


class Recorder:
    """A callback of the script's."""

    def __init__(self, held: Any = None) -> None:
        self.held = held


class Node:
    def __init__(self, value: Any, previous: Any) -> None:
        self.value = value
        self.previous = previous


@dataclass(frozen=True, slots=True)
class SlotNode:
    value: Any
    previous: Any


class Base:
    """A class that a script derives others from in each epoch."""


def array(mib: float = 1.0) -> Any:
    return np.zeros(int(mib * MIB) // 8)


def searched(
    recorder: object, grow: Callable[[], object], times: int = 4
) -> list[dict[str, KeptObjects]]:
    """Largest findings by place of searches between which a script runs."""
    found: list[dict[str, KeptObjects]] = []
    lengths = None
    for _ in range(times):
        walk = KeptObjectWalk(lengths)
        by_size = walk.search([recorder], None)
        found.append({each.place: each for each in reversed(by_size)})
        lengths = walk.lengths
        grow()
    return found


def assert_grows(found: list[dict[str, KeptObjects]], place: str, mib: float) -> KeptObjects:
    """Assert that the last two searches found a place growing by as much each time."""
    sizes = [each[place].n_bytes or 0.0 for each in found[-2:]]
    assert sizes[1] - sizes[0] == pytest.approx(mib * MIB, rel=0.1)
    return found[-1][place]


LINKS: dict[str, Callable[[Any, Any], Any]] = {
    "tuple": lambda value, held: (held, value),
    "tuple of three": lambda value, held: (1, value, held),
    "list": lambda value, held: [held, value],
    "dict": lambda value, held: {"value": value, "previous": held},
    "Node": Node,
    "SlotNode": SlotNode,
}


@pytest.mark.parametrize("mib", [0.1, 4.0])
@pytest.mark.parametrize("link", LINKS)
def test_objects_that_each_hold_the_one_before_are_found(link: str, mib: float):
    recorder = Recorder()

    def grow() -> None:
        for _ in range(15):
            recorder.held = LINKS[link](array(mib), recorder.held)

    grow()
    found = assert_grows(searched(recorder, grow), "Recorder.held", 15 * mib)

    assert found.container == f"linked {link.partition(' ')[0]}"
    assert found.count == 60


@pytest.mark.parametrize("link", LINKS)
def test_thousands_of_linked_objects_are_counted(link: str):
    recorder = Recorder()

    def grow() -> None:
        for _ in range(1500):
            recorder.held = LINKS[link](array(0.01), recorder.held)

    grow()
    found = assert_grows(searched(recorder, grow), "Recorder.held", 15.0)

    assert found.count == 6000


def test_objects_linked_in_a_circle_are_searched_once():
    first = Node(array(2), None)
    first.previous = Node(array(2), Node(array(2), first))

    found = searched(Recorder(first), lambda: None)

    assert found[-1]["Node.value"].n_bytes == 6 * MIB


def test_lists_within_linked_objects_of_constant_number_are_found():
    nodes = Node([], Node([], Node([], None)))

    def grow() -> None:
        nodes.value.append(array(2))

    grow()
    found = assert_grows(searched(Recorder(nodes), grow), "Node.value", 2.0)

    assert found.container == "list"


@pytest.mark.parametrize("name", ["epoch_{}", "r{}", "{}_loss", "epoch{}_outputs"])
def test_attributes_with_new_names_in_each_epoch_are_found_together(name: str):
    recorder = Recorder()

    def grow() -> None:
        for _ in range(3):
            setattr(recorder, name.format(len(vars(recorder))), array(0.7))

    grow()
    place = f"Recorder.{name.format('*')}"
    found = assert_grows(searched(recorder, grow), place, 2.1)

    assert (found.kind, found.container, found.count) == ("numpy.ndarray", "attributes", 12)


def test_attributes_named_by_hashes_are_found_together():
    recorder = Recorder()

    def grow() -> None:
        setattr(recorder, f"run_{len(vars(recorder)) * 7919:08x}", array(2))

    for _ in range(3):
        grow()
    found = assert_grows(searched(recorder, grow), "Recorder.run_*", 2.0)

    assert found.count == 6


def test_module_variables_with_new_names_are_found_together(monkeypatch: pytest.MonkeyPatch):
    numbers = iter(range(100))

    def grow() -> None:
        for _ in range(3):
            name = f"outputs_{next(numbers)}"
            monkeypatch.setattr(sys.modules[__name__], name, [array(0.5)], raising=False)

    grow()
    found = assert_grows(searched(Recorder(), grow), f"{__name__}.outputs_*", 1.5)

    assert (found.container, found.count) == ("attributes", 12)


def test_numbered_attributes_of_two_objects_are_found_together():
    first, second = Recorder(), Recorder()
    first.held = second

    def grow() -> None:
        for each in (first, second):
            setattr(each, f"epoch_{len(vars(each))}", array(2))

    for _ in range(3):
        grow()
    found = assert_grows(searched(first, grow), "Recorder.epoch_*", 4.0)

    assert found.count == 12


def test_few_numbered_attributes_that_stay_are_named_one_by_one():
    recorder: Any = Recorder()
    recorder.conv1, recorder.conv2, recorder.conv3 = [array()] * 3, [], []

    def grow() -> None:
        recorder.conv2.append(array(2))

    for _ in range(3):
        grow()
    found = assert_grows(searched(recorder, grow), "Recorder.conv2", 2.0)

    assert found.container == "list"


def made_class(n: int, base: type) -> type:
    return type(f"Made{n}", (base,), {"weights": array(1)})


def test_classes_created_in_each_epoch_and_kept_in_a_list_are_measured():
    recorder = Recorder([])

    def grow() -> None:
        for _ in range(3):
            recorder.held.append(made_class(len(recorder.held), object))

    grow()
    found = assert_grows(searched(recorder, grow), "Recorder.held", 3.0)

    assert (found.kind, found.container) == ("class", "list")


@pytest.fixture
def no_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    yield
    if was_enabled:
        gc.enable()
    gc.collect()


@pytest.mark.usefixtures("no_collection")
def test_classes_that_wait_to_be_collected_are_found_at_their_base():
    numbers = iter(range(100))

    def grow() -> None:
        for _ in range(3):
            made_class(next(numbers), Base)

    grow()
    found = assert_grows(searched(Recorder(Base), grow), "Base", 3.0)

    assert (found.kind, found.container, found.count) == ("class", "subclasses", 12)


@pytest.mark.parametrize(
    "make", [io.StringIO, lambda: io.TextIOWrapper(io.BytesIO(), write_through=True)]
)
def test_text_written_to_memory_is_found(make: Callable[[], Any]):
    recorder = Recorder(make())

    def grow() -> None:
        recorder.held.write("x" * (3 * MIB))

    grow()
    assert_grows(searched(recorder, grow), "Recorder.held", 3.0)


def test_closed_text_has_no_size():
    text = io.StringIO("x" * MIB)
    text.close()

    assert SizeReader().tree(text).n_bytes < 1000


def cached(size: int | None, make: Callable[..., Any] = lambda _: array()) -> Any:
    return functools.lru_cache(maxsize=size)(make)


def test_a_cache_that_fills_is_named_with_its_capacity():
    load = cached(60)
    numbers = iter(range(100))

    def grow() -> None:
        for _ in range(5):
            load(next(numbers))

    grow()
    found = assert_grows(searched(Recorder(load), grow), "Recorder.held", 5.0)

    named = (found.kind, found.container, found.count, found.capacity)
    assert named == ("numpy.ndarray", "functools.lru_cache", 20, 60)
    assert load.cache_info().hits == 0


class Fold:
    """Data whose methods compute something of it once."""

    def __init__(self) -> None:
        self.images = array()


@pytest.mark.parametrize(
    ("make", "kind"),
    [(lambda _: 0.5, f"{__name__}.Fold"), (lambda fold: fold.images[:2], "numpy.ndarray")],
)
@pytest.mark.parametrize(
    ("size", "name"), [(60, "functools.lru_cache"), (None, "functools.cache")]
)
def test_objects_whose_methods_a_cache_remembers_are_named(
    size: int | None, name: str, make: Callable[..., Any], kind: str
):
    mean = cached(size, make)

    def grow() -> None:
        for _ in range(5):
            mean(Fold())

    grow()
    found = assert_grows(searched(Recorder(mean), grow), "Recorder.held", 5.0)

    named = (found.kind, found.container, found.count, found.capacity)
    assert named == (kind, name, 20, size)


def test_an_object_that_all_calls_of_a_cache_have_is_not_what_grows():
    read = cached(None, lambda fold, _: array())
    fold, numbers = Fold(), iter(range(100))

    def grow() -> None:
        for _ in range(5):
            read(fold, next(numbers))

    grow()
    found = assert_grows(searched(Recorder(read), grow), "Recorder.held", 5.0)

    assert (found.kind, found.count) == ("numpy.ndarray", 20)


@pytest.mark.parametrize("wrap", [lambda each: each, staticmethod, classmethod, property])
def test_a_cached_method_of_a_class_is_found(
    monkeypatch: pytest.MonkeyPatch, wrap: Callable[[Any], Any]
):
    load = cached(60)
    for n in range(5):
        load(n)
    monkeypatch.setattr(Recorder, "load", wrap(load), raising=False)
    del load

    found = searched(Recorder(), lambda: None, 1)[0]

    assert found["Recorder.load"].capacity == 60


def test_a_cache_that_is_full_grows_no_more():
    load = cached(10)
    numbers = iter(range(100))

    def grow() -> None:
        for _ in range(4):
            load(next(numbers))

    grow()
    found = [each["Recorder.held"] for each in searched(Recorder(load), grow, 5)]

    assert [(each.count, each.capacity) for each in found] == [(n, 10) for n in (4, 8, 10, 10, 10)]
    assert len({each.n_bytes for each in found[2:]}) == 1


def test_lists_in_a_cache_that_is_full_are_still_found():
    load = cached(3, lambda _: [])

    def grow() -> None:
        for n in range(3):
            load(n).append(array())

    grow()

    assert_grows(searched(Recorder(load), grow), "Recorder.held", 3.0)


def test_a_deque_that_fills_is_named_with_its_capacity():
    recorder = Recorder(deque(maxlen=20))

    def grow() -> None:
        recorder.held.extend(array() for _ in range(4))

    grow()
    found = assert_grows(searched(recorder, grow), "Recorder.held", 4.0)

    assert (found.container, found.count, found.capacity) == ("deque", 16, 20)


def test_objects_that_grow_in_a_full_deque_are_measured():
    recorder = Recorder(deque((array() for _ in range(5)), maxlen=5))

    def grow() -> None:
        larger = recorder.held[-1].size + array().size
        recorder.held.extend(np.zeros(larger) for _ in range(5))

    found = assert_grows(searched(recorder, grow), "Recorder.held", 5.0)

    assert (found.container, found.count, found.capacity) == ("deque", 5, 5)


def test_a_cache_whose_parameters_a_script_replaced_is_left_out():
    load = cached(60)
    for n in range(5):
        load(n)

    def fails() -> None:
        raise AssertionError

    load.cache_parameters = fails

    assert "Recorder.held" not in searched(Recorder(load), lambda: None)[-1]


class Hostile:
    """Fails the test where any of its code runs."""

    __slots__ = ("epoch_1", "previous", "value")

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def __len__(self) -> int:
        raise AssertionError

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    def __hash__(self) -> int:
        raise AssertionError

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError

    def __bool__(self) -> bool:
        raise AssertionError


class HostileMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(name)

    def __eq__(cls, other: object) -> bool:
        raise AssertionError

    def __hash__(cls) -> int:
        raise AssertionError

    def __subclasses__(cls) -> Any:
        raise AssertionError


class HostileText(io.StringIO):
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def tell(self) -> int:
        raise AssertionError

    def __sizeof__(self) -> int:
        raise AssertionError


class HostileDeque(deque[Any]):
    maxlen: Any = property(lambda _: (_ for _ in ()).throw(AssertionError()))

    def __len__(self) -> int:
        raise AssertionError


def hostile(value: Any, previous: Any) -> Any:
    made = object.__new__(Hostile)
    object.__setattr__(made, "value", value)
    object.__setattr__(made, "previous", previous)
    return made


def test_no_code_of_linked_objects_runs():
    recorder = Recorder()

    def grow() -> None:
        for _ in range(3):
            recorder.held = hostile(array(), recorder.held)

    grow()
    found = assert_grows(searched(recorder, grow), "Recorder.held", 3.0)

    assert found.container == "linked Hostile"


def test_no_code_of_objects_in_series_runs():
    recorder = Recorder()

    def grow() -> None:
        for _ in range(3):
            setattr(recorder, f"epoch_{len(vars(recorder))}", hostile(array(), None))

    grow()

    assert_grows(searched(recorder, grow), "Recorder.epoch_*", 3.0)


def test_no_code_of_cached_results_runs():
    load = cached(60, lambda _: hostile(array(), None))
    numbers = iter(range(100))

    def grow() -> None:
        for _ in range(3):
            load(next(numbers))

    grow()

    assert_grows(searched(Recorder(load), grow), "Recorder.held", 3.0)


def test_no_code_of_classes_runs():
    recorder: Any = Recorder([])
    base = type.__new__(HostileMeta, "HostileBase", (), {})
    recorder.base = [base]

    def grow() -> None:
        for _ in range(3):
            names = {"weights": array()}
            list.append(recorder.held, type.__new__(HostileMeta, "Made", (base,), names))

    grow()

    assert_grows(searched(recorder, grow), "Recorder.held", 3.0)


def test_no_code_of_buffers_and_queues_runs():
    text = HostileText()
    io.StringIO.write(text, "x" * (2 * MIB))
    waiting = HostileDeque([array() for _ in range(4)], 10)
    recorder: Any = Recorder(text)
    recorder.waiting = waiting

    found = searched(recorder, lambda: None, 1)[0]

    assert found["Recorder.held"].n_bytes == 2 * MIB
    assert found["Recorder.waiting"].capacity == 10


def test_a_search_that_runs_out_of_time_ends_among_series(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("later")
    held: Any = None
    for n in range(500):
        held = (held, n)
        setattr(module, f"epoch_{n}", Node(held, None))
    n_asked = iter(range(10_000))

    walk = KeptObjectWalk(None, lambda: next(n_asked) > 20)
    walk.search([Recorder(Node(module, held))], None)

    assert walk.is_cut_short
    assert walk.n_visited < 30
