# pyright: reportImplicitOverride=false, reportAssignmentType=false
"""Objects that a script keeps are found in place, measured, and never called or kept alive."""

import asyncio
import functools
import gc
import io
import logging
import queue
import shelve
import sys
import threading
import weakref
from collections import Counter, UserDict, UserList, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from logging.handlers import MemoryHandler
from pathlib import Path
from types import ModuleType, SimpleNamespace
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

    shared: Any = ()

    def __init__(self) -> None:
        self.history: Any = []


def array(mib: float = 1.0) -> Any:
    return np.zeros((int(mib * 1024), 256), "float32")


def kept(recorder: object, lengths: Any = None) -> dict[str, KeptObjects]:
    """Findings of a search of a callback, by place."""
    walk = KeptObjectWalk(lengths)
    return {each.place: each for each in walk.search([recorder], None)}


@pytest.fixture(autouse=True)
def no_shared_arrays() -> Iterator[None]:
    yield
    Recorder.shared = ()


@pytest.mark.parametrize("container", [list, deque, lambda each: dict(enumerate(each))])
def test_arrays_in_an_attribute_are_measured(container: Callable[[Any], Any]):
    recorder = Recorder()
    recorder.history = container([array(1.5) for _ in range(12)])

    found = kept(recorder)["Recorder.history"]

    assert (found.kind, found.count, found.n_bytes) == ("numpy.ndarray", 12, 18 * MIB)
    assert (found.shape, found.dtype) == ("(1536, 256)", "float32")
    assert found.container == type(recorder.history).__name__


def filled(waiting: Any) -> Any:
    for n in range(5):
        waiting.put_nowait((n, array()))
    return waiting


@pytest.mark.parametrize(
    "make",
    [
        lambda: filled(queue.Queue()),
        lambda: filled(queue.LifoQueue()),
        lambda: filled(queue.PriorityQueue()),
        lambda: filled(asyncio.Queue()),
        lambda: UserList(array() for _ in range(5)),
        lambda: UserDict((n, array()) for n in range(5)),
    ],
)
def test_what_a_container_of_the_standard_library_holds_is_measured(make: Callable[[], Any]):
    recorder = Recorder()
    recorder.history = make()

    found = kept(recorder)["Recorder.history"]

    assert (found.kind, found.count) == ("numpy.ndarray", 5)
    assert found.n_bytes == pytest.approx(5 * MIB, rel=0.01)
    assert found.container == type(recorder.history).__name__


@pytest.mark.parametrize(("most", "capacity"), [(20, 20), (0, None)])
def test_a_queue_with_a_maximum_says_how_many_it_holds(most: int, capacity: int | None):
    recorder = Recorder()
    recorder.history = filled(queue.Queue(maxsize=most))

    assert kept(recorder)["Recorder.history"].capacity == capacity


class LogQueue(queue.Queue[Any]):
    pass


def test_a_queue_of_the_script_names_its_class():
    recorder = Recorder()
    recorder.history = filled(LogQueue())

    assert kept(recorder)["LogQueue.queue"].count == 5


@pytest.mark.parametrize("most", [None, 3])
def test_results_that_a_cached_function_keeps_without_end_are_named(most: int | None):
    @functools.lru_cache(maxsize=most)
    def load(number: int) -> Any:
        return array(1 + number % 2)

    recorder = Recorder()
    recorder.history = load
    for number in range(6):
        load(number)
    found = kept(recorder).get("Recorder.history")

    if most is None:
        assert found is not None
        named = (found.kind, found.container, found.count, found.n_bytes)
        assert named == ("numpy.ndarray", "functools.cache", 6, 9 * MIB)
    else:
        assert found is None
    assert load.cache_info().misses == 6


def test_a_variable_of_a_generator_that_waits_is_named():
    def play() -> Iterator[Any]:
        memory: list[Any] = []
        while True:
            memory.append(array())
            yield memory[-1]

    recorder = Recorder()
    recorder.history = play()
    for _ in range(4):
        next(recorder.history)

    assert kept(recorder)["play.memory"].count == 4


def test_views_of_one_array_count_its_memory_once():
    recorder = Recorder()
    recorder.history = [each[n:] for each in (array(8),) for n in range(20)]

    found = kept(recorder)["Recorder.history"]

    assert (found.count, found.n_bytes) == (20, 8 * MIB)


