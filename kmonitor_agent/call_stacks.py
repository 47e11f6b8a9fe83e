"""The calls that each thread is in, and their variables, read without a trace of that."""

import contextlib
import gc
import sys
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from itertools import accumulate, repeat
from types import FrameType
from typing import Any, Final

_COLLECTS_AMID: Final = sys.version_info < (3, 12)
"""Whether making an object can begin a garbage collection, and with it any code of the script."""

DATA_NAMES: Final = frozenset({"aggregator", "data_handler", "epoch_iterator"})
"""A variable of the loop of v1 graph mode, of tf_keras 2's `fit` and of Keras 3's, by which their
frames are known: those hold the data."""

Stacks = dict[int, Iterable[FrameType]]
"""Frames of each thread by its identifier, the innermost first."""


@contextlib.contextmanager
def call_stacks() -> Generator[Stacks, None, None]:
    """Every thread's frames, for as long as the block lasts.

    Python makes the object of a frame when it is first asked for. Up to 3.11 that can begin a
    garbage collection, and a finalizer in it let that very thread go on: it leaves the call whose
    frame is being made an object of, and the process crashes. So no collection begins within the
    block, of which the script only notices that it comes a moment later; and a thread's frames are
    read in one piece, without a step of Python's between them.
    """
    is_paused = _COLLECTS_AMID and gc.isenabled()
    if is_paused:
        gc.disable()
    stacks: Stacks = {}
    try:
        innermost = sys._current_frames()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - documented
        stacks.update((thread, _callers(frame)) for thread, frame in innermost.items())
        yield stacks
    finally:
        stacks.clear()  # frames keep what their calls hold
        if is_paused:
            gc.enable()


@contextlib.contextmanager
def locals_of(frame: FrameType) -> Generator[Mapping[str, Any], None, None]:
    """A call's variables by name, for as long as the block lasts.

    Up to Python 3.12 they are a snapshot that the frame keeps. That of Keras' `fit` would hold the
    first epoch's iterator until `fit` returns, which then waits for its threads, for 20 s and
    more (seen): it is cleared. A script's own stays: it may have asked for it by `locals()`.
    """
    found: Any = frame.f_locals
    try:
        yield found
    finally:
        if isinstance(found, dict) and not DATA_NAMES.isdisjoint(frame.f_code.co_varnames):
            found.clear()


def is_of_keras(frame: FrameType) -> bool:
    """Whether a call is of Keras' own code, not of a script's class that overrides it."""
    return str(frame.f_globals.get("__name__", "")).startswith(("keras.", "tf_keras."))


def _callers(frame: FrameType) -> Iterable[FrameType]:
    """A frame and those that called it."""
    found: deque[FrameType | None] = deque()
    with contextlib.suppress(AttributeError):  # the outermost one's caller is None, which has none
        found.extend(accumulate(repeat("f_back"), getattr, initial=frame))
    return [each for each in found if each is not None]
