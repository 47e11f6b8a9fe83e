# pyright: basic
"""Iterators of C, and what they hold: other iterators, containers, items that wait.

Nothing is taken from an iterator: the garbage collector's view has all that it refers to.
"""

import gc
import itertools
from typing import Any, Final

_TEE: Final[Any] = type(itertools.tee(())[0])
_ITEMS_OF_TEE: Final[Any] = next(
    kind
    for kind in map(type, gc.get_referents(itertools.tee(())[0]))
    if kind is not type  # since Python 3.12 an iterator refers to its class
)
_OF_TUPLE: Final[Any] = type(iter(()))

ITERATORS: Final = (
    *(itertools.chain, itertools.islice, itertools.cycle, itertools.repeat, itertools.starmap),
    *(itertools.takewhile, itertools.dropwhile, itertools.filterfalse, itertools.zip_longest),
    *(itertools.accumulate, itertools.compress, _TEE, _ITEMS_OF_TEE),
    *(map, zip, filter, enumerate, _OF_TUPLE, type(iter([])), type(reversed([]))),
    *(type(iter({}.items())), type(iter({}.values())), type(iter({})), type(iter(set()))),
)
"""Classes of Python's iterators, whose objects are no containers of their own."""

_IN_SERIES: Final[dict[int, str]] = {
    id(itertools.chain): "itertools.chain",
    id(_ITEMS_OF_TEE): "itertools.tee",
}
"""Names of classes whose objects each hold the next, by identity."""


def name_of_series(kind: Any) -> str:
    """Name of iterators of which one holds the next; empty for any other class."""
    return _IN_SERIES.get(id(kind), "")


def held_by_iterator(value: Any) -> list[Any]:
    """Objects that an iterator refers to; for those given to it as arguments each by itself."""
    held: list[Any] = []
    for each in gc.get_referents(value):
        arguments = gc.get_referents(each) if type(each) is _OF_TUPLE else ()
        given = arguments[0] if arguments else None
        held += given if type(value) is itertools.chain and type(given) is tuple else [each]
    return held
