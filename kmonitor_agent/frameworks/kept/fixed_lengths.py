# pyright: basic
"""Places that fill up to an end: entries that are None as yet, and limits that a script set.

A script may create a list, a dict or an array of objects as long as it will get, with None in each
entry, and replace these one by one. Or it keeps the number of objects that it will hold at most
beside a container: `self.maxsize = 100`.

No code of the script's runs: entries are compared with None by identity.
"""

import sys
from collections.abc import Mapping
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


def limits_beside(fields: Mapping[Any, Any]) -> dict[int, int]:
    """Maximum lengths of containers among the attributes of an object, by their identities.

    Args:
        fields: The object's dict of attributes.
    """
    limit = limit_among(fields)
    if limit is None:
        return {}
    return {id(each): limit for each in list(fields.values()) if length_of(each)}


def limit_among(fields: Mapping[Any, Any]) -> int | None:
    """Number of objects that the one attribute with such a name says; None without it."""
    limits = [each for name, each in list(fields.items()) if _is_limit(name, each)]
    return limits[0] if len(limits) == 1 else None


def _is_limit(name: Any, value: Any) -> bool:
    return type(value) is int and value > 0 and type(name) is str and name.strip("_") in _LIMITS


_LIMITS: Final = frozenset(
    {"maxsize", "max_size", "maxlen", "max_len", "capacity", "limit", "max_items", "max_entries"}
)


def _has_none(items: list[Any]) -> bool:
    return any(map(is_, items, repeat(None)))
