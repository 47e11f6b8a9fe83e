# pyright: basic
"""Series that grow without a container: linked objects, numbered names, classes of one base.

Each epoch may wrap what was kept before in a new tuple, list, dict or object; it may set an
attribute or a variable with a name of its own, such as "epoch_7"; or it may derive a class. No
container gets longer, so these are put together here, without running code of the script.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import MemberDescriptorType
from typing import Any, Final

from kmonitor_agent.frameworks.kept.containers import Series
from kmonitor_agent.frameworks.kept.iterators import held_by_iterator, name_of_series
from kmonitor_agent.frameworks.script_values import (
    class_attribute,
    class_name,
    instance_dict,
    is_exactly,
    is_known_class,
    slot_values,
)

FEWEST_IN_SERIES: Final = 3

_MOST_LINKS: Final = 10_000
"""Maximum number of linked objects that are counted: 2 ms for tuples, 10 ms for objects."""

_MEASURED: Final = 128
"""Number of the newest links whose contents represent all."""

_MOST_FIELDS: Final = 8
"""Maximum number of items of a tuple, list or dict that may be a link, and of fields searched."""

_LATEST: Final = 4
"""Number of the newest names that are read: a series of names that grows is among them."""

_MOST_SUBCLASSES: Final = 2000
_DIGIT: Final = re.compile(r"\d")
_NUMBER: Final = re.compile(r"(?<![^\W_])[0-9a-f]*\d[0-9a-f]*(?![^\W_])|\d+")
"""A number in a name, or a hexadecimal word, as of a hash or a UUID."""


@dataclass(frozen=True, slots=True)
class FoundSeries:
    """A series, which counts as a container if it has become longer.

    Attributes:
        series: Contents.
        parts: Values to search one by one if it has not, with their locations.
        ids: Identities of linked objects: they are no contents of each other.
    """

    series: Series
    parts: list[tuple[Any, str]]
    ids: frozenset[int] = frozenset()


def numbered_names(
    items: Iterable[tuple[Any, Any]], place: str
) -> tuple[dict[str, FoundSeries], list[tuple[str, Any]]]:
    """Variables whose names differ in a number only, by their common location, and the others.

    Args:
        items: Names and values, in the order in which they were first set; others than texts and
            names of Python's own are left out.
        place: Location of the variables.
    """
    pairs = [each for each in items if type(each[0]) is str and _may_hold(each[0])]
    if not _DIGIT.search(" ".join([name for name, _ in pairs[-_LATEST:]])):
        return {}, pairs
    latest = {_NUMBER.sub("*", name) for name, _ in pairs[-_LATEST:]}
    groups: dict[str, list[tuple[str, Any]]] = {}
    others: list[tuple[str, Any]] = []
    for name, value in pairs:
        common = _NUMBER.sub("*", name)
        in_series = "*" in common and common in latest
        (groups.setdefault(common, []) if in_series else others).append((name, value))
    found: dict[str, FoundSeries] = {}
    for common, group in groups.items():
        if len(group) < FEWEST_IN_SERIES:
            others += group
            continue
        values = [value for _, value in group]
        parts = [(value, f"{place}.{name}") for name, value in group]
        found[f"{place}.{common}"] = FoundSeries(Series(values, len(group), ATTRIBUTES), parts)
    return found, others


_SHOWN_WARNINGS: Final = "__warningregistry__"
"""Dict of a module in which Python remembers the text of each warning."""


def _may_hold(name: str) -> bool:
    return not name.startswith("__") or name == _SHOWN_WARNINGS


ATTRIBUTES: Final = "attributes"
SUBCLASSES: Final = "subclasses"


def subclasses_of(kind: type) -> FoundSeries | None:
    """Classes that derive directly from a class and still exist; None if there are few."""
    found = [each for each in type.__subclasses__(kind) if not is_known_class(each)]
    if not FEWEST_IN_SERIES <= len(found) <= _MOST_SUBCLASSES:
        return None
    return FoundSeries(Series(found, len(found), SUBCLASSES), [])


_Step = Callable[[Any], Any]
"""Returns the object that an object is linked to, or anything else."""


def linked_objects(value: Any, place: str, known: set[int]) -> FoundSeries | None:
    """Objects of one class that each refer to the next, the longest such series.

    Args:
        value: The first one.
        place: Its location.
        known: Identities of objects that are in a series already; those of this one are added.
    """
    if id(value) in known or not _may_be_linked(value):
        return None
    longest: list[Any] = []
    at: object = None
    for key, step in _steps(value):
        nodes = _followed(value, step, known)
        if len(nodes) > len(longest):
            longest = nodes
            at = key
    if len(longest) < FEWEST_IN_SERIES:
        return None
    ids = frozenset(map(id, longest))
    known |= ids
    contents = [_contents(node, at) for node in longest[:_MEASURED]]
    if all(len(each) == 1 for each in contents):
        contents = [each[0] for each in contents]
    name = name_of_series(type(value)) or f"linked {class_name(type(value))}"
    series = Series(reversed(contents), len(longest), name)
    return FoundSeries(series, [(value, place)], ids)


def _may_be_linked(value: Any) -> bool:
    """False for nearly all objects: they hold none of their own class."""
    kind: Any = type(value)
    if kind is tuple or kind is list or kind is dict:
        is_short = 1 < len(value) <= _MOST_FIELDS
        held = () if not is_short else list(value.values() if kind is dict else value)
    elif name_of_series(kind):
        held = held_by_iterator(value)
    else:
        held = list(instance_dict(value).values()) or [each for _, each in slot_values(value)]
    return any(type(each) is kind for each in held)


def _followed(value: Any, step: _Step, known: set[int]) -> list[Any]:
    kind: Any = type(value)
    nodes = [value]
    ids = {id(value)}
    while len(nodes) < _MOST_LINKS:
        node = step(nodes[-1])
        if type(node) is not kind or id(node) in ids or id(node) in known:
            break
        nodes.append(node)
        ids.add(id(node))
    return nodes


def _steps(value: Any) -> Iterator[tuple[object, _Step]]:
    kind: Any = type(value)
    for key, each in _fields(value):
        if type(each) is not kind:
            continue
        if name_of_series(kind):
            yield key, _next_iterator
        elif is_exactly(value, tuple, list):
            yield key, _of_index(key, len(value))
        elif kind is dict:
            yield key, _of_key(key)
        else:
            yield key, _of_attribute(key, class_attribute(kind, key))


def _fields(value: Any) -> list[tuple[Any, Any]]:
    """Items or attributes of an object, if these may link it to others; else none."""
    if is_exactly(value, tuple, list):
        return list(enumerate(value))
    if type(value) is dict:
        return _with_names(value.items())
    if name_of_series(type(value)):
        held = held_by_iterator(value)
        return [(-1 if type(each) is type(value) else n, each) for n, each in enumerate(held)]
    if is_known_class(type(value)):
        return []
    return _with_names([*instance_dict(value).items(), *slot_values(value)])


def _with_names(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[str, Any]]:
    return [(name, each) for name, each in list(pairs) if type(name) is str]


def _of_index(index: int, length: int) -> _Step:
    # A slice never fails: another thread may shorten a list.
    return lambda node: next(iter(node[index : index + 1]), None) if len(node) == length else None


def _next_iterator(node: Any) -> Any:
    return next((each for each in held_by_iterator(node) if type(each) is type(node)), None)


def _of_key(key: str) -> _Step:
    return lambda node: dict(_with_names(islice(node.items(), _MOST_FIELDS))).get(key)


def _of_attribute(name: str, slot: Any) -> _Step:
    if type(slot) is not MemberDescriptorType:
        return lambda node: instance_dict(node).get(name)

    def of_slot(node: Any) -> Any:
        try:
            return slot.__get__(node, type(node))
        except (AttributeError, TypeError):  # an empty one
            return None

    return of_slot


def _contents(node: Any, link: object) -> tuple[Any, ...]:
    return tuple(each for key, each in _fields(node) if key is not link and key != link)
