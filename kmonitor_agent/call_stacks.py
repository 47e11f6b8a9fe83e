"""Call stacks of all threads and their variables, read without side effects."""

import contextlib
import gc
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from itertools import accumulate, compress, cycle, repeat, takewhile
from operator import call
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any, Final, TypeVar, cast

_COLLECTS_AMID: Final = sys.version_info < (3, 12)
"""True if creating an object can start a garbage collection, and so run any code of the script."""

DATA_NAMES: Final = frozenset({"aggregator", "data_handler", "epoch_iterator"})
"""Names of variables that identify the frames that hold the data: of the loop of v1 graph mode, of
tf_keras 2's `fit`, and of Keras 3's `fit`."""

_call: Final[Callable[[Callable[[], object]], object]] = call
"""`operator.call` with a type that the type checker can follow."""

Found = TypeVar("Found")

Stacks = dict[int, Iterable[FrameType]]
"""Frames of each thread by its identifier, the innermost first."""


@contextlib.contextmanager
def call_stacks() -> Generator[Stacks, None, None]:
    """Frames of every thread, valid inside the block.

    Python creates the object of a frame when it is first requested. Up to 3.11 that can start a
    garbage collection, whose finalizers can let that very thread continue: it leaves the call
    whose frame object is being created, and the process crashes. So each thread's frames are read
    in one piece, without a collection and without a Python step in between (`_call_atomically`).
    """
    stacks: Stacks = {}
    try:
        innermost = _call_atomically(sys._current_frames)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - documented
        stacks.update((thread, _callers(frame)) for thread, frame in innermost.items())
        # This call is among them: it would keep itself alive, and from Python 3.12 on its callers.
        innermost.clear()
        yield stacks
    finally:
        stacks.clear()  # frames keep what their calls hold


@contextlib.contextmanager
def frame_locals(frame: FrameType) -> Generator[Mapping[str, Any], None, None]:
    """A call's variables by name, valid inside the block.

    Up to Python 3.12 the mapping is a snapshot that the frame keeps. The snapshot of Keras' `fit`
    would hold the first epoch's iterator until `fit` returns, which then waits for its threads for
    20 s and more (observed): it is cleared. The snapshot of a script's own function stays: the
    script may have requested it by `locals()`.
    """
    variables: Any = _call_atomically(partial(getattr, frame, "f_locals"))
    try:
        yield variables
    finally:
        if isinstance(variables, dict) and not DATA_NAMES.isdisjoint(frame.f_code.co_varnames):
            variables.clear()


_PREFIXES: Final[dict[type, str]] = {
    GeneratorType: "gi",
    CoroutineType: "cr",
    AsyncGeneratorType: "ag",
}
"""Beginnings of the names of their attributes."""

SUSPENDABLE: Final = tuple(_PREFIXES)
"""Classes of generators and coroutines."""


def suspended_code(call: Any) -> CodeType:
    """Code of a generator or coroutine.

    Args:
        call: An object of one of the `SUSPENDABLE` classes.
    """
    return getattr(call, f"{_PREFIXES[type(call)]}_code")


def suspended_frame(call: Any) -> FrameType | None:
    """Frame of a generator or coroutine, read like those of `call_stacks`; None if it has ended.

    Args:
        call: See `suspended_code`.
    """
    return _call_atomically(partial(getattr, call, f"{_PREFIXES[type(call)]}_frame"))


def is_keras_frame(frame: FrameType) -> bool:
    """True if a call runs Keras' own code, not that of a script's class that overrides it."""
    return str(frame.f_globals.get("__name__", "")).startswith(("keras.", "tf_keras."))


def _callers(frame: FrameType) -> Iterable[FrameType]:
    frames: deque[FrameType] = deque()
    # The outermost one's caller is None, which ends it.
    callers = takewhile(bool, accumulate(repeat("f_back"), getattr, initial=frame))
    _call_atomically(partial(frames.extend, callers))
    return frames


def _call_atomically(read: Callable[[], Found]) -> Found:
    """Call a C function with no garbage collection and no other thread in between.

    Collections are switched off for the call, which no other thread may see: a thread that reads
        the setting in order to restore it later would leave collections off for good. So
        everything is one expression that Python hands to C: Python switches threads only between
        its own steps.
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
