# pyright: basic
"""Values of the script, read without running any of its code.

A property, `__getattr__`, `__float__`, `__len__` or `__repr__` of the script may print, draw a
random number, take the next item of an iterator or raise: the training would differ from one
without kmonitor. So attributes are looked up statically, and only classes of Python and of the
frameworks compute, convert or name anything. Values that cannot be read in this way are absent.
"""

import functools
import itertools
import os
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
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
    "pyarrow",
    "pybind11_builtins",
    "scipy",
    "tensorflow",
    "tf_keras",
    "torch",
    "wrapt",
}
"""Packages with trusted classes: reading their attributes neither draws nor counts."""

_MOST_LOOKED_AT: Final = 4096
"""Maximum number of items of a mapping to read; a script's own mapping may be endless."""

_MOST_COUNT: Final = 2**63 - 1
_LONGEST_NUMBER: Final = 400
"""Maximum length of a number given as text."""

_BASES_OF: Final[Any] = type.__dict__["__mro__"]
_MODULE_OF: Final[Any] = type.__dict__["__module__"]
_NAME_OF: Final[Any] = type.__dict__["__name__"]
_QUALNAME_OF: Final[Any] = type.__dict__["__qualname__"]
_NAMES_OF: Final[Any] = type.__dict__["__dict__"]
_FLAGS_OF: Final[Any] = type.__dict__["__flags__"]
# By the descriptors of `type`: a metaclass may be the script's own.

_MADE_AT_RUNTIME: Final = 1 << 9
"""Py_TPFLAGS_HEAPTYPE; a class without it is part of a compiled module."""

_FORWARDING: Final = frozenset(map(id, weakref.ProxyTypes))
"""Classes of Python whose objects forward every access to another object."""

_IN_C: Final = (
    *(BuiltinFunctionType, ClassMethodDescriptorType, GetSetDescriptorType),
    *(MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType),
)
_INSTALLED: Final = ("site-packages", "dist-packages")
_PYTHON_FOLDER: Final = Path(str(os.__file__)).parent
_COMPILED_FOLDER: Final = Path(sys.base_exec_prefix, sys.platlibdir, _PYTHON_FOLDER.name)
_OWN_FOLDER: Final = Path(__file__).absolute().parents[1]
_PARTS_OF_GOOGLE: Final = ("google.protobuf", "google._upb")
"""`google` itself is a namespace package that anyone's packages may be in."""

_WRAPPERS: Final = ("_TupleWrapper", "_DictWrapper")
_MOST_REMEMBERED: Final = 10_000
_known: dict[int, "weakref.ref[type]"] = {}
"""Classes that were found to be known, by identity: a metaclass may hash and compare."""


def own_attributes(kind: type) -> Mapping[str, Any]:
    """Attributes that a class itself defines, by name."""
    return _NAMES_OF.__get__(kind)


def class_bases(kind: type) -> tuple[type, ...]:
    """A class and its bases, in the order in which attributes are looked up."""
    return _BASES_OF.__get__(kind)


def class_name(kind: type) -> str:
    """Name of a class, read without its metaclass."""
    return _NAME_OF.__get__(kind)


def class_module(kind: type) -> str:
    """Module that a class claims to be from; empty if that is not a string."""
    module = _MODULE_OF.__get__(kind)
    return module if type(module) is str else ""


def class_package(kind: type) -> str:
    """Package of Python or a framework that defines a class; empty for a class of the script."""
    return class_module(kind).partition(".")[0] if _is_known_base(kind) else ""


def is_subclass(kind: type, bases: Iterable[type]) -> bool:
    """True if a class is one of these or derives from one; registered subclasses do not count.

    `issubclass` hashes the class where one of the bases is abstract.
    """
    wanted = set(map(id, bases))
    return any(id(base) in wanted for base in class_bases(kind))


def is_exactly(value: object, *kinds: type) -> bool:
    """True if a value is of one of these classes itself; its class is not compared or hashed."""
    return any(type(value) is kind for kind in kinds)


