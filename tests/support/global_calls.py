# pyright: basic
"""Calls that draw from or set what belongs to the script, heard as they are made.

A state that is put back looks untouched afterwards (`process_state`): another thread can have seen
it meanwhile. Here every such call of one thread is heard, and named with where it was made. Calls
that C makes of C are not.
"""

import _locale
import _socket
import _warnings
import decimal
import faulthandler
import gc
import os
import random
import resource
import sys
import threading
import time
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_SETTERS: Final = {
    _locale: ("setlocale", "bindtextdomain", "textdomain"),
    _socket: ("setdefaulttimeout",),
    _warnings: ("_filters_mutated",),
    decimal: ("setcontext",),
    faulthandler: ("enable", "disable", "register", "unregister"),
    gc: ("disable", "enable", "freeze", "unfreeze", "set_debug", "set_threshold"),
    os: (
        *("chdir", "fchdir", "chroot", "umask", "nice", "setpriority", "setpgid", "setsid"),
        *("putenv", "unsetenv", "setuid", "setgid", "setgroups", "sched_setaffinity"),
    ),
    resource: ("setrlimit",),
    sys: (
        *("setrecursionlimit", "setswitchinterval", "set_int_max_str_digits", "setdlopenflags"),
        *("settrace", "set_asyncgen_hooks"),
    ),
    time: ("tzset",),
    tracemalloc: ("start", "stop", "clear_traces"),
}

_SIGNALS: Final = ("signal", "siginterrupt", "set_wakeup_fd", "setitimer", "alarm")

_READS: Final = frozenset({"getstate", "get_state", "__getstate__", "__reduce__"})
"""Methods of a generator that take nothing from it."""


def _of_signal() -> list[Any]:
    # `signal.signal` is Python's own around the one of `_signal`.
    inner = sys.modules["_signal"]
    return [getattr(inner, name) for name in (*_SIGNALS, "pthread_sigmask")]


SETTERS: Final = frozenset(
    [
        *(getattr(module, name) for module, names in _SETTERS.items() for name in names
          if hasattr(module, name)),
        *_of_signal(),
    ]
)  # fmt: skip


def _generators() -> tuple[Any, ...]:
    numpy = sys.modules.get("numpy")
    own: Any = random.random
    return (own.__self__,) if numpy is None else (own.__self__, numpy.random.random.__self__)


class GlobalCalls:
    """Calls that were heard.

    Attributes:
        found: Each call with the lines that led to it, outermost first.
        calls: Number of calls into C that were heard at all.
        threads: Names of the threads that were heard.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self.calls = 0
        self.threads: set[str] = set()
        self._generators = _generators()

    def hear(self, frame: FrameType, event: str, called: Any) -> None:
        """For `sys.setprofile`."""
        if event != "c_call":
            return
        self.calls += 1
        of_generator = any(getattr(called, "__self__", None) is one for one in self._generators)
        draws = of_generator and called.__name__ not in _READS
        if draws or (not of_generator and called in SETTERS and not _only_reads(called, frame)):
            self.found.append(f"{called.__qualname__} {_lines(frame)}")

    @contextmanager
    def on_this_thread(self) -> Generator[None]:
        """Hear the calls of the block."""
        before = sys.getprofile()
        sys.setprofile(self.hear)
        try:
            yield
        finally:
            sys.setprofile(before)


@contextmanager
def heard_on_our_threads() -> Generator[GlobalCalls]:
    """Hear every call of each thread of ours that starts within the block.

    Threads go by their names, whatever they run.
    """
    heard = GlobalCalls()

    def hear(frame: FrameType, event: str, called: Any) -> None:
        name = threading.current_thread().name
        if name.startswith("kmonitor"):
            heard.threads.add(name)
            heard.hear(frame, event, called)
        elif threading.current_thread().ident is not None:
            sys.setprofile(None)

    before = threading.getprofile()
    threading.setprofile(hear)  # pyright: ignore[reportArgumentType]
    try:
        yield heard
    finally:
        threading.setprofile(before)  # pyright: ignore[reportArgumentType]


def _only_reads(called: Any, frame: FrameType) -> bool:
    # `locale.getlocale()` and `setlocale(category)` query by the same function.
    return called is _locale.setlocale and frame.f_locals.get("locale", "") is None


def _lines(frame: FrameType | None) -> str:
    found: list[str] = []
    while frame is not None and len(found) < 12:
        found.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(found)
