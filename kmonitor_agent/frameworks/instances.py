"""All living instances of classes, found without touching what other threads are making.

A loop over `gc.get_objects()` refers to every object while it runs, also to a tuple that another
thread is still filling: CPython's `tuple(generator)` then fails there with "SystemError: bad
argument to internal function", since such a tuple may have one reference only
(https://github.com/python/cpython/issues/59313). A thread that traces a model would lose its fit.
So the collector is asked for what refers to the classes instead: instances do, and tuples that
other threads fill do not.
"""

import gc
from collections.abc import Iterable, Iterator
from typing import Any


def instances_of(kinds: Iterable[type]) -> list[Any]:
    """Living instances of these classes and their subclasses, but for what the script froze.

    Tens of milliseconds in a large process. Only of classes that Python code defines; objects are
    taken by their type, so that a stranger's proxy is not asked for its class.
    """
    classes = list({id(each): each for kind in kinds for each in with_subclasses(kind)}.values())
    if not classes:
        return []
    identities = set(map(id, classes))
    referrers: list[object] = gc.get_referrers(*classes)
    return [each for each in referrers if id(type(each)) in identities]


def with_subclasses(kind: type) -> Iterator[type]:
    """A class and all that derive from it, some of them more than once."""
    yield kind
    for each in type.__subclasses__(kind):
        yield from with_subclasses(each)