def test_pages_of_a_mapped_file_are_not_counted(tmp_path: Any):
    recorder = Recorder()
    path = tmp_path / "data"
    path.write_bytes(bytes(4 * MIB))
    recorder.history = [np.memmap(path, "float32")[n:] for n in range(3)]

    assert "Recorder.history" not in kept(recorder)


def test_arrays_within_records_are_found():
    recorder = Recorder()
    recorder.history = [{"epoch": n, "outputs": (array(2), "text")} for n in range(5)]

    found = kept(recorder)["Recorder.history"]

    assert (found.kind, found.count) == ("numpy.ndarray", 5)
    assert found.n_bytes == pytest.approx(10 * MIB, rel=0.01)


def test_objects_that_share_an_array_do_not_count_it_each():
    recorder, data = Recorder(), array(64)
    recorder.history = [SimpleNamespace(data=data, own=array(1)) for _ in range(6)]

    found = kept(recorder)["Recorder.history"]

    assert found.kind == "types.SimpleNamespace"
    assert found.n_bytes == pytest.approx(6 * MIB, rel=0.01)


def test_what_a_closure_refers_to_is_measured():
    recorder = Recorder()

    def reader(data: Any) -> Callable[[], Any]:
        return lambda: data

    recorder.history = [reader(array(1)) for _ in range(5)]

    found = kept(recorder)["Recorder.history"]

    assert (found.kind, found.count) == ("function", 5)
    assert found.n_bytes == pytest.approx(5 * MIB, rel=0.01)


def test_a_default_of_an_argument_is_measured():
    recorder = Recorder()

    def plotter(data: Any) -> Callable[[], Any]:
        def plot(shown: Any = data) -> Any:
            return shown

        del data
        return plot

    recorder.history = [plotter(array(1)) for _ in range(5)]

    assert kept(recorder)["Recorder.history"].n_bytes == pytest.approx(5 * MIB, rel=0.01)


def test_an_attribute_that_is_replaced_by_a_larger_one_is_named():
    recorder = Recorder()
    recorder.history = array(3)
    first = kept(recorder)["Recorder.history"]
    recorder.history = np.concatenate([recorder.history, array(2)])

    then = kept(recorder)["Recorder.history"]

    assert (first.n_bytes, then.n_bytes, then.container) == (3 * MIB, 5 * MIB, "")


def train() -> tuple[dict[str, KeptObjects], int]:
    losses = [array() for _ in range(4)]
    return kept(Recorder()), len(losses)


def test_a_variable_of_a_function_that_runs_is_named():
    found, n = train()

    assert found["train.losses"].count == n


def test_an_attribute_of_a_class_is_named():
    Recorder.shared = [array() for _ in range(4)]

    assert kept(Recorder())["Recorder.shared"].count == 4


def test_a_key_names_the_list_behind_it():
    recorder = Recorder()
    recorder.history = {"outputs": [array() for _ in range(3)]}

    assert kept(recorder)['Recorder.history["outputs"]'].count == 3


def test_what_a_callback_keeps_is_found_beside_thousands_of_variables(
    monkeypatch: pytest.MonkeyPatch,
):
    names = {f"v{n}": SimpleNamespace(n=n) for n in range(5000)}
    monkeypatch.setattr(sys.modules[__name__], "many", SimpleNamespace(**names), raising=False)
    for name, value in names.items():
        monkeypatch.setattr(sys.modules[__name__], name, value, raising=False)
    recorder = Recorder()
    recorder.history = {"outputs": [array() for _ in range(3)]}

    assert kept(recorder)['Recorder.history["outputs"]'].count == 3


def test_what_a_module_keeps_is_found_beside_thousands_of_functions(
    monkeypatch: pytest.MonkeyPatch,
):
    module = sys.modules[__name__]
    for n in range(5000):
        monkeypatch.setattr(module, f"f{n}", eval("lambda: None"), raising=False)  # noqa: S307
    holder = SimpleNamespace(held=[array() for _ in range(3)])
    monkeypatch.setattr(module, "last", {"holder": {"of": holder}}, raising=False)

    walk = KeptObjectWalk()
    walk.search([], None)

    assert walk.lengths.get(("SimpleNamespace.held", "list")) == 3


