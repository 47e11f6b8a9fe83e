"""Wait for a condition of a foreign process, with a deadline; never a plain sleep."""

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

DEADLINE_S: Final = 300.0
"""Tells a hang from a slow machine, also from one whose load is ten times its cores.

Every wait, join and timeout of a test takes this one, or a multiple where a quiet machine needs
more than half a minute. A deadline that is met costs nothing, so none is chosen to fit.
"""

DEADLINE_MS: Final = 300_000
"""The same, for Qt."""


def wait_until(condition: Callable[[], T], deadline_s: float = DEADLINE_S, what: str = "") -> T:
    """The first true result of `condition`.

    The deadline tells a hang from a slow machine; it is no statement of how long a thing may
    take.

    Raises:
        AssertionError: It did not become true in `deadline_s` seconds.
    """
    end = time.monotonic() + deadline_s
    pause, pause_s = threading.Event(), 0.001
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s:g} s: {what or condition}")
        pause.wait(pause_s)
        pause_s = min(pause_s * 2, 0.02)
