# pyright: basic
"""Places that fill up to an end: entries that are None as yet, and limits that a script set.

A script may create a list, a dict or an array of objects as long as it will get, with None in each
entry, and replace these one by one. Or it keeps the number of objects that it will hold at most
beside a container: `self.maxsize = 100`, `self.n = 100`, or `self.flush_every = 100`.

No code of the script's runs: entries are compared with None by identity.
"""

import functools
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from operator import is_
from typing import Any, Final

from kmonitor_agent.frameworks.kept.containers import (
    Series,
    container_name,
    length_of,
    newest_items,
)
from kmonitor_agent.frameworks.script_values import (
    instance_dict,
    is_instance,
    own_attributes,
)

_FEWEST_ENTRIES: Final = 8
"""Smallest number of entries; fewer are rather fields, which may be None."""

_MOST_VALUES: Final = 2**16
"""Maximum length of a dict or an array, which is read all at once: 1 ms."""

_SAMPLE: Final = 2**12
"""Number of entries that represent all: 0.1 ms."""

_LAST: Final = 16
"""Number of the last entries of which one is None unless nearly all are filled."""

_NEWEST: Final = 128
ARRAY: Final = "ndarray"


def filled_part(value: Any, *, is_known: bool) -> Series | None:
    """Entries of a list or dict that are not None, if others are; else None.

    Args:
        is_known: True if some were None before: then all of them may be filled by now.
    """
    length = length_of(value) or 0
    is_list = is_instance(value, list)
    is_read = is_list or (is_instance(value, dict) and length <= _MOST_VALUES)
    if length < _FEWEST_ENTRIES or not is_read:
        return None
    if not is_known and not _has_none(newest_items(value, _LAST)):
        return None
    stride = -(-length // _SAMPLE)
    entries = value if is_list else list(dict.values(value))
    entries = list.__getitem__(entries, slice(None, None, stride))
    filled = [each for each in entries if each is not None]
    if not filled:
        return None
    n = round(length * len(filled) / len(entries))
    return Series(filled[-_NEWEST:], n, container_name(value), length)


def entries_of_array(value: Any, *, is_known: bool) -> Series | None:
    """Objects in an array of NumPy with one dimension, if one of them is None; else None.

    Args:
        is_known: True if such an array was there before: then none of them needs to be.
    """
    numpy: Any = sys.modules.get("numpy")
    kind = instance_dict(numpy).get("ndarray")
    if kind is None or type(value) is not kind:
        return None
    fields = own_attributes(kind)
    shape = fields["shape"].__get__(value)
    if len(shape) != 1 or not _FEWEST_ENTRIES <= shape[0] <= _MOST_VALUES:
        return None
    if fields["dtype"].__get__(value).char != "O":
        return None
    entries = kind.tolist(value)
    found = is_known or _has_none(entries[-_LAST:])
    return Series(entries, len(entries), ARRAY) if found else None


Numbers = dict[tuple[str, str], set[int]]
"""Numbers that may be limits of the containers in a place, by place."""


class Limits:
    """Maximum lengths that a script's objects keep beside their containers, in one search.

    A limit is the one attribute with a name that says so, or with a name that may say so: then it
    is the same as at the search before, at least half of so many objects are there, and no other
    such number was passed lately. Else any number would be the end of a container that grows
    without one. A bare `size` is a limit only in what is called a buffer.

    Args:
        before: `numbers` of the search before.
    """

    def __init__(self, before: Numbers) -> None:
        self.numbers: Numbers = {}
        self._before = before
        self._beside: dict[int, _Candidates] = {}  # by container

    def add_owner(self, fields: Mapping[Any, Any]) -> None:
        """Take the attributes of an object, of which some may be containers."""
        found = _candidates_among(fields)
        if found is not None:
            held = [each for each in list(fields.values()) if length_of(each)]
            self._beside.update((id(each), found) for each in held)

    def add_container(self, value: Any, place: tuple[str, str]) -> None:
        """Take a container, which may have its limit itself."""
        fields = instance_dict(value)
        own = _candidates_among(fields) if fields else None
        found = self._beside.get(id(value)) if own is None else own
        if found is not None:
            numbers = found.numbers | found.bare if _is_buffer(place[0]) else found.numbers
            self._beside[id(value)] = replace(found, numbers=numbers)
            self.numbers.setdefault(place, set()).update(numbers)

    def limit_of(self, value: Any, place: tuple[str, str]) -> int | None:
        """Limit of a container; None if it has none, or has passed it."""
        found = self._beside.get(id(value))
        length = length_of(value) or 0
        if found is None:
            return None
        known = self._before.get(place, set())
        likely = [n for n in found.numbers & known if length <= n <= _MOST_LEFT * length]
        if any(n < length <= _MOST_LEFT * n for n in found.numbers):
            likely = []
        limits = found.limits or likely
        return limits[0] if len(limits) == 1 and length <= limits[0] else None


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Attributes that are limits by their names, that may be, and that may be in a buffer."""

    limits: list[int]
    numbers: set[int]
    bare: set[int]


def _candidates_among(fields: Mapping[Any, Any]) -> _Candidates | None:
    named = [
        (name.strip("_"), each)
        for name, each in list(fields.items())
        if type(each) is int and 0 < each < _NO_LIMIT and type(name) is str
    ]
    limits = [each for name, each in named if name in _LIMITS]
    numbers = {each for name, each in named if name not in _LIMITS and _may_be_limit(name)}
    bare = {each for name, each in named if name in _BARE}
    return _Candidates(limits, numbers, bare) if limits or numbers or bare else None


def _is_buffer(place: str) -> bool:
    return not _BUFFERS.isdisjoint(each.lower() for each in _WORD.findall(place))


@functools.lru_cache(maxsize=1024)
def _may_be_limit(name: str) -> bool:
    words = {each.lower() for each in _WORD.findall(name)}
    is_limit = not words.isdisjoint(_OF_LIMITS) and words.isdisjoint(_OF_OTHERS)
    is_limit = is_limit and name != _OF_DATASETS
    return is_limit or not words.isdisjoint(_OF_BUFFERS)


_NO_LIMIT: Final = 2**31 - 1
"""Number that means none, as in a `multiprocessing.Queue()`."""

_MOST_LEFT: Final = 2
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_BARE: Final = frozenset({"n", "k", "size", "length", "len", "last"})
"""Names that may be a limit in a buffer; elsewhere they are as often those of images."""

_BUFFERS: Final = frozenset({"buffer", "memory", "replay", "reservoir", "ring", "queue", "cache"})
"""Words in the names of buffers, of their classes and of variables that hold them."""

_OF_DATASETS: Final = "max_queue_size"
"""Number of batches that a `PyDataset` of Keras has made in advance; each has this attribute."""

_OF_LIMITS: Final = frozenset(
    {
        "max",
        "maximum",
        "maxsize",
        "maxlen",
        "maxitems",
        "limit",
        "cap",
        "capacity",
        "bound",
        "most",
    }
    | {"cache", "buffer", "memory", "queue", "window", "history", "pool", "replay", "keep", "lru"}
)
"""Words that make a name one of a limit."""

_OF_BUFFERS: Final = frozenset({"flush", "drain", "spill", "dump", "chunk", "shard"})
"""Words that make a name one of the length at which a list is emptied, whatever it is counted in.

Not those of checkpoints and progress, as "save" and "print": objects have such numbers beside
containers that are never emptied.
"""

_OF_OTHERS: Final = frozenset(
    {"epoch", "epochs", "step", "steps", "batch", "batches", "iter", "iters", "iteration"}
    | {"iterations", "fold", "folds", "trial", "trials", "fit", "fits", "run", "runs"}
    | {"time", "seconds", "bytes", "mb"}
)
"""Words of names for how long a training goes on, as long as a container that gets one object each
epoch, and for other quantities."""

_LIMITS: Final = frozenset(
    {"maxsize", "max_size", "maxlen", "max_len", "capacity", "limit", "max_items", "max_entries"}
)


def _has_none(items: list[Any]) -> bool:
    return any(map(is_, items, repeat(None)))
