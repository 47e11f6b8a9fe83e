# pyright: basic
"""Containers of the script, read without running its code: length, newest items, and how many fit.

Lists, dicts and the like count, with their subclasses, as do Python's queues and functions that
cache their results, which keep their items in one of these.
"""

import functools
import gc
import queue
import sys
import threading
from collections import deque
from collections.abc import Iterable
from contextvars import ContextVar
from itertools import islice
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_module,
    class_name,
    class_package,
    instance_dict,
    is_exactly,
    is_instance,
    own_attributes,
)


class Series(list[Any]):
    """Items that belong together although no container of the script's holds them all.

    Attributes:
        length: Number of items, of which these are the newest, the newest last.
        name: Kind of container that they represent: "functools.lru_cache", "functools.cache",
            "SimpleQueue", "linked tuple", "attributes", "subclasses".
        capacity: Maximum number of items; None: there is none.
    """

    def __init__(
        self, items: Iterable[Any], length: int, name: str, capacity: int | None = None
    ) -> None:
        super().__init__(items)
        self.length = length
        self.name = name
        self.capacity = capacity


_CONTAINERS: Final[dict[int, Any]] = {
    id(kind): kind for kind in (list, tuple, dict, deque, set, frozenset)
}
"""Classes by identity, since a metaclass may hash and compare."""


def length_of(value: Any) -> int | None:
    """Number of items of a list, tuple, dict, deque, set or frozenset; None for anything else.

    Instances of subclasses count too, as do Python's queues and the like, which keep their items
    in one of these.
    """
    if type(value) is Series:
        return value.length
    value = _storage(value)
    base = container_base(value)
    return None if base is None else base.__len__(value)


def container_name(value: Any) -> str:
    """Name of a container's class; for a framework's wrapper, the name of Python's own class."""
    kind: Any = type(value)
    if kind is Series:
        return value.name
    if kind is _CACHED_FUNCTION:
        return "functools.cache"
    is_in_place = class_package(kind) in {"keras", "tensorflow", "tf_keras"}
    return class_name(container_base(_storage(value)) if is_in_place else kind)


def are_parts(items: Iterable[Any]) -> bool:
    """True for containers that may differ much though they belong to one: a list for a label."""
    return all(is_exactly(each, list, dict, set, deque) for each in items)


def container_base(value: Any) -> Any:
    """Class of Python that a container is of or derives from; None for anything else."""
    known = map(_CONTAINERS.get, map(id, class_bases(type(value))))
    return next((each for each in known if each is not None), None)


def newest_items(value: Any, most: int) -> list[Any]:
    """The newest items of a container, at most `most`; for a dict its values."""
    value = _storage(value)
    if is_instance(value, list):
        return list.__getitem__(value, slice(-most, None))
    if is_instance(value, tuple):
        return list(tuple.__getitem__(value, slice(-most, None)))
    if is_instance(value, dict):
        return list(islice(reversed(dict.values(value)), most))[::-1]
    if is_instance(value, deque):
        return list(islice(deque.__reversed__(value), most))[::-1]
    base: Any = next((each for each in (set, frozenset) if is_instance(value, each)), None)
    return [] if base is None else list(islice(base.__iter__(value), most))


def newest_keys(value: Any, most: int) -> list[Any]:
    """Texts and tuples among the newest keys of a dict, at most `most`; none of a list."""
    value = _storage(value)
    if not is_instance(value, dict):
        return []
    newest = islice(reversed(dict[Any, Any].keys(value)), most)
    return [each for each in newest if is_exactly(each, str, bytes, tuple)]


_STORAGE: Final = {
    "asyncio.queues": "_queue",
    "collections": "data",
    "contextlib": "_exit_callbacks",
    "multiprocessing.queues": "_buffer",
    "queue": "queue",
    "shelve": "cache",
    "tensorflow.python.trackable.data_structures": "_storage",
    "weakref": "data",
}
"""Attributes in which these modules' lists, dicts and queues keep their items."""


_CACHED_FUNCTION: Final[Any] = getattr(functools, "_lru_cache_wrapper", None)
_PARAMETERS_OF: Final = frozenset(
    id(instance_dict(function)["cache_parameters"].__code__)
    for function in (functools.lru_cache(len), functools.lru_cache(1)(len))
)
"""Identities of the code with which functools returns the parameters of a cache."""

_SIMPLE_QUEUE: Final[Any] = queue.SimpleQueue

_MOST_RESULTS: Final = 100_000
"""Maximum number of results of a bounded cache, or of items of a queue of C, which can be read
only all at once: 4 ms."""

_NEWEST: Final = 128


def _storage(value: Any) -> Any:
    if type(value) is _CACHED_FUNCTION:
        return _results_of(value)
    name = _STORAGE.get(class_module(type(value)))
    return value if name is None else instance_dict(value).get(name, value)


def _results_of(function: Any) -> Any:
    """The dict of what `functools.cache` keeps; the function itself where it keeps so many."""
    if cache_size(function) is not None:
        return function
    # The cache is the one dict that it refers to beside that of its attributes.
    own = instance_dict(function)
    held = [each for each in gc.get_referents(function) if type(each) is dict and each is not own]
    return held[0] if len(held) == 1 else function


