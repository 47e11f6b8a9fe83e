"""The calls that each thread is in, and their variables, read without a trace of that."""

import contextlib
import gc
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from itertools import accumulate, compress, cycle, repeat, takewhile
from operator import call
from types import FrameType
from typing import Any, Final, TypeVar, cast

_COLLECTS_AMID: Final = sys.version_info < (3, 12)
"""Whether making an object can begin a garbage collection, and with it any code of the script."""

DATA_NAMES: Final = frozenset({"aggregator", "data_handler", "epoch_iterator"})
"""A variable of the loop of v1 graph mode, of tf_keras 2's `fit` and of Keras 3's, by which their
frames are known: those hold the data."""

_call: Final[Callable[[Callable[[], object]], object]] = call
"""As the type checker follows it."""

Found = TypeVar("Found")

Stacks = dict[int, Iterable[FrameType]]
"""Frames of each thread by its identifier, the innermost first."""


@contextlib.contextmanager
def call_stacks() -> Generator[Stacks, None, None]:
    """Every thread's frames, for as long as the block lasts.

    Python makes the object of a frame when it is first asked for. Up to 3.11 that can begin a
    garbage collection, and a finalizer in it let that very thread go on: it leaves the call whose
    frame is being made an object of, and the process crashes. So each thread's frames are read in
    one piece, without a collection and without a step of Python's in between (`_call_atomically`).
    """
    stacks: Stacks = {}
    try:
        innermost = _call_atomically(sys._current_frames)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - documented
        stacks.update((thread, _callers(frame)) for thread, frame in innermost.items())
        yield stacks
    finally:
        stacks.clear()  # frames keep what their calls hold


@contextlib.contextmanager
def frame_locals(frame: FrameType) -> Generator[Mapping[str, Any], None, None]:
    """A call's variables by name, for as long as the block lasts.

    Up to Python 3.12 they are a snapshot that the frame keeps. That of Keras' `fit` would hold the
    first epoch's iterator until `fit` returns, which then waits for its threads, for 20 s and
    more (seen): it is cleared. A script's own stays: it may have asked for it by `locals()`.
    """
    variables: Any = _call_atomically(partial(getattr, frame, "f_locals"))
    try:
        yield variables
    finally:
        if isinstance(variables, dict) and not DATA_NAMES.isdisjoint(frame.f_code.co_varnames):
            variables.clear()


def generator_frame(generator: Generator[Any, Any, Any]) -> FrameType | None:
    """A generator's frame, made as those of `call_stacks`; None if it has ended."""
    return _call_atomically(partial(getattr, generator, "gi_frame"))


def is_keras_frame(frame: FrameType) -> bool:
    """Whether a call is of Keras' own code, not of a script's class that overrides it."""
    return str(frame.f_globals.get("__name__", "")).startswith(("keras.", "tf_keras."))


def _callers(frame: FrameType) -> Iterable[FrameType]:
    frames: deque[FrameType] = deque()
    # The outermost one's caller is None, which ends it.
    callers = takewhile(bool, accumulate(repeat("f_back"), getattr, initial=frame))
    _call_atomically(partial(frames.extend, callers))
    return frames


def _call_atomically(read: Callable[[], Found]) -> Found:
    """What a function of C's gives, called with no garbage collection and no other thread between.

    Collections are switched off for that, which no other thread may see: one that asks whether
    they are on, to have them on again later, would leave them off for good. So all of it is one
    expression that Python hands to C: it lets other threads run between its own steps only.
    """
    if not _COLLECTS_AMID:
        return read()
    # One question, whose answer holds for all three: nothing is switched that was off.
    are_on = cycle(map(_call, (gc.isenabled,)))
    try:
        results = tuple(map(_call, compress((gc.disable, read, gc.enable), are_on)))
    except BaseException:
        if next(are_on):
            gc.enable()
        raise
    return cast("Found", results[1]) if results else read()