def test_numbers_are_named_only_once_they_take_a_mebibyte():
    recorder = Recorder()
    recorder.history = [0.5] * 100
    few = kept(recorder)
    recorder.history = [0.5] * 100_000

    assert "Recorder.history" not in few
    assert kept(recorder)["Recorder.history"].kind == "number"


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="a thread's attributes are out of reach")
def test_attributes_of_each_thread_are_searched():
    recorder = Recorder()
    recorder.history = threading.local()
    recorder.history.cache = [array() for _ in range(3)]

    found = kept(recorder)['Recorder.history["cache"]']

    assert (found.kind, found.container, found.count) == ("numpy.ndarray", "list", 3)


def test_the_value_of_a_context_variable_is_searched():
    recorder = Recorder()
    recorder.history = ContextVar("history")
    recorder.history.set(tuple(array() for _ in range(3)))

    found = kept(recorder)["Recorder.history"]

    assert (found.kind, found.container, found.count) == ("numpy.ndarray", "tuple", 3)


def test_entries_that_a_shelf_keeps_until_it_is_closed_are_found(tmp_path: Path):
    recorder = Recorder()
    path = str(tmp_path / "features")
    with shelve.open(path, writeback=True) as recorder.history:  # noqa: S301 - written here
        for n in range(3):
            recorder.history[str(n)] = array()

        found = kept(recorder)["Recorder.history"]

    assert (found.kind, found.count) == ("numpy.ndarray", 3)


def test_keys_that_take_more_than_the_numbers_beside_them_are_what_is_named():
    recorder = Recorder()
    recorder.history = Counter(f"word {n}" * 10 for n in range(20_000))

    found = kept(recorder)["Recorder.history"]

    assert (found.kind, found.container) == ("str", "Counter")
    assert found.n_bytes == pytest.approx(20_000 * 157, rel=0.05)


def test_texts_of_warnings_that_python_remembers_are_named(monkeypatch: pytest.MonkeyPatch):
    module = sys.modules[__name__]
    texts = {(f"sample {n} is below 1" * 10, UserWarning, 7): True for n in range(10_000)}
    monkeypatch.setattr(module, "__warningregistry__", texts, raising=False)

    found = kept(Recorder())[f"{__name__}.__warningregistry__"]

    assert (found.kind, found.container, found.count) == ("tuple", "dict", 10_000)


def test_what_holds_as_many_as_before_is_not_measured_again():
    recorder = Recorder()
    recorder.history = [array() for _ in range(4)]
    walk = KeptObjectWalk()
    walk.search([recorder], None)

    assert "Recorder.history" not in kept(recorder, walk.lengths)


def test_an_object_in_a_list_that_stays_is_looked_into():
    recorder, inner = Recorder(), Recorder()
    recorder.history = {"inner": inner}
    walk = KeptObjectWalk()
    walk.search([recorder], None)
    inner.history = deque(array() for _ in range(4))

    assert kept(recorder, walk.lengths)["Recorder.history"].container == "deque"


def test_search_that_is_late_says_so():
    walk = KeptObjectWalk(None, lambda: True)

    walk.search([Recorder()], None)

    assert walk.is_cut_short


class Hostile:
    """Fails the test at any access."""

    def __init__(self) -> None:
        vars(self)["held"] = array()

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def __len__(self) -> int:
        raise AssertionError

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    def __hash__(self) -> int:
        raise AssertionError

    def __repr__(self) -> str:
        raise AssertionError


class HostileList(list[Any]):
    __len__ = Hostile.__len__
    __iter__ = Hostile.__iter__
    __getattribute__ = Hostile.__getattribute__

    def __getitem__(self, index: Any) -> Any:
        raise AssertionError(index)


class HostileArray(np.ndarray[Any, Any]):
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


def hostile() -> Any:
    made = object.__new__(Hostile)
    object.__setattr__(made, "held", array())
    return made


def test_no_code_of_objects_that_are_kept_runs():
    recorder = Recorder()
    recorder.history = HostileList([hostile() for _ in range(5)])

    assert kept(recorder)["Recorder.history"].kind.endswith(".Hostile")


