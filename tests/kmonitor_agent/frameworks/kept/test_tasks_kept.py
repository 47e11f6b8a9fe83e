"""Results of futures, and tasks of asyncio that never end, count with what they hold."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.kept.search import KeptObjectWalk
from kmonitor_agent.wire.messages.readings import KeptObjects

pytestmark = pytest.mark.usefixtures("this_module_alone")

MIB = 2**20
KEPT: list[Any] = []
TASKS: set[Any] = set()


class Uploads:
    """A loop with tasks that wait for an event that is never set."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.event = asyncio.Event()
        self.tasks: tuple[Any, ...] = ()

    def start(self) -> Any:
        task = self.loop.create_task(self._upload(data()))
        self.loop.run_until_complete(asyncio.sleep(0))
        return task

    async def _upload(self, payload: Any) -> float:
        await self.event.wait()
        return float(payload.sum())


@pytest.fixture
def uploads() -> Iterator[Uploads]:
    found = Uploads()
    yield found
    found.event.set()
    found.loop.run_until_complete(asyncio.sleep(0))
    found.loop.run_until_complete(asyncio.sleep(0))
    found.loop.close()
    KEPT.clear()
    TASKS.clear()


def data() -> Any:
    return np.full(2 * MIB // 8, 1.5)


def search_twice(grow: Any) -> list[KeptObjects]:
    for _ in range(4):
        grow()
    first = KeptObjectWalk()
    first.search([], None)
    for _ in range(4):
        grow()
    return KeptObjectWalk(first.lengths).search([], None)


def summary(found: list[KeptObjects]) -> list[tuple[str, str, str, int, int]]:
    return [
        (each.place, each.container, each.kind, each.count, round((each.n_bytes or 0) / MIB))
        for each in found
    ]


def ended() -> Any:
    future: Future[Any] = Future()
    future.set_result(data())
    return future


def test_results_of_futures_that_a_list_keeps_are_measured(uploads: Uploads):
    found = search_twice(lambda: KEPT.append(ended()))

    place = f"{__name__}.KEPT"
    assert summary(found) == [(place, "list", "concurrent.Future", 8, 16)]


def test_tasks_that_the_script_keeps_count_there_each_with_its_own(uploads: Uploads):
    found = search_twice(lambda: TASKS.add(uploads.start()))

    assert summary(found) == [(f"{__name__}.TASKS", "set", "asyncio.Task", 8, 16)]


def test_tasks_that_only_asyncio_keeps_are_found(uploads: Uploads):
    found = search_twice(uploads.start)

    assert summary(found) == [("asyncio.all_tasks", "set", "asyncio.Task", 8, 16)]


def test_tasks_that_have_ended_are_not_asyncios(uploads: Uploads):
    def end() -> None:
        uploads.loop.run_until_complete(asyncio.sleep(0, data()))

    assert search_twice(end) == []
