"""Things that libraries keep for a script where no object of Python leads to them."""

import atexit
import functools
import sqlite3
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.kept import library_memory
from kmonitor_agent.frameworks.kept.search import KeptObjectWalk
from kmonitor_agent.wire.messages.readings import KeptObjects

pytestmark = pytest.mark.usefixtures("this_module_alone")

MIB = 2**20


def newest(place: str, step: Callable[[int], object]) -> list[KeptObjects]:
    """Results of three searches for a place, each after a step."""
    lengths = None
    found: list[KeptObjects] = []
    for n in range(1, 4):
        step(n)
        walk = KeptObjectWalk(lengths)
        found += [each for each in walk.search([], None) if each.place == place]
        lengths = walk.lengths
    return found


def test_functions_that_are_called_at_the_exit_are_counted():
    functions: list[Any] = []

    def register(_: int) -> None:
        functions.append(functools.partial(print, end=""))
        atexit.register(functions[-1])

    found = newest("atexit", register)
    for each in functions:
        atexit.unregister(each)

    first, last = [each.count for each in found]
    assert last == first + 1
    assert {each.n_bytes for each in found} == {None}


def test_a_python_that_does_not_count_them_has_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library_memory, "_COUNT_AT_EXIT", None)

    found = newest("atexit", lambda _: atexit.register(print))
    atexit.unregister(print)

    assert found == []


def test_memory_of_databases_is_measured():
    database = sqlite3.connect(":memory:")
    database.execute("create table kept(data blob)")

    def insert(_: int) -> None:
        database.execute("insert into kept values(?)", (bytes(2 * MIB),))

    found = newest("sqlite3", insert)
    database.close()

    if not found:
        pytest.skip("this Python hides SQLite's functions")
    sizes = [each.n_bytes or 0.0 for each in found]
    assert np.diff(sizes).tolist() == pytest.approx([2 * MIB] * 2, rel=0.2)


@pytest.mark.parametrize("package", ["keras", "tf_keras"])
def test_functions_registered_with_keras_are_found_with_what_they_refer_to(
    package: str, monkeypatch: pytest.MonkeyPatch
):
    module = ModuleType("object_registration")
    registry: dict[str, Any] = {}
    module.__dict__["GLOBAL_CUSTOM_OBJECTS"] = registry
    monkeypatch.setitem(sys.modules, f"{package}.src.saving.object_registration", module)

    def register(n: int) -> None:
        for k in range(2):
            weights = np.ones(MIB // 8)
            registry[f"loss_{n}_{k}"] = lambda y, weights=weights: y * weights

    found = newest("keras.saving.get_custom_objects", register)

    assert [each.count for each in found] == [2, 4, 6]
    assert [each.n_bytes for each in found] == pytest.approx([2 * MIB, 4 * MIB, 6 * MIB], rel=0.05)
