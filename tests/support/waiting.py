"""Wait for a condition of a foreign process, with a deadline; never a plain sleep."""

import math
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_REPORTED_S: Final = 5.0
"""A wait ends so long before its test is ended from outside, so that it can say what failed."""

DEADLINE_S: Final = 300.0
"""Distinguishes a hang from a slow machine, also from one whose load is ten times its cores.

Every wait, join and timeout of a test takes this one, or a multiple where a quiet machine needs
more than half a minute. A deadline that is met costs nothing, so none is chosen to fit.
"""

DEADLINE_MS: Final = 100_000
"""The same, for Qt, whose waits are for this process; shorter than the limit of a test."""

_test_ends_s = math.inf


def set_test_limit(limit_s: float) -> None:
    """End the waits of the test that begins now before its own limit ends the process."""
    global _test_ends_s  # noqa: PLW0603 - one test at a time
    _test_ends_s = time.monotonic() + limit_s - _REPORTED_S


def wait_until(condition: Callable[[], T], deadline_s: float = DEADLINE_S, what: str = "") -> T:
    """The first true result of `condition`.

    The deadline distinguishes a hang from a slow machine; it does not state how long a thing
    may take.

    Raises:
        AssertionError: It did not become true in `deadline_s` seconds, or before the test's limit.
    """
    began = time.monotonic()
    end = min(began + deadline_s, _test_ends_s)
    pause, pause_s = threading.Event(), 0.001
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(
                f"not within {time.monotonic() - began:.0f} s: {what or condition}"
            )
        pause.wait(pause_s)
        pause_s = min(pause_s * 2, 0.02)
