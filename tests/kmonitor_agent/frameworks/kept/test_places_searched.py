# pyright: reportImplicitOverride=false
"""Growth is found whatever holds it: replaced containers, slots, closures, partials, records."""

import array as arrays
import contextlib
import functools
import io
import itertools
import mmap
import queue
import sys
import threading
import weakref
from collections import ChainMap, Counter, namedtuple
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace, coroutine
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.kept import places
from kmonitor_agent.frameworks.kept.containers import read_instead
from kmonitor_agent.frameworks.kept.search import KeptObjectWalk
from kmonitor_agent.frameworks.kept.suspended import suspended_calls

pytestmark = pytest.mark.usefixtures("this_module_alone")

MIB = 2**20


class Recorder:
    """A callback of the script's."""

    def __init__(self, value: Any = None) -> None:
        self.held = value


@dataclass
class Trial:
    text: str
    outputs: Any


@dataclass(frozen=True, slots=True)
class Slotted:
    kept: Any


class Entry:
    def __init__(self, value: Any) -> None:
        self.value = value


Named = namedtuple("Named", "name kept")  # noqa: PYI024 - as in a script


def data() -> Any:
    return np.full(MIB // 8, 1.5)


def drawing() -> Callable[[str], Any]:
    outputs = data()

    def draw(title: str) -> Any:
        return title, outputs.mean()

    return draw


def waiting() -> Iterator[Any]:
    def play() -> Iterator[Any]:
        outputs = data()
        yield 0
        yield outputs

    player = play()
    next(player)
    return player


def failed() -> ValueError:
    error = ValueError("no")
    error.__dict__["outputs"] = data()
    return error


CONTENTS: dict[str, Callable[[], Any]] = {
    "array": data,
    "text": lambda: "x" * MIB,
    "bytearray": lambda: bytearray(MIB),
    "array.array": lambda: arrays.array("d", bytes(MIB)),
    "memoryview": lambda: memoryview(bytes(MIB)),
    "BytesIO": lambda: io.BytesIO(bytes(MIB)),
    "tuple": lambda: tuple(n + 0.5 for n in range(MIB // 32)),
    "texts of a dict": lambda: {"k" * MIB: 1},
    "dataclass": lambda: Trial("", data()),
    "slots": lambda: Slotted(data()),
    "namedtuple": lambda: Named("", data()),
    "closure": drawing,
    "partial of a closure": lambda: functools.partial(drawing(), "t"),
    "argument of a partial": lambda: functools.partial(print, data()),
    "keyword of a partial": lambda: functools.partial(print, end=data()),
    "method of a list": lambda: [data()].append,
    "generator": waiting,
    "iterator": lambda: iter([data()]),
    "islice": lambda: itertools.islice(iter([data()]), 1),
    "map": lambda: map(id, [data()]),
    "reversed list": lambda: reversed([data()]),
    "anonymous memory": lambda: mmap.mmap(-1, MIB),
    "argument of an error": lambda: ValueError(data()),
    "attribute of an error": failed,
    "read-only dict": lambda: MappingProxyType({"a": data()}),
    "numbers of NumPy": lambda: [np.float64(n) for n in range(MIB // 40)],
    "complex numbers": lambda: [complex(n, n) for n in range(MIB // 40)],
    "times": lambda: [timedelta(microseconds=n) for n in range(MIB // 56)],
    "small arrays": lambda: [np.zeros(4) for _ in range(MIB // 181)],
}

Pair = tuple[Callable[[], Any], Callable[[Any, Any], Any]]


def changed(change: Callable[[Any, Any], object]) -> Callable[[Any, Any], Any]:
    """A function that changes its first argument and returns it."""

    def add(held: Any, value: Any) -> Any:
        change(held, value)
        return held

    return add


def hold_by_key(pair: Any, value: Any) -> None:
    pair[1].append(Entry(None))
    pair[0][pair[1][-1]] = value


CONTAINERS: dict[str, Pair] = {
    "list": (list, changed(lambda held, value: held.append(value))),
    "copied list": (list, lambda held, value: [*held, value]),
    "copied tuple": (tuple, lambda held, value: (*held, value)),
    "copied dict": (dict, lambda held, value: {**held, len(held): value}),
    "copied frozenset": (frozenset, lambda held, value: held | {Entry(value)}),
    "copied read-only dict": (
        lambda: MappingProxyType({}),
        lambda held, value: MappingProxyType({**held, len(held): value}),
    ),
    "tuple of a dict": (
        lambda: {"a": ()},
        lambda held, value: {"a": (*held["a"], value)},
    ),
    "tuple of a namedtuple": (
        lambda: Named("", ()),
        lambda held, value: Named(held.name, (*held.kept, value)),
    ),
    "replaced dataclass": (
        lambda: Slotted(()),
        lambda held, value: replace(held, kept=(*held.kept, value)),
    ),
    "list in slots": (
        lambda: Slotted([]),
        changed(lambda held, value: held.kept.append(value)),
    ),
    "linked tuples": (lambda: None, lambda held, value: (value, held)),
    "ExitStack": (
        contextlib.ExitStack,
        changed(lambda held, value: held.callback(id, value)),
    ),
    "chained iterators": (
        lambda: iter(()),
        lambda held, value: itertools.chain(held, (each for each in [value])),
    ),
    "one list of three": (
        lambda: [[], [], []],
        changed(lambda held, value: held[1].append(value)),
    ),
    "values of weak keys": (
        lambda: (weakref.WeakKeyDictionary(), []),
        changed(hold_by_key),
    ),
    "ChainMap": (ChainMap, lambda held, value: held.new_child({0: value})),
    "list of a partial": (
        lambda: functools.partial(print, []),
        changed(lambda held, value: held.args[0].append(value)),
    ),
    "queue of C": (queue.SimpleQueue, changed(lambda held, value: held.put(value))),
    "partials of partials": (
        lambda: functools.partial(print),
        functools.partial,
    ),
    "array of objects": (
        lambda: np.empty(0, object),
        lambda held, value: np.concatenate([held, np.array([value, None], object)[:1]]),
    ),
}

VALUES: dict[str, Pair] = {
    "np.concatenate": (lambda: np.zeros(0), lambda held, _: np.concatenate([held, data()])),
    "text": (str, lambda held, _: held + "y" * MIB),
    "bytes": (bytes, lambda held, _: held + b"y" * MIB),
    "BytesIO": (io.BytesIO, changed(lambda held, _: held.write(bytes(MIB)))),
    "tuple of numbers": (tuple, lambda held, _: held + tuple(n + 0.5 for n in range(MIB // 32))),
    "counted texts": (
        Counter,
        changed(lambda held, _: held.update(f"{len(held) + n:1000}" for n in range(1024))),
    ),
}


class Place:
    """A place that holds a value, and the callback through which a search finds it."""

    def __init__(
        self, callback: Recorder, get: Callable[[], Any], put: Callable[[Any], None]
    ) -> None:
        self.callback = callback
        self.get = get
        self.put = put

    def grow(self, add: Callable[[Any, Any], Any], make: Callable[[], Any]) -> None:
        for _ in range(3):
            self.put(add(self.get(), make()))


def attribute(value: Any) -> Place:
    callback = Recorder(value)
    return Place(callback, lambda: callback.held, lambda held: setattr(callback, "held", held))


def module_name(value: Any) -> Place:
    names = vars(sys.modules[__name__])
    names["held"] = value
    return Place(Recorder(), lambda: names["held"], lambda held: names.update(held=held))


def dict_entry(value: Any) -> Place:
    entries = {"key": value, "other": 1}
    callback = Recorder(entries)
    return Place(callback, lambda: entries["key"], lambda held: entries.update(key=held))


def first_of_two(value: Any) -> Place:
    items = [value, 1]
    return Place(Recorder(items), lambda: items[0], lambda held: items.__setitem__(0, held))


def closure(value: Any) -> Place:
    held = value

    def get() -> Any:
        return held

    def put(value: Any) -> None:
        nonlocal held
        held = value

    return Place(Recorder(get), get, put)


def of_function(value: Any) -> Place:
    def function() -> None: ...

    names = vars(function)
    names["held"] = value
    return Place(Recorder(function), lambda: names["held"], lambda held: names.update(held=held))


def of_instance(wrap: Callable[[Any], Any]) -> Callable[[Any], Place]:
    def make(value: Any) -> Place:
        kept = attribute(value)
        return Place(Recorder(wrap(kept.callback)), kept.get, kept.put)

    return make


PLACES: dict[str, Callable[[Any], Place]] = {
    "attribute": attribute,
    "module": module_name,
    "dict": dict_entry,
    "list": first_of_two,
    "closure": closure,
    "function": of_function,
    "namespace": of_instance(lambda owner: SimpleNamespace(owner=owner)),
    "iterator": of_instance(lambda owner: zip([owner], [1], strict=True)),
    "iterator of iterators": of_instance(lambda owner: itertools.chain(iter([owner]), "ab")),
    "partial": of_instance(lambda owner: functools.partial(print, owner)),
    "tuple": of_instance(lambda owner: (owner, 1)),
    "list of one": of_instance(lambda owner: [owner]),
}


@pytest.fixture(autouse=True)
def nothing_held_after() -> Iterator[None]:
    yield
    vars(sys.modules[__name__]).pop("held", None)


def growths_mib(
    place: Place, add: Callable[[Any, Any], Any], make: Callable[[], Any] = lambda: None
) -> list[float]:
    """Growth that the last two of four searches found in the same places, MiB an addition."""
    place.grow(add, make)
    place.grow(add, make)
    sizes: dict[Any, list[float]] = {}
    lengths = None
    for _ in range(4):
        walk = KeptObjectWalk(lengths)
        for each in walk.search([place.callback], None):
            key = each.kind, each.place, each.container
            sizes.setdefault(key, []).append(each.n_bytes or 0.0)
        lengths = walk.lengths
        place.grow(add, make)
    return [(found[-1] - found[-2]) / 3 / MIB for found in sizes.values() if len(found) > 1]


def assert_found(growths: list[float]) -> None:
    assert any(0.7 <= each <= 1.5 for each in growths), growths


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("container", ["list", "copied tuple"])
def test_whatever_an_item_holds_is_measured(container: str, content: str):
    start, add = CONTAINERS[container]

    assert_found(growths_mib(attribute(start()), add, CONTENTS[content]))


@pytest.mark.parametrize("content", ["array", "dataclass"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_of_each_kind_are_found(container: str, content: str):
    start, add = CONTAINERS[container]

    assert_found(growths_mib(attribute(start()), add, CONTENTS[content]))


def a_generator() -> Iterator[int]:
    kept: list[Any] = []
    while True:
        kept.append(data())
        yield 0


async def a_coroutine() -> None:
    kept: list[Any] = []
    while True:
        kept.append(data())
        await pause()


async def an_asynchronous_generator() -> AsyncIterator[int]:
    kept: list[Any] = []
    while True:
        kept.append(data())
        yield 0


@coroutine
def pause() -> Any:
    yield


def step_of_asynchronous_generator(call: Any) -> None:
    with contextlib.suppress(StopIteration):
        call.asend(None).send(None)


SUSPENDED: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "generator": (a_generator, next),
    "coroutine": (a_coroutine, lambda call: call.send(None)),
    "asynchronous generator": (an_asynchronous_generator, step_of_asynchronous_generator),
}


def build() -> Callable[[], int]:
    kept: list[Any] = []

    def hook() -> None:
        kept.append(data())

    hook()
    return lambda: len(kept)


def test_variables_of_a_lambda_are_named_by_the_function_around_it():
    walk = KeptObjectWalk()
    walk.search([Recorder(build())], None)

    assert ("build.kept", "list") in walk.lengths


def test_defaults_of_a_lambda_without_a_function_around_it_are_named_by_its_place():
    names: dict[str, Any] = {}
    exec("size = lambda kept=[1.5, 2.5]: len(kept)", names)  # noqa: S102 - the code of a module
    walk = KeptObjectWalk()
    walk.search([Recorder(names["size"])], None)

    assert ("Recorder.held.kept", "list") in walk.lengths


@pytest.mark.parametrize("kind", SUSPENDED)
def test_variables_of_a_suspended_call_are_found_without_a_name_for_it(kind: str):
    make, step = SUSPENDED[kind]
    call = make()
    lengths: Any = None
    places: dict[str, int] = {}
    for _ in range(3):
        step(call)
        held = [ref() for ref in suspended_calls()]
        walk = KeptObjectWalk(lengths)
        kept = walk.search([], None, held)
        lengths = walk.lengths
        places = {each.place: each.count for each in kept}

    assert places.get(f"{make.__name__}.kept") == 3


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("container", ["list", "copied tuple", "copied dict"])
def test_containers_are_found_in_each_place(container: str, place: str):
    start, add = CONTAINERS[container]

    assert_found(growths_mib(PLACES[place](start()), add, CONTENTS["dataclass"]))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", VALUES)
def test_values_that_are_replaced_by_larger_ones_are_found(value: str, place: str):
    start, add = VALUES[value]

    assert_found(growths_mib(PLACES[place](start()), add))


def test_items_that_wait_for_the_slower_of_two_iterators_are_measured():
    fast, slow = itertools.tee(np.zeros((8, 1024)) for _ in itertools.count())

    def play(held: Any, _: Any) -> Any:
        for _batch in itertools.islice(fast, 16):
            pass
        return held

    assert_found(growths_mib(attribute(slow), play))


def busy(pool: Any) -> tuple[Any, threading.Event]:
    """A pool of threads whose only worker waits."""
    goes_on = threading.Event()
    pool.submit(goes_on.wait)
    return pool, goes_on


def test_calls_that_wait_for_a_worker_count_as_those_of_their_pool():
    pool, goes_on = busy(ThreadPoolExecutor(1))
    recorder = Recorder(pool)
    walk = KeptObjectWalk({})

    for _ in range(6):
        pool.submit(id, data())
    found = walk.search([recorder], None)

    goes_on.set()
    pool.shutdown(cancel_futures=True)
    (waiting,) = [each for each in found if each.place == "Recorder.held"]
    assert (waiting.kind, waiting.container) == ("concurrent._WorkItem", "SimpleQueue")
    assert (waiting.count, waiting.n_bytes) == (6, pytest.approx(6 * MIB, rel=0.1))


def test_items_taken_out_of_a_queue_of_c_do_not_count():
    held: Any = queue.SimpleQueue()
    for n in range(40):
        held.put(n)
    for _ in range(30):
        held.get()

    assert list(read_instead(held)) == list(range(30, 40))


def test_nothing_is_taken_from_iterators():
    given = iter(range(3))
    recorder = Recorder(itertools.chain(given, map(abs, itertools.islice(range(9), 7, 9))))

    KeptObjectWalk().search([recorder], None)

    assert list(recorder.held) == [0, 1, 2, 7, 8]


def test_a_tuple_is_named_with_the_objects_in_it():
    recorder = Recorder(tuple(Trial("x" * MIB, data()) for _ in range(5)))

    (found,) = [
        each for each in KeptObjectWalk().search([recorder], None) if each.place == "Recorder.held"
    ]

    assert found.kind.endswith(".Trial")
    assert (found.container, found.count) == ("tuple", 5)
    assert found.n_bytes == pytest.approx(10 * MIB, rel=0.01)


class Hostile:
    """Fails the test where any of its code runs."""

    __slots__ = ("held",)

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


class HostileError(ValueError):
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


class HostilePartial(functools.partial[Any]):
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


class HostileTuple(tuple[Any, ...]):
    __slots__ = ()

    def __len__(self) -> int:
        raise AssertionError

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError

    def __getitem__(self, index: Any) -> Any:
        raise AssertionError(index)


def slots() -> Any:
    made = object.__new__(Hostile)
    object.__setattr__(made, "held", data())
    return made


@pytest.mark.parametrize(
    "make", [slots, lambda: HostileError(data()), lambda: HostilePartial(print, data())]
)
def test_no_code_of_an_items_class_runs(make: Callable[[], Any]):
    recorder = Recorder(HostileTuple([make() for _ in range(5)]))

    (found,) = [
        each for each in KeptObjectWalk().search([recorder], None) if each.place == "Recorder.held"
    ]

    assert found.container == "HostileTuple"
    assert found.n_bytes == pytest.approx(5 * MIB, rel=0.01)


class Loader:
    """Batches that a thread puts into a queue without a limit, as a script would."""

    def __init__(self) -> None:
        self.waiting: queue.Queue[Any] = queue.Queue()
        self.has_loaded = threading.Event()
        self.is_over = threading.Event()

    def work(self) -> None:
        for _ in range(5):
            self.waiting.put(data())
        self.has_loaded.set()
        self.is_over.wait()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.waiting.get()


def batches() -> Iterator[int]:
    for batch in filled_loader():
        yield len(batch)


def filled_loader() -> Loader:
    loader = Loader()
    loader.is_over.set()
    loader.work()
    return loader


def test_what_a_generator_iterates_over_is_searched():
    given = batches()
    next(given)

    found = KeptObjectWalk().search([Recorder(given)], None)

    assert ("Loader.waiting", "Queue", 4) in {
        (each.place, each.container, each.count) for each in found
    }


def start_loading() -> tuple[threading.Thread, threading.Event]:
    """A thread whose call alone refers to its loader."""
    loader = Loader()
    thread = threading.Thread(target=loader.work)
    thread.start()
    loader.has_loaded.wait()
    return thread, loader.is_over


@pytest.mark.parametrize("hook", [None, print])
def test_calls_of_other_threads_are_searched_unless_a_debugger_traces_them(
    hook: Callable[..., Any] | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(places, "gettrace", lambda: hook)
    monkeypatch.setattr(sys, "gettrace", lambda: None)
    thread, is_over = start_loading()
    try:
        found = KeptObjectWalk().search([], None)
    finally:
        is_over.set()
        thread.join()

    is_found = ("Loader.waiting", "Queue", 5) in {
        (each.place, each.container, each.count) for each in found
    }
    assert is_found == (hook is None)


OF_A_LIBRARY = """
class _Info:
    def __init__(self):
        self.trials = []
        self.next = None

class Storage:
    def __init__(self):
        self._infos = {0: _Info()}

    def info(self):
        return self._infos[0]

    def new_info(self):
        return _Info()
"""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    made = ModuleType("some_library")
    made.__file__ = str(tmp_path / "site-packages" / "some_library.py")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(OF_A_LIBRARY, made.__file__, "exec"), vars(made))  # noqa: S102 - as imported
    return made


def places_of(recorder: Recorder, held: list[Any]) -> list[str]:
    """Places in which a list of arrays that grows is found."""
    walk = None
    found: list[Any] = []
    for _ in range(3):
        held += [data(), data()]
        walk = KeptObjectWalk(walk and walk.lengths)
        found = walk.search([recorder], None)
    return [each.place for each in found]


def test_what_a_private_class_of_a_library_keeps_is_named_after_its_holder(library: Any):
    recorder = Recorder([library.Storage()])

    assert places_of(recorder, recorder.held[0].info().trials) == ["Storage.trials"]


def test_names_of_linked_objects_of_a_library_do_not_get_longer(library: Any):
    recorder = Recorder([library.Storage()])
    first = last = recorder.held[0].info()
    for _ in range(2):
        last.next = SimpleNamespace(inner=recorder.held[0].new_info())
        last = last.next.inner

    assert first.next is not None
    assert places_of(recorder, last.trials) == ["Storage.trials"]
