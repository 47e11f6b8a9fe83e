"""Wait for a condition of a foreign process, with a deadline; never a plain sleep."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], deadline_s: float = 60.0, what: str = "") -> T:
    """The first true result of `condition`.

    The deadline tells a hang from a slow machine; it is no statement of how long a thing may
    take.

    Raises:
        AssertionError: It did not become true in `deadline_s` seconds.
    """
    end = time.monotonic() + deadline_s
    pause = threading.Event()
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s:g} s: {what or condition}")
        pause.wait(0.02)