def is_known_class(kind: type) -> bool:
    """True if a class and all its bases belong to Python or a framework.

    The module that a class claims may be wrong: a class created by `exec` is of `builtins`, and a
        script may be named like a module of Python. So the module must have this very class under
        its name, or all code of the class must come from the package's files.
    """
    return all(map(_is_known_base, class_bases(kind)))


def is_known_function(function: Any) -> bool:
    """True for a function or class of Python or a framework, and for objects they created.

    A method or partial is known if the function it calls and the values it holds are; so is any
    other object.
    """
    kind: Any = type(function)
    if kind is FunctionType:
        return _is_known_code(function, function.__module__)
    if kind is MethodType:
        return is_known_function(function.__func__) and is_known_class(type(function.__self__))
    if is_subclass(kind, (type,)):
        return is_known_class(function) and is_known_class(kind)
    return holds_only_known(function)


def holds_only_known(value: object) -> bool:
    """True if a value and its contents, functions included, are of Python or a framework."""
    todo: list[Any] = [value]
    seen: dict[int, Any] = {}  # keeps them: an identity must not be given again
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        kind: Any = type(each)
        if len(seen) > _MOST_LOOKED_AT or not is_known_class(kind):
            return False
        if is_subclass(kind, (FunctionType, MethodType, type)):
            if not is_known_function(each):
                return False
        elif class_package(kind) == "numpy" and _holds_objects(each):
            return False
        else:
            todo += _held_by(each, kind)
    return True


def _held_by(value: Any, kind: type) -> list[Any]:
    held = [*contents_of(value), *instance_dict(value).values()]
    if is_subclass(kind, (dict,)):
        held += list(dict[Any, Any].keys(value))
    if is_subclass(kind, (functools.partial,)):
        held += [value.func, value.args, value.keywords]
    return held


def _holds_objects(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "hasobject", False) is True


def runs_only_package_code(kind: type) -> bool:
    """True if a class is known and the script replaced none of its methods."""
    return is_known_class(kind) and all(
        _has_only_package_code(base) for base in class_bases(kind) if is_made_at_runtime(base)
    )


def is_made_at_runtime(kind: type) -> bool:
    """False for a class that a compiled module contains as it is."""
    return bool(_FLAGS_OF.__get__(kind) & _MADE_AT_RUNTIME)


def _is_known_base(base: type) -> bool:
    if not is_made_at_runtime(base):
        return is_known_module(class_module(base)) and id(base) not in _FORWARDING
    reference = _known.get(id(base))
    if reference is not None and reference() is base:
        return True
    is_known = is_known_module(class_module(base)) and (
        _is_in_its_module(base) or _has_only_package_code(base)
    )
    if is_known:
        if len(_known) >= _MOST_REMEMBERED:
            _known.clear()
        _known[id(base)] = weakref.ref(base)
    return is_known


def is_known_module(module: object) -> bool:
    """True for the name of a module of Python or a framework, whoever claims it."""
    return type(module) is str and module.partition(".")[0] in _PACKAGES


def _is_in_its_module(kind: type) -> bool:
    module = class_module(kind)
    names = instance_dict(sys.modules.get(module))
    origin = instance_dict(names.get("__spec__")).get("origin") or names.get("__file__")
    if not _is_of_package(origin, module):
        return False
    value: Any = None
    for name in _QUALNAME_OF.__get__(kind).split("."):
        value = names.get(name)
        names = _NAMES_OF.__get__(value) if is_subclass(type(value), (type,)) else {}
    return value is kind


def _has_only_package_code(kind: type) -> bool:
    """True if no function or callable object in a class is of another package."""
    module = class_module(kind)
    return all(_is_package_member(each, module) for each in list(_NAMES_OF.__get__(kind).values()))


