# pyright: basic
"""Members of classes, objects and containers of a script, read without running its code."""

from itertools import islice
from typing import Any, Final

from kmonitor_agent.frameworks.kept.containers import Series, length_of, newest_items
from kmonitor_agent.frameworks.kept.sizes import size_of
from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_module,
    class_name,
    instance_dict,
    is_exactly,
    is_instance,
    is_known_class,
    own_attributes,
    slot_values,
)


def members_of(kind: type) -> list[tuple[str, Any]]:
    """Attributes of a class; for methods and properties the functions, which may be cached."""
    return [(name, _function_in(each)) for name, each in list(own_attributes(kind).items())]


def _function_in(value: Any) -> Any:
    if is_exactly(value, staticmethod, classmethod):
        return value.__func__
    return value.fget if type(value) is property else value


def is_followed(kind: type) -> bool:
    """True for instances of the script's classes, for callbacks and for models."""
    if not is_known_class(kind) or (class_module(kind), class_name(kind)) in _NAMESPACES:
        return True
    return any(class_name(base) in {"Callback", "Model"} for base in class_bases(kind))


_NAMESPACES: Final = frozenset(
    {("types", "SimpleNamespace"), ("argparse", "Namespace"), ("collections", "ChainMap")}
)
"""Classes of Python that a script uses as its own."""

_OF_KERAS: Final = (
    *("_self_", "_layers", "_metrics", "_tracker", "_losses", "_loss_ids"),
    *("_trainable_", "_non_trainable_", "_inbound_nodes", "_outbound_nodes", "_call_"),
    *("call_signature_parameters", "_build_shapes_dict", "_seed_generators", "_dtype_policy"),
)


def attributes_of(value: Any) -> list[tuple[Any, Any]]:
    """Attributes of an object, without those of Keras and TensorFlow."""
    fields = [*instance_dict(value).items(), *slot_values(value)]
    passed_over = ("_",) if is_known_class(type(value)) else _OF_KERAS
    return [
        (name, each)
        for name, each in fields
        if type(name) is str and not name.startswith(passed_over)
    ]


_MOST_KEYS: Final = 32
_MOST_ITEMS: Final = 8
"""Number of values of a dict (`_MOST_KEYS`) and of items of a list or the like that are searched
for more containers."""
_LONGEST_KEY: Final = 40

FEWEST: Final = 2
"""Smallest number of items that are rather entries than fields."""


def larger_end(value: Any) -> list[Any]:
    """First or last array of a list if it is larger than the other: it may hold earlier ones."""
    length = list.__len__(value) if is_instance(value, list) and type(value) is not Series else 0
    ends = list.__getitem__(value, slice(None, None, max(1, length - 1))) if length else []
    sizes = [(size.n_bytes or 0, each) for each in ends if (size := size_of(each)) is not None]
    by_size = sorted(sizes, key=lambda pair: pair[0])
    return [by_size[1][1]] if len(by_size) == _ENDS and by_size[0][0] < by_size[1][0] else []


_ENDS: Final = 2


def children_of(value: Any, place: str) -> list[tuple[Any, str]]:
    if not is_instance(value, dict):
        return [(each, place) for each in newest_items(value, _MOST_ITEMS)]
    pairs = list(islice(dict[Any, Any].items(value), _MOST_KEYS))
    return [(each, f'{place}["{key}"]' if _is_short(key) else place) for key, each in pairs]


def _is_short(key: Any) -> bool:
    return type(key) is str and len(key) <= _LONGEST_KEY


def has_fields(value: Any) -> bool:
    """True for a container of constant length whose arrays may grow each for itself."""
    return is_instance(value, dict) or (length_of(value) or 0) <= FEWEST


def is_record(value: Any) -> bool:
    """True for a container whose items are rather fields than entries."""
    length = length_of(value) or 0
    return length < FEWEST or (length == FEWEST and is_instance(value, tuple))
