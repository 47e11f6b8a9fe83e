# pyright: basic
"""Suspended generators and coroutines of the script that no variable refers to.

The iterator of `for loss in trainer():` is on the stack of the call that runs the loop, where
nothing can read it. The garbage collector lists it among all objects, which takes 40 to 150 ms in
a process with TensorFlow: so this is done rarely, and weak references are kept in between.

No code of the script's runs.
"""

import gc
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, compress, islice, repeat
from typing import Any, Final

from kmonitor_agent.call_stacks import SUSPENDABLE, suspended_code
from kmonitor_agent.frameworks.script_files import is_script_file
from kmonitor_agent.frameworks.script_values import is_exactly

_MOST: Final = 100
"""Maximum number of them that are remembered."""

_IDENTITY: Final = object.__hash__
"""One number for each living object, without audit hooks of the script, which `id` calls."""

_IS_SUSPENDABLE: Final = frozenset(map(_IDENTITY, SUSPENDABLE)).__contains__

_FIRST_COST_S: Final = 0.15
"""Assumed cost of the first search, seconds: with 340 000 objects."""

_RARER: Final = 2.0
"""Factor by which each search comes later than the one before."""


class SuspendedCalls:
    """Generators and coroutines of the script, by weak references; owned by a counter.

    Args:
        core_fraction: Maximum part of the time that the first search may cost; later ones cost
            less.
        thread_time_s: Returns the CPU time of the calling thread, seconds.
    """

    def __init__(
        self,
        core_fraction: float,
        time_s: Callable[[], float],
        thread_time_s: Callable[[], float],
    ) -> None:
        self._fraction = core_fraction
        self._time_s = time_s
        self._thread_time_s = thread_time_s
        self._known: list[weakref.ref[Any]] = []
        self._cost_s = _FIRST_COST_S
        self._since_s = time_s()

    def alive(self) -> list[Any]:
        """Return those found by the last search that still exist."""
        return [each for ref in self._known if (each := ref()) is not None]

    def search(self) -> None:
        """Search among all objects, if the time since the last search allows it."""
        if self._cost_s > self._fraction * (self._time_s() - self._since_s):
            return
        began_s = self._thread_time_s()
        self._known = suspended_calls()
        self._cost_s = self._thread_time_s() - began_s
        self._since_s = self._time_s()
        self._fraction /= _RARER


def suspended_calls() -> list[weakref.ref[Any]]:
    """Generators and coroutines of the script, running ones included."""
    # In one go without Python code, as the lists are gone when the calls are found: while one has
    # all objects, `tuple(generator)` fails in other threads (see `ObjectCounts`). Both lists have
    # the same order, and both are read to their end: they are objects themselves, and refer to
    # the iterators that would keep them.
    objects = _all_objects()
    found = list(
        compress(
            chain(objects, repeat(None)),
            map(_IS_SUSPENDABLE, map(_IDENTITY, map(type, _all_objects()))),
        )
    )
    deque(objects, maxlen=0)  # the second list is shorter after a collection in between
    calls = (each for each in found if is_exactly(each, *SUSPENDABLE))
    of_script = (each for each in calls if is_script_file(suspended_code(each).co_filename))
    return [weakref.ref(each) for each in islice(of_script, _MOST)]


def _all_objects() -> Iterator[object]:
    """All objects, those that were created last at the end."""
    return chain.from_iterable(map(gc.get_objects, (2, 1, 0)))