def _is_package_member(value: Any, module: str) -> bool:
    kind: Any = type(value)
    if kind is FunctionType:
        return _is_known_code(value, module)
    if kind is property:
        return all(
            each is None or _is_package_member(each, module)
            for each in (value.fget, value.fset, value.fdel)
        )
    if is_exactly(value, staticmethod, classmethod, functools.cached_property):
        is_cached = kind is functools.cached_property
        return _is_package_member(value.func if is_cached else value.__func__, module)
    is_data = class_attribute(kind, "__get__") is None and (
        class_attribute(kind, "__call__") is None or is_subclass(kind, (type,))
    )
    return is_data or is_exactly(value, *_IN_C)


def _is_known_code(function: Any, module: object) -> bool:
    return is_known_module(module) and _is_of_package(function.__code__.co_filename, str(module))


def _is_of_package(path: object, module: str) -> bool:
    """True if a file, named by a module or a function's code, belongs to a module's package."""
    return type(path) is str and _is_in_package(path, module.partition(".")[0])


@functools.lru_cache(_MOST_REMEMBERED)
def _is_in_package(path: str, package: str) -> bool:
    if package not in sys.stdlib_module_names:
        return any(path.startswith(f"{folder}{os.sep}") for folder in _folders_of(package))
    if path in {"built-in", "frozen"} or path.startswith("<frozen "):
        return True
    within = (path.removeprefix(f"{each}{os.sep}") for each in (_PYTHON_FOLDER, _COMPILED_FOLDER))
    return any(each != path and not each.startswith(_INSTALLED) for each in within)


def _folders_of(package: str) -> list[Path]:
    """Folders of an imported package.

    None for a package beside the script, which is the user's.
    """
    if package == "kmonitor_agent":
        return [_OWN_FOLDER]
    folders: list[Path] = []
    for name in _PARTS_OF_GOOGLE if package == "google" else (package,):
        paths: Any = instance_dict(sys.modules.get(name)).get("__path__")
        paths = paths if type(paths) is list else instance_dict(paths).get("_path")
        folders += [Path(each) for each in items_of(paths) if type(each) is str]
    script = instance_dict(sys.modules.get("__main__")).get("__file__")
    beside = Path(script).absolute().parent if type(script) is str else None
    return [
        each
        for each in folders
        if each.absolute().parent != beside or each.parent.name in _INSTALLED
    ]


def instance_dict(owner: object) -> dict[str, Any]:
    """Attributes in an object's `__dict__`, by name; empty if there are none.

    Read by Python's own descriptor, since a class may have a property named `__dict__`.
    """
    kind: Any = type(owner)
    for base in class_bases(kind):
        slot = _NAMES_OF.__get__(base).get("__dict__")
        if is_exactly(slot, GetSetDescriptorType, MemberDescriptorType):
            try:
                values = slot.__get__(owner, kind)
            except (AttributeError, TypeError):  # the slot of another class
                continue
            if type(values) is dict:
                return values
    return {}


def slot_values(owner: object) -> list[tuple[str, Any]]:
    """Names and values of the slots that an object's classes define; empty ones are left out."""
    kind: Any = type(owner)
    found: list[tuple[str, Any]] = []
    for base in class_bases(kind):
        names = _NAMES_OF.__get__(base)
        if "__slots__" not in names:
            continue
        for name, slot in list(names.items()):
            if type(slot) is MemberDescriptorType:
                try:
                    found.append((name, slot.__get__(owner, kind)))
                except (AttributeError, TypeError):
                    continue
    return found


def class_attribute(kind: type, name: str) -> Any:
    """Attribute of a class or one of its bases as it was defined; None if there is none."""
    for base in class_bases(kind):
        names = _NAMES_OF.__get__(base)
        if name in names:
            return names[name]
    return None


def has_attribute(owner: object, name: str) -> bool:
    """True if an object or its class has an attribute; those from `__getattr__` do not count."""
    return name in instance_dict(owner) or any(
        name in _NAMES_OF.__get__(base) for base in class_bases(type(owner))
    )


