# pyright: basic
"""Members of classes, objects and containers of a script, read without running its code."""

import functools
import io
from collections.abc import Collection
from itertools import islice
from types import (
    BuiltinMethodType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final

from kmonitor_agent.call_stacks import SUSPENDABLE
from kmonitor_agent.frameworks.kept.containers import Series, length_of, newest_items
from kmonitor_agent.frameworks.kept.contents import attributes_of_function, closure_of
from kmonitor_agent.frameworks.kept.iterators import ITERATORS
from kmonitor_agent.frameworks.kept.sizes import size_of
from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_module,
    class_name,
    class_package,
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
    """True for instances of the script's classes, callbacks, models and sparse matrices."""
    if not is_known_class(kind) or (class_module(kind), class_name(kind)) in _NAMESPACES:
        return True
    if class_module(kind).startswith("scipy.sparse."):
        return True
    return any(class_name(base) in {"Callback", "Model"} for base in class_bases(kind))


_NAMESPACES: Final = frozenset(
    {("types", "SimpleNamespace"), ("argparse", "Namespace"), ("collections", "ChainMap")}
)
"""Classes of Python that a script uses as its own."""

_TRACKING: Final = frozenset({"Layer", "Metric", "Optimizer"})
"""Classes of Keras whose objects track what they are made of."""

_TRACKED: Final = frozenset(
    {"_layers", "_metrics", "_tracker", "_losses", "_losses_override", "_loss_ids"}
    | {"_trainable_variables", "_non_trainable_variables", "_trainable_variables_indices"}
    | {"_trainable_weights", "_non_trainable_weights"}
    | {"_inbound_nodes", "_outbound_nodes", "_inbound_nodes_value", "_outbound_nodes_value"}
    | {"_call_signature", "_call_spec", "_call_context_args", "_call_has_context_arg"}
    | {"call_signature_parameters", "_build_shapes_dict", "_seed_generators", "_dtype_policy"}
)
"""Attributes in which they do. Objects of other classes use the same names for other things."""

_OF_TENSORFLOW: Final = "_self_"
"""Beginning of the names that TensorFlow gives to its attributes of objects that it tracks."""


def attributes_of(value: Any) -> list[tuple[Any, Any]]:
    """Attributes of an object, without those that Keras and TensorFlow set on it."""
    kind: Any = type(value)
    fields = [*instance_dict(value).items(), *slot_values(value)]
    named = [each for each in fields if type(each[0]) is str]
    if is_known_class(kind):
        return [each for each in named if not each[0].startswith("_")]
    if _derives_from(kind, {"Trackable"}, {"tensorflow"}):
        named = [each for each in named if not each[0].startswith(_OF_TENSORFLOW)]
    if _derives_from(kind, _TRACKING, {"keras", "tf_keras"}):
        named = [each for each in named if each[0] not in _TRACKED]
    return named


def _derives_from(kind: type, names: Collection[str], packages: Collection[str]) -> bool:
    bases = (base for base in class_bases(kind) if class_name(base) in names)
    return any(class_package(base) in packages for base in bases)


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


_LEAST_TEXT: Final = 2**17
"""Minimum length of a text to visit; shorter ones are many, and small."""

_SIMPLE: Final = (
    *(int, float, bool, type(None), ModuleType, MemberDescriptorType, GetSetDescriptorType),
    *(property, staticmethod, classmethod),
)


def holds_nothing(value: Any) -> bool:
    """True for numbers, short texts, modules and plain functions: most values."""
    if type(value) is FunctionType:
        return not closure_of(value) and not attributes_of_function(value)
    if type(value) is str:
        return str.__len__(value) < _LEAST_TEXT
    return is_exactly(value, *_SIMPLE)


PASSES_ON: Final = (
    *(MethodType, BuiltinMethodType, MappingProxyType, functools.partial),
    *(io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom),
    *ITERATORS,
)
"""Classes of Python whose objects belong to others: a function with arguments, a bound method, a
file in memory, an iterator."""


HOLDS_VARIABLES: Final = (FunctionType, *SUSPENDABLE, *PASSES_ON)
