# pyright: basic
"""Things that libraries keep for a script where no object of Python leads to them, by count.

Functions for `atexit` are in an array of C. SQLite counts the memory of all its databases itself:
those in memory (`:memory:`) grow with each row.
"""

import atexit
import ctypes
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import instance_dict

AT_EXIT: Final = "atexit"
SQLITE: Final = "sqlite3"

_LOADED_ONLY: Final = getattr(os, "RTLD_NOLOAD", ctypes.DEFAULT_MODE)
"""Mode of opening a library that loads nothing."""

Place = tuple[str, str]
"""See `search.Place`."""

_AT_EXIT: Final[Place] = (AT_EXIT, "")

_COUNT_AT_EXIT: Final[Callable[[], int] | None] = getattr(atexit, "_ncallbacks", None)


def counted_by_libraries(
    before: Mapping[Place, int] | None, counts: dict[Place, int]
) -> Iterator[tuple[str, int, int | None, str]]:
    """Functions to call at the exit if others were counted before, and the memory of SQLite.

    That takes below 10 us.

    Args:
        before: Counts of the search before by place; None: this is the first one.
        counts: Takes the new ones.

    Yields:
        Kind, number, size (bytes; None: unknown) and location.
    """
    n_functions = 0 if _COUNT_AT_EXIT is None else _COUNT_AT_EXIT()
    counts[_AT_EXIT] = n_functions
    if before is not None and n_functions != before.get(_AT_EXIT):
        yield "function", n_functions, None, AT_EXIT
    path = instance_dict(sys.modules.get("_sqlite3")).get("__file__")
    memory_used = _memory_used(path) if type(path) is str else None
    if memory_used is not None:
        yield "sqlite3.memory", 1, memory_used(), SQLITE


@functools.lru_cache(maxsize=1)
def _memory_used(path: str) -> Callable[[], int] | None:
    """SQLite's own function in the library that Python has loaded; None: it hides it.

    Source: https://www.sqlite.org/c3ref/memory_highwater.html
    """
    try:
        function: Any = ctypes.CDLL(path, _LOADED_ONLY).sqlite3_memory_used
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_int64
    return function
