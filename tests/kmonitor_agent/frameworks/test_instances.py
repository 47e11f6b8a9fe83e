"""Instances are found while other threads go on making objects."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from kmonitor_agent.frameworks.kept.suspended import suspended_calls
from kmonitor_agent.frameworks.live_objects import instances_of
from kmonitor_agent.probes.heap import ObjectCounts
from tests.support.waiting import DEADLINE_S, wait_until


class Kind:
    """One to be found."""


class Derived(Kind):
    """Another."""


def test_instances_of_a_class_and_of_those_that_derive_from_it_are_found():
    some = [Kind(), Derived()]

    assert {id(each) for each in instances_of([Kind, Derived])} == {id(each) for each in some}
    assert instances_of([Derived]) == some[1:]
    assert instances_of([]) == []


@pytest.fixture
def making() -> Iterator[list[BaseException]]:
    """A thread that makes tuples from generators, and what failed there."""
    failed: list[BaseException] = []
    is_over = threading.Event()
    begun = threading.Event()

    def make() -> None:
        while not is_over.is_set():
            try:
                tuple(str(number) for number in range(300))
            except SystemError as exc:
                failed.append(exc)
            begun.set()

    thread = threading.Thread(target=make)
    thread.start()
    wait_until(begun.is_set)
    yield failed
    is_over.set()
    thread.join(DEADLINE_S)


@pytest.mark.slow
@pytest.mark.parametrize(
    "look", [lambda: instances_of([Kind]), lambda: ObjectCounts().count(), suspended_calls]
)
def test_tuples_that_another_thread_fills_stay_whole(
    making: list[BaseException], look: Callable[[], object]
):
    many = [[number] for number in range(200_000)]

    for _ in range(10):
        look()

    assert many
    assert not making


HOOKED = """
import sys
from kmonitor_agent.probes.heap import ObjectCounts

mine = []
references = []
sys.addaudithook(lambda *_: references.append(sys.getrefcount(mine)))
before = sys.getrefcount(mine)
ObjectCounts().count()
print(len(references) > 0, max(references) - before)
"""


def test_no_audit_hook_of_a_script_runs_while_its_objects_are_referred_to():
    """Other threads would go on there, and their tuples have one reference too many."""
    # In its own process: a hook stays until the process ends.
    ran = subprocess.run(
        [sys.executable, "-c", HOOKED],
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_S,
    )

    assert ran.stdout == "True 0\n"
