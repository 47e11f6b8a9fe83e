# pyright: basic
"""Keras' counters of automatic names ("dense_3"), which belong to the script."""

import sys
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

_KERAS3: Final = "keras.src.backend.common.global_state"
_COUNTERS: Final = "object_name_uids"
_KERAS2: Final = ("tf_keras", "keras")
"""Packages that may be a Keras 2."""


Names = list[dict[str, int]]
"""A thread's counters, one for each Keras that is here."""


def read_names() -> Names:
    """How far this thread has counted."""
    return [dict(each) for each in _counters()]


def write_names(names: Names) -> None:
    """Count on from there: the script's next layer has the name that it would have had."""
    for counters, known in zip(_counters(), names, strict=False):
        counters.clear()
        counters.update(known)


@contextmanager
def names_kept(*, from_zero: bool = False) -> Generator[None]:
    """What is made in the block moves no counter.

    In Keras 3 the counters are this thread's own, so that no other thread notices.

    Args:
        from_zero: Whether what is made in the block is named as by a script that begins. A model
            that is built a second time then mostly has the names of the first, and never one that
            the script will still give.
    """
    before = read_names()
    if from_zero:
        write_names([{} for _ in before])
    try:
        yield
    finally:
        write_names(before)


def _counters() -> Generator[Any]:
    state = sys.modules.get(_KERAS3)
    if state is not None:
        yield state.get_global_attribute(_COUNTERS, default=defaultdict(int), set_to_default=True)
    for package in _KERAS2:
        backend = sys.modules.get(f"{package}.src.backend")
        by_graph = getattr(backend, "PER_GRAPH_OBJECT_NAME_UIDS", None)
        if backend is not None and by_graph is not None:
            yield by_graph.setdefault(backend.get_graph(), defaultdict(int))
