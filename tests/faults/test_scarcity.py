"""A process that is short of descriptors, tasks or memory is never ended by our connection.

libzmq calls abort() where it cannot have what it takes, so each point of this grid is a process of
its own: a hub is started, lost and started again while that process has only so much left, from
before the agent begins or from after it has connected.
"""

import contextlib
from dataclasses import dataclass

import pytest
from typing_extensions import override

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from tests.support.fake_hub import FakeHub
from tests.support.scarce_agent import ScarceAgent, task_group, why_no_group

ROUNDS = 3


@dataclass(frozen=True)
class Point:
    """A scarce resource: its kind, the amount left and since when; memory in MiB."""

    kind: str
    left: int
    when: str

    @override
    def __str__(self) -> str:
        return f"{self.left} {self.kind} {self.when}"


LEFT = {
    "descriptors": [*range(33), 36, 40, 48, 56, 64],
    "tasks": list(range(9)),
    "memory": [*range(0, 33, 2), 36, 40, 48, 56, 64],
}
GRID = [
    Point(kind, left, when)
    for kind, steps in LEFT.items()
    for left in steps
    for when in ("before", "after")
]
KNOWN = [
    Point("descriptors", 6, "before"),
    Point("descriptors", 7, "before"),
    Point("descriptors", 8, "before"),
    Point("descriptors", 24, "before"),
    Point("descriptors", 0, "after"),
    Point("tasks", 2, "before"),
    Point("tasks", 3, "before"),
    Point("tasks", 0, "after"),
    Point("memory", 4, "before"),
    Point("memory", 18, "before"),
    Point("memory", 0, "after"),
    Point("memory", 4, "after"),
]
"""Points where 0.1 was aborted, and the edges."""


def run_point(point: Point, folders: Folders) -> tuple[int, str]:
    """Exit status and error text of such a process, with a hub that comes and goes."""
    with contextlib.ExitStack() as stack:
        name = f"{point.left}-{point.when}"
        group = stack.enter_context(task_group(name)) if point.kind == "tasks" else None
        agent = ScarceAgent(point.kind, point.left, point.when, group)
        turns = 0
        for _ in range(ROUNDS):
            with FakeHub(ingest_socket_path(folders)) as hub:
                agent.go()
                turns += 1
                hub.serve_until(lambda want=turns: agent.has_turned(want))
            agent.go()
            turns += 1
            while not agent.has_turned(turns):
                agent.process.poll()
        text = agent.end()
    return agent.process.returncode, text


def check(point: Point, folders: Folders) -> None:
    """No abort, none of libzmq's assertions, no traceback of ours."""
    if point.kind == "tasks" and (why := why_no_group()):
        pytest.skip(why)
    status, text = run_point(point, folders)

    assert status >= 0, f"ended by signal {-status}: {text}"
    assert "(src/" not in text, text
    assert "kmonitor_agent" not in text, text


@pytest.mark.promise(17)
@pytest.mark.slow
@pytest.mark.parametrize("point", KNOWN, ids=str)
def test_a_process_that_is_short_is_not_aborted(point: Point, folders: Folders):
    check(point, folders)


@pytest.mark.promise(17)
@pytest.mark.full
@pytest.mark.parametrize("point", [each for each in GRID if each not in KNOWN], ids=str)
def test_a_process_that_is_short_is_not_aborted_anywhere_on_the_grid(
    point: Point, folders: Folders
):
    check(point, folders)
