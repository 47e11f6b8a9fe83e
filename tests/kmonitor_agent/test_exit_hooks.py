"""The agent registers one function with `atexit`, for any number of runs."""

import atexit
from collections.abc import Callable
from typing import Any

import pytest

from kmonitor_agent.exit_hooks import ExitHooks


class Recorder:
    def __init__(self, close: Callable[[], object]) -> None:
        self.close: Any = close


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Functions registered with `atexit`, which are not called."""
    functions: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", functions.append)
    return functions


def test_objects_added_again_and_again_are_closed_by_one_function(
    registered: list[Callable[[], None]],
):
    hooks = ExitHooks()
    closed: list[str] = []
    link, run, ended = (Recorder(lambda name=name: closed.append(name)) for name in "lre")

    for each in (run, link, ended, run):
        hooks.add(each)
    hooks.remove(ended)
    (close_all,) = registered
    close_all()

    assert closed == ["r", "l"]


def test_one_that_fails_leaves_the_others_closed(registered: list[Callable[[], None]]):
    hooks = ExitHooks()
    closed: list[str] = []
    hooks.add(Recorder(lambda: closed.append("link")))
    hooks.add(Recorder(lambda: list[int]().pop()))

    registered[0]()

    assert closed == ["link"]