def test_no_code_of_an_array_of_the_script_runs():
    recorder = Recorder()
    recorder.history = [array().view(HostileArray) for _ in range(5)]

    assert kept(recorder)["Recorder.history"].n_bytes == 5 * MIB


def test_nothing_is_kept_alive():
    recorder = Recorder()
    recorder.history = [Recorder() for _ in range(5)]
    kept(recorder)
    references = [weakref.ref(each) for each in recorder.history]
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        recorder.history.clear()

        assert [reference() for reference in references] == [None] * 5
    finally:
        if was_enabled:
            gc.enable()


def delete_after_a_search() -> object:
    recorder = Recorder()
    reference = weakref.ref(recorder)
    kept(recorder)
    del recorder
    return reference()


def test_variable_that_a_function_deletes_is_gone_at_once():
    assert delete_after_a_search() is None


def test_locals_that_a_script_keeps_do_not_change():
    count = 1
    before = locals()
    count += 1

    kept(Recorder())

    assert (before["count"], count) == (1, 2)


def test_locals_that_a_function_keeps_in_another_way_stay():
    count = 1
    before: Any = vars()

    kept(Recorder())

    assert before["count"] == count


def test_figures_of_pyplot_are_counted(monkeypatch: pytest.MonkeyPatch):
    figure: Any = type("Figure", (), {"__module__": "matplotlib.figure"})
    helpers: Any = ModuleType("matplotlib._pylab_helpers")
    figures = {n: SimpleNamespace(canvas=SimpleNamespace(figure=figure())) for n in range(4)}
    helpers.Gcf = type("Gcf", (), {"figs": figures})
    monkeypatch.setitem(sys.modules, helpers.__name__, helpers)

    found = kept(Recorder())["matplotlib.pyplot"]

    assert (found.kind, found.count, found.n_bytes) == ("matplotlib.Figure", 4, None)


def texts(begin: str) -> Any:
    return np.array([f"{begin}{n}-{'x' * 1000}" for n in range(2000)], object)


def test_arrays_of_texts_count_with_their_texts():
    recorder = Recorder()
    recorder.history = [texts(f"{k}") for k in range(10)]
    n_bytes = sum(sys.getsizeof(each) for array in recorder.history for each in array)

    found = kept(recorder)["Recorder.history"]

    assert (found.kind, found.count) == ("numpy.ndarray", 10)
    assert (found.shape, found.dtype) == ("(2000,)", "object")
    assert found.n_bytes == pytest.approx(n_bytes, rel=0.05)


def test_texts_that_arrays_share_count_once():
    first = texts("")
    recorder = Recorder()
    recorder.history = [np.array(list(first), object) for _ in range(100)]

    found = kept(recorder)["Recorder.history"]

    assert found.n_bytes == pytest.approx(100 * first.nbytes, rel=0.1)


def test_few_texts_that_an_array_repeats_count_once():
    names = [f"{n}" * 2**14 for n in range(4)]
    recorder = Recorder()
    recorder.history = [np.array(names * 50_000, object) for _ in range(3)]

    found = kept(recorder)["Recorder.history"]

    assert found.n_bytes == pytest.approx(3 * 200_000 * 8, rel=0.1)


def test_columns_of_a_table_count_with_their_texts():
    pandas = pytest.importorskip("pandas")
    recorder = Recorder()
    recorder.history = [
        pandas.DataFrame(
            {
                "id": [f"{k}-{n}-{'x' * 100}" for n in range(5000)],
                "bucket": pandas.Categorical(["low", "high"] * 2500),
                "rank": pandas.array(range(5000), dtype="Int64"),
            }
        )
        for k in range(10)
    ]

    found = kept(recorder)["Recorder.history"]

    assert (found.kind, found.count, found.shape) == ("pandas.DataFrame", 10, "(5000, 3)")
    deep = sum(int(each.memory_usage(deep=True).sum()) for each in recorder.history)
    assert found.n_bytes == pytest.approx(deep, rel=0.1)