def cache_size(function: Any) -> int | None:
    """Number of results that a function of `functools.lru_cache` keeps at most; None: no limit.

    0 if a script changed the function so that the number cannot be read without its code.
    """
    parameters = instance_dict(function).get("cache_parameters")
    if type(parameters) is not FunctionType or id(parameters.__code__) not in _PARAMETERS_OF:
        return 0
    cells = zip(parameters.__code__.co_freevars, parameters.__closure__ or (), strict=False)
    size = next((cell.cell_contents for name, cell in cells if name == "maxsize"), 0)
    return size if is_exactly(size, int, type(None)) else 0


_BACKLOGS: Final = {
    "concurrent.futures.thread": "_work_queue",
    "concurrent.futures.process": "_pending_work_items",
    "multiprocessing.pool": "_taskqueue",
}
"""Attributes in which these modules' pools of workers keep calls that wait."""


def read_instead(value: Any) -> Any:
    """Container in place of an object, else the object itself.

    A pool of workers becomes the calls that wait, a context variable its value, and a
    `threading.local` the attributes that it has in each thread (up to Python 3.12). Results of
    `functools.lru_cache`, where it has a limit or keeps the objects of methods, and the items of a
    `queue.SimpleQueue` become a series.
    """
    name = _BACKLOGS.get(class_module(type(value)))
    if name is not None:
        value = instance_dict(value).get(name, value)
    if type(value) is ContextVar:
        value = ContextVar.get(value, None)
    elif is_instance(value, threading.local):
        value = _of_threads(value)
    series = _results(value) or _simple_queue(value)
    return value if series is None else series


def _of_threads(value: Any) -> Any:
    tables = [each for each in gc.get_referents(value) if type(each) is dict]
    found = [each for table in tables for each in list(table.values()) if type(each) is dict]
    return found[0] if len(found) == 1 else found or value


def _is_simple_queue(value: Any) -> bool:
    # A Python without that class of C has one in its library.
    return is_instance(value, _SIMPLE_QUEUE) and class_module(_SIMPLE_QUEUE) == "_queue"


def _simple_queue(value: Any) -> Series | None:
    n = _SIMPLE_QUEUE.qsize(value) if _is_simple_queue(value) else 0
    if not 0 < n <= _MOST_RESULTS:
        return None
    held = gc.get_referents(value)
    # Up to Python 3.12 they are in a list, behind places of items that were taken out.
    items = held[-1 - n : -1] if sys.version_info >= (3, 13) else newest_items(held[-2], n)
    # Another thread may have taken them out meanwhile.
    return Series(items[-_NEWEST:], n, "SimpleQueue") if items else None


def _results(value: Any) -> Series | None:
    """Results of a function of `functools.lru_cache`; None if a dict has them that will do."""
    if type(value) is not _CACHED_FUNCTION:
        return None
    size = cache_size(value)
    n = _CACHED_FUNCTION.cache_info(value).currsize
    if size == 0 or not 0 < n <= _MOST_RESULTS:
        return None
    if size is not None:
        return _bounded_results(value, n, size)
    results = _storage(value)
    if results is value:
        return None
    try:
        newest = list(islice(reversed(dict[Any, Any].items(results)), _NEWEST))[::-1]
    except RuntimeError:  # another thread changed it meanwhile
        return None
    # A method's arguments begin with its object, which the cache keeps alive too.
    has_objects = any(map(_arguments, (key for key, _ in newest)))
    return Series(_with_arguments(newest), n, "functools.cache") if has_objects else None


def _bounded_results(function: Any, n: int, size: int) -> Series | None:
    # Each result follows its key, from the oldest on, and some versions name its class behind it.
    held = gc.get_referents(function)
    for stride in (3, 2):
        cache = held[1 + stride * n] if len(held) > 1 + stride * n else None
        if type(cache) is dict and len(cache) == n:
            keys, results = (held[first : 1 + stride * n : stride] for first in (1, 2))
            newest = list(zip(keys, results, strict=True))[-_NEWEST:]
            return Series(_with_arguments(newest), n, "functools.lru_cache", size)
    return None


def _with_arguments(entries: list[tuple[Any, Any]]) -> list[Any]:
    """Results, each with the objects that it was computed of unless the oldest has them too."""
    shared = {id(each) for key, _ in entries[:1] for each in _arguments(key)}
    items: list[Any] = []
    for key, result in entries:
        held = [each for each in _arguments(key) if id(each) not in shared]
        if not held or not is_exactly(result, *_PLAIN):
            held.append(result)
        items.append(held[0] if len(held) == 1 else tuple(held))
    return items


def _arguments(key: Any) -> list[Any]:
    """Objects among the arguments of a call, and nothing that is plain."""
    given = key if is_exactly(key, tuple) else (key,)
    return [each for each in given if not is_exactly(each, *_PLAIN)]


_PLAIN: Final = (int, float, bool, str, bytes, type(None), type, object)
"""Classes of arguments that keep nothing alive; `object` is that of the mark before named ones."""


def capacity_of(value: Any) -> int | None:
    """Number of items that a container holds at most; None: there is no limit."""
    if type(value) is Series:
        return value.capacity
    if class_module(type(value)) == "queue":
        size = instance_dict(value).get("maxsize")
        return size if type(size) is int and size > 0 else None
    value = _storage(value)
    return _MAXLEN.__get__(value) if is_instance(value, deque) else None


_MAXLEN: Final[Any] = own_attributes(deque)["maxlen"]