def safe_getattr(owner: Any, name: str, otherwise: Any = None) -> Any:
    """An attribute, or `otherwise` if there is none or only the script's code can compute it.

    For an object of the script's own class, only values in its `__dict__`, in slots, or plain data
    of the class are read. The same holds for modules and classes, which may be the script's.
    """
    kind: Any = type(owner)
    if is_known_class(kind) and not is_subclass(kind, (type, ModuleType)):
        try:
            return getattr(owner, name, otherwise)
        except Exception:  # noqa: BLE001 - Keras' own raise, where there is nothing, various things
            return otherwise
    values = instance_dict(owner)
    if name in values:
        return values[name]
    value = class_attribute(kind, name)
    try:
        if is_exactly(value, GetSetDescriptorType, MemberDescriptorType):
            return value.__get__(owner, kind)
    except (AttributeError, TypeError):  # a slot that is empty, or of another class
        return otherwise
    is_plain = value is not None and class_attribute(type(value), "__get__") is None
    return value if is_plain else otherwise


def is_instance(value: object, *kinds: type) -> bool:
    """True if a value's class is one of these or derives from one; `__class__` is not read."""
    return is_subclass(type(value), kinds)


def running_shell() -> Any:
    """IPython's running shell, or None; a module of the script with that name is ignored."""
    # Not `get_ipython`: IPython 9.18 and later make it on first use.
    module = instance_dict(sys.modules.get("IPython.core.interactiveshell"))
    kind: Any = module.get("InteractiveShell")
    if not is_subclass(type(kind), (type,)) or not is_known_class(kind):
        return None
    return kind.instance() if kind.initialized() else None


def unwrapped(value: Any) -> Any:
    """The tuple or dict in a wrapper of TensorFlow, as layers and optimizers keep them.

    These wrappers derive from neither tuple nor dict. Anything else is returned unchanged.
    """
    kind: Any = type(value)
    is_wrapper = class_name(kind) in _WRAPPERS and class_package(kind) == "tensorflow"
    return value.__wrapped__ if is_wrapper else value


def items_of(value: object) -> list[Any]:
    """Items of a list or tuple, of any subclass; empty for anything else."""
    held = unwrapped(value)
    return contents_of(held) if is_instance(held, list, tuple) else []


def each_of(value: object) -> list[Any]:
    """Items of a list or tuple; for anything else a list of the value alone."""
    held = unwrapped(value)
    return contents_of(held) if is_instance(held, list, tuple) else [held]


_CONTAINERS: Final = (list, tuple, deque, dict, set, frozenset)


def contents_of(value: object, most: int = sys.maxsize) -> list[Any]:
    """Items of a container of Python or of a subclass; for a dict its values.

    Empty for anything else, and for a container with more than `most` items.
    """
    value = unwrapped(value)
    kind: Any = type(value)
    base: Any = next((each for each in _CONTAINERS if is_subclass(kind, (each,))), None)
    if base is None or base.__len__(value) > most:
        return []
    if base is dict:
        return list(dict[Any, Any].values(cast("dict[Any, Any]", value)))
    # TensorFlow's own lists keep what they hold elsewhere.
    return list(cast("Iterable[Any]", value) if is_known_class(kind) else base.__iter__(value))


def safe_float(value: Any) -> float | None:
    """A value of Keras' logs as a number, NaN and infinity included; None if it is not a number.

    An array or tensor counts as a number if it has a single element.
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
    """A count from Keras; None if it is not a count, or not one that can be sent."""
    kind: Any = type(value)
    if not issubclass(kind, int) or kind is bool:
        return None
    count = int.__int__(value)
    return count if 0 <= count <= _MOST_COUNT else None


def safe_text(value: Any) -> str:
    """A name or text as `str`; empty if it cannot be printed."""
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
    """An item of a value that should be a dict; None if there is none."""
    return dict[str, Any].get(mapping, name) if is_instance(mapping, dict) else None


def numeric_logs(
    logs: Any,
    *,
    name_of: Callable[[str], str],
    most: int,
    number: Callable[[Any], float | None] = safe_float,
) -> dict[str, float]:
    """Numbers in Keras' logs, without other values, our own and unreadable ones.

    Args:
        logs: A dict, or whatever a script passed as one.
        name_of: Name under which a number is reported; empty: it is left out.
        number: Reads a value; None if it is not a number.
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