def test_arguments_of_finalizers_are_measured_once_there_are_more(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(weakref.finalize, "_registry", {})  # without those of PyTorch
    recorder = Recorder()
    ends: list[Any] = []
    lengths = None
    found: list[KeptObjects | None] = []
    for _ in range(3):
        ends += [weakref.finalize(recorder, list, array(2)) for _ in range(6)]
        walk = KeptObjectWalk(lengths)
        by_place = {each.place: each for each in walk.search([recorder], None)}
        found.append(by_place.get("weakref.finalize"))
        lengths = walk.lengths

    for each in ends:
        each.detach()
    first, before, last = found
    assert first is None
    assert before is not None
    assert last is not None
    assert (last.kind, last.count - before.count) == ("numpy.ndarray", 6)
    assert (last.n_bytes or 0) - (before.n_bytes or 0) == pytest.approx(12 * MIB, rel=0.5)


def test_packages_installed_into_a_folder_of_their_own_are_not_the_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    recorder: Any = Recorder()
    for folder, package in (("lib", "table-1.0.dist-info"), ("mine", "table")):
        (tmp_path / folder / package).mkdir(parents=True)
        monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / folder)])
        module = ModuleType(f"{folder}_table")
        module.__file__ = str(tmp_path / folder / "table.py")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        kept_here = {"__module__": module.__name__, "kept": [array(2) for _ in range(6)]}
        setattr(recorder, folder, type(f"Of{folder}", (), kept_here))

    found = kept(recorder)

    assert "Ofmine.kept" in found
    assert "Oflib.kept" not in found


def test_entries_of_the_search_path_are_never_asked_for_their_text(
    monkeypatch: pytest.MonkeyPatch,
):
    class Entry:
        n_asked = 0

        def __str__(self) -> str:
            Entry.n_asked += 1
            return "."

    monkeypatch.setattr(sys, "path", [*sys.path, Entry()])

    kept(Recorder())

    assert Entry.n_asked == 0


def test_records_that_a_log_handler_keeps_are_measured():
    class Kept(logging.Handler):
        def __init__(self) -> None:
            super().__init__()
            self.records: list[logging.LogRecord] = []

        def emit(self, record: logging.LogRecord) -> None:
            self.records.append(record)

    waiting = MemoryHandler(10**9, logging.CRITICAL, flushOnClose=False)
    own = Kept()
    for n in range(2000):
        for handler in (waiting, own):
            record = logging.makeLogRecord({"msg": f"{n}" * 500, "levelno": 10})
            handler.handle(record)

    found = kept(Recorder())

    waiting.close()
    for place in ("MemoryHandler.buffer", "Kept.records"):
        assert (found[place].kind, found[place].count) == ("logging.LogRecord", 2000)


def test_frames_of_the_last_error_are_measured(monkeypatch: pytest.MonkeyPatch):
    def fails() -> None:
        outputs = array(4)
        raise ValueError(len(outputs))

    try:
        fails()
    except ValueError as exc:
        monkeypatch.setattr(sys, "last_value", exc, raising=False)

    found = kept(Recorder())["sys.last_traceback"]

    assert (found.kind, found.shape) == ("numpy.ndarray", "(4096, 256)")


CELL = """
def fails():
    raise ValueError("1 MiB is enough")

try:
    fails()
except ValueError as exc:
    error = exc
"""


def test_variables_of_a_notebook_are_no_part_of_its_last_error():
    variables: dict[str, Any] = {"outputs": array(8)}
    exec(CELL, variables)  # noqa: S102 - as a notebook runs it

    assert SizeReader().tree(variables["error"]).n_bytes < MIB


def test_buffers_of_bytes_count_once():
    size = SizeReader().tree([io.BytesIO(bytes(4 * MIB)) for _ in range(3)])

    assert size.n_bytes == pytest.approx(12 * MIB, rel=0.01)


class NamedByItself(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise AssertionError("code of the script's ran")


def test_names_that_are_no_plain_texts_are_never_asked():
    recorder = Recorder()
    recorder.history = [array() for _ in range(5)]
    vars(recorder)[NamedByItself("more")] = [array() for _ in range(5)]

    assert set(kept(recorder)) == {"Recorder.history"}


def test_pair_of_containers_is_no_container_of_its_own():
    recorder = Recorder()
    recorder.history = ({}, [array(4) for _ in range(20)])

    assert {each.n_bytes for each in kept(recorder).values()} == {80 * MIB}
