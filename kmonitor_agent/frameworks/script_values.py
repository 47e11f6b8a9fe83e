# pyright: basic
"""Values of the script's, read without running any of its code.

A property, `__getattr__`, `__float__`, `__len__` or `__repr__` of the script's own may print, draw
a random number, take the next item of an iterator or raise: the training would differ from the
one without us. So attributes are looked up statically, and only classes of Python and of the
frameworks are asked to compute, convert or name anything. What cannot be read so is absent.
"""

import itertools
import sys
from collections.abc import Callable, Iterable
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final, cast

_PACKAGES: Final = sys.stdlib_module_names | {
    "IPython",
    "ipykernel",
    "traitlets",
    "google",
    "h5py",
    "jax",
    "jaxlib",
    "keras",
    "keras_hub",
    "kmonitor_agent",
    "ml_dtypes",
    "numpy",
    "pandas",
    "scipy",
    "tensorflow",
    "tf_keras",
    "torch",
    "wrapt",
}
"""Whose classes may be asked: they neither draw nor count where they are read."""

_MOST_LOOKED_AT: Final = 4096
"""Items of a mapping; the script's own kind may give them for ever."""

_MOST_COUNT: Final = 2**63 - 1
_LONGEST_NUMBER: Final = 400
"""Letters of a number that is given as a text."""

_BASES_OF: Final[Any] = type.__dict__["__mro__"]
_MODULE_OF: Final[Any] = type.__dict__["__module__"]
_NAMES_OF: Final[Any] = type.__dict__["__dict__"]
# By the descriptors of `type`: a metaclass may be the script's own.


def is_known_class(kind: type) -> bool:
    """True if a class and all its bases belong to Python or a framework."""
    return all(_is_known_module(_MODULE_OF.__get__(base)) for base in _BASES_OF.__get__(kind))


def is_known_function(function: object) -> bool:
    """True for a function or class of Python or a framework, and for what one of these made."""
    if type(function) is FunctionType:
        return _is_known_module(function.__module__)
    if issubclass(type(function), type):
        return is_known_class(cast("type", function))
    return is_known_class(type(function))


def _is_known_module(name: object) -> bool:
    return type(name) is str and name.partition(".")[0] in _PACKAGES


def instance_dict(owner: object) -> dict[str, Any]:
    """Attributes that an object has of its own, by name; empty where there are none."""
    try:
        values = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}
    return values if type(values) is dict else {}


def class_attribute(kind: type, name: str) -> Any:
    """What a class or one of its bases has under a name, as it was defined; None without."""
    for base in _BASES_OF.__get__(kind):
        names = _NAMES_OF.__get__(base)
        if name in names:
            return names[name]
    return None


def safe_getattr(owner: Any, name: str, otherwise: Any = None) -> Any:
    """An attribute, or something else if there is none or only the script's code could tell.

    Of an object whose class is the script's own only what it holds itself, or its class as plain
    data or a slot.
    """
    kind: Any = type(owner)
    if is_known_class(kind):
        try:
            return getattr(owner, name, otherwise)
        except Exception:  # noqa: BLE001 - Keras' own raise, where there is nothing, various things
            return otherwise
    values = instance_dict(owner)
    if name in values:
        return values[name]
    value = class_attribute(kind, name)
    try:
        if type(value) in {GetSetDescriptorType, MemberDescriptorType}:
            return value.__get__(owner, kind)
    except AttributeError:  # a slot that is empty
        return otherwise
    is_plain = value is not None and class_attribute(type(value), "__get__") is None
    return value if is_plain else otherwise


def is_instance(value: object, *kinds: type) -> bool:
    """True if a value's class is one of these or derives from one; `__class__` is not asked."""
    return issubclass(type(value), kinds)


def running_shell() -> Any:
    """IPython's running shell, or None; a module of the script's of that name is left alone."""
    ask: Any = safe_getattr(sys.modules.get("IPython"), "get_ipython")
    is_theirs = type(ask) is FunctionType and str(ask.__module__).startswith("IPython.")
    return ask() if is_theirs else None


def items_of(value: object) -> list[Any]:
    """What a list or tuple holds, of any subclass; empty for anything else."""
    kind = type(value)
    if not issubclass(kind, (list, tuple)):
        return []
    if is_known_class(kind):
        return list(cast("Iterable[Any]", value))
    base: Any = list if issubclass(kind, list) else tuple
    return list(base.__iter__(value))


def safe_float(value: Any) -> float | None:
    """A value as Keras has it in its logs, NaN and infinity included; None for what is no number.

    An array or tensor is one if it has a single element.
    """
    kind: Any = type(value)
    try:
        if issubclass(kind, float):
            return float.__float__(value)
        if issubclass(kind, int):
            return float(int.__int__(value))
        return _float_of_known(value) if is_known_class(kind) else None
    except Exception:  # noqa: BLE001 - too large, several elements, on no device
        return None


def _float_of_known(value: Any) -> float | None:
    if isinstance(value, str | bytes | bytearray):
        return float(value) if len(value) <= _LONGEST_NUMBER else None
    if getattr(value, "ndim", 0):  # of which numpy warns in `float()`
        array = value if hasattr(value, "item") else sys.modules["numpy"].asarray(value)
        return float(array.item())
    return float(value)


def safe_count(value: Any) -> int | None:
    """A count that Keras gave; None when it is none, or none that can be sent."""
    kind: Any = type(value)
    if not issubclass(kind, int) or kind is bool:
        return None
    count = int.__int__(value)
    return count if 0 <= count <= _MOST_COUNT else None


def safe_text(value: Any) -> str:
    """A name or text, of Python's own type; empty for what cannot be printed."""
    kind: Any = type(value)
    try:
        if issubclass(kind, str):
            return str.__str__(value)
        return str(value) if is_known_class(kind) else ""
    except Exception:  # noqa: BLE001 - what has no text
        return ""


def safe_bool(value: Any) -> bool:
    """True if a value counts as true; False if only the script's code could tell."""
    try:
        return bool(value) if is_known_class(type(value)) else False
    except Exception:  # noqa: BLE001 - an array
        return False


def safe_get(mapping: Any, name: str) -> Any:
    """An item of what should be a dict; None where there is none."""
    return dict[str, Any].get(mapping, name) if is_instance(mapping, dict) else None


def numeric_logs(
    logs: Any,
    *,
    name_of: Callable[[str], str],
    most: int,
    number: Callable[[Any], float | None] = safe_float,
) -> dict[str, float]:
    """The numbers in Keras' logs; of others, of ours and of what cannot be read nothing.

    Args:
        logs: A dict, or whatever a script gave as one.
        name_of: The name under which a number is reported; empty: it is not.
        most: So many at most.
        number: Reads a value; None for what is no number.
    """
    metrics: dict[str, float] = {}
    if not is_instance(logs, dict):
        return metrics
    for name, value in itertools.islice(dict[Any, Any].items(logs), _MOST_LOOKED_AT):
        text = safe_text(name)
        if text and len(metrics) < most and (reported := name_of(text)):
            result = number(value)
            if result is not None:
                metrics[reported] = result
    return metrics
