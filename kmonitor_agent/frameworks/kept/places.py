# pyright: basic
"""Places where a script keeps things, and where libraries keep them for it.

No code of the script's runs, and no reference is kept.
"""

import inspect
import re
import sys
import weakref
from collections.abc import Iterator
from threading import get_ident, gettrace
from types import FrameType, FunctionType
from typing import Any, Final

from kmonitor_agent.call_stacks import (
    DATA_NAMES,
    SUSPENDABLE,
    call_stacks,
    frame_locals,
    is_keras_frame,
    suspended_code,
    suspended_frame,
)
from kmonitor_agent.frameworks.kept.containers import length_of
from kmonitor_agent.frameworks.kept.contents import (
    attributes_of_function,
    closure_of,
    held_beside,
)
from kmonitor_agent.frameworks.kept.library_memory import AT_EXIT, SQLITE
from kmonitor_agent.frameworks.kept.tasks import TASKS
from kmonitor_agent.frameworks.script_files import is_of_script, is_script_file
from kmonitor_agent.frameworks.script_values import (
    class_name,
    instance_dict,
    is_exactly,
    is_known_class,
    is_known_function,
    is_subclass,
    own_attributes,
    running_shell,
    safe_getattr,
)

OUT: Final = "Out"
LAST_TRACEBACK: Final = "sys.last_traceback"
FINALIZERS: Final = "weakref.finalize"
PYPLOT: Final = "matplotlib.pyplot"
ROOT_GRAPH: Final = "tf.Graph"

CUSTOM_OBJECTS: Final = "keras.saving.get_custom_objects"

PUBLIC_PLACES: Final = frozenset(
    {OUT, LAST_TRACEBACK, FINALIZERS, PYPLOT, ROOT_GRAPH, CUSTOM_OBJECTS, TASKS, AT_EXIT, SQLITE}
)
"""Places of libraries, whose names are not private."""

_RESULT: Final = re.compile(r"_+|_i*\d*|Out|In")
"""Names that a notebook gives to the results of cells."""


_DATA: Final = ("x", "val_x")
"""Variables of Keras' `fit` and `evaluate` that hold the data as given, in each version."""


def data_of_fits() -> list[Any]:
    """Data of the Keras calls that this thread is in, and data wrapped in objects of libraries."""
    given: list[Any] = []
    with call_stacks() as stacks:
        for frame in stacks.get(get_ident(), ()):
            if is_keras_frame(frame) and not DATA_NAMES.isdisjoint(frame.f_code.co_varnames):
                with frame_locals(frame) as variables:
                    given += [variables.get(name) for name in _DATA]
    return [each for data in given for each in (data, *instance_dict(data).values())]


_ASKS_FOR_LOCALS: Final = frozenset({"locals", "f_locals"})
_REFERENCES: Final = 4
"""Reference count of a copy of a call's variables that only its frame keeps, with the references
of this module and of `frame_locals` while reading it."""


def locals_of(frame: FrameType) -> list[tuple[str, Any]]:
    """Variables of a function call; empty for a module or class, and if the code uses `locals()`.

    Up to Python 3.12 the variables are copied into a dict, always the same one, which the frame
    keeps: a script that holds it must not see it change, and values in it would live on.
    """
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED or not _ASKS_FOR_LOCALS.isdisjoint(code.co_names):
        return []
    with frame_locals(frame) as variables:
        found = list(variables.items())
        if type(variables) is dict and sys.getrefcount(variables) <= _REFERENCES:
            variables.clear()
    return found


def name_of_call(value: Any, place: str) -> str:
    """Name by which the variables of a function or a suspended call are known.

    One without a name, as a lambda, has them from the function around it.

    Args:
        value: A function, generator or coroutine.
        place: Location of the value.
    """
    code = value.__code__ if type(value) is FunctionType else suspended_code(value)
    if not code.co_name.startswith("<"):
        return value.__name__
    names = [each for each in code.co_qualname.split(".") if not each.startswith("<")]
    return names[-1] if names else place


def variables_held(value: Any) -> list[tuple[str, Any]]:
    """Variables that a function of the script refers to, or that a suspended call of it has.

    Args:
        value: A function, generator or coroutine.
    """
    if type(value) is FunctionType:
        if is_known_function(value):
            return []
        return [*closure_of(value), *attributes_of_function(value)]
    frame = suspended_frame(value)
    if frame is None or not is_script_file(frame.f_code.co_filename):
        return []
    return locals_of(frame)


def iterated_by(value: Any) -> list[Any]:
    """Objects that a suspended call of the script refers to, as what its loops iterate over.

    A loop's iterator has no name. It is on the stack of the call, which cannot be read while it
    runs.
    """
    frame = suspended_frame(value) if is_exactly(value, *SUSPENDABLE) else None
    if frame is None or not is_script_file(frame.f_code.co_filename):
        return []
    return held_beside(value, {})


def variables_of_calls() -> list[tuple[str, list[tuple[str, Any]]]]:
    """Names and variables of the script's functions that run, those of this thread first.

    Threads of the script count too: one that loads batches refers to the queue it fills.
    """
    found: list[tuple[str, list[tuple[str, Any]]]] = []
    own = get_ident()
    with call_stacks() as stacks:
        # Not in a list of frames: this very call is among them.
        for thread in sorted(stacks, key=lambda each: each != own):
            for frame in () if thread != own and _is_traced() else stacks[thread]:
                code = frame.f_code
                if len(found) < _MOST_CALLS and is_script_file(code.co_filename):
                    found.append((code.co_name, locals_of(frame)))
    return found


_MOST_CALLS: Final = 100


def _is_traced() -> bool:
    """True if a debugger or the like traces calls, perhaps those of other threads.

    Up to Python 3.12, when its function returns, a call's variables are set to the copy that the
    frame keeps, and the copy that was read here is cleared.
    """
    return sys.gettrace() is not None or gettrace() is not None


def named_variables(names: dict[str, Any]) -> list[tuple[str, Any]]:
    return [
        each
        for each in list(names.items())
        if type(each[0]) is str and not _RESULT.fullmatch(each[0])
    ]


def names_of_shell() -> dict[str, Any]:
    """Variables of a notebook; empty if there is none."""
    shell = running_shell()
    names = None if shell is None else safe_getattr(shell, "user_ns")
    return names if type(names) is dict else {}


class Owners:
    """Names of the objects whose attributes are searched, in one search.

    They are named by their classes; an object of a private class of a library, which the script
    does not know, by the object that holds it. All objects of such a class have the name of the
    first, so that the name of a linked one does not get longer.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}  # by class

    def name_of(self, kind: type, place: str) -> str:
        """Name of an object of a class that was found in a place."""
        name = class_name(kind)
        if not name.startswith("_") or is_of_script(kind):
            return name
        holder, _, attribute = place.rpartition(".")
        named = holder if holder and attribute.startswith("_") else place
        return self._names.setdefault(id(kind), named)


def library_places() -> Iterator[tuple[Any, str]]:
    names = names_of_shell()
    if names:
        yield names.get("_oh"), OUT
    for name in ("last_exc", "last_value", "last_traceback"):
        yield instance_dict(sys).get(name), LAST_TRACEBACK
    yield own_attributes(weakref.finalize).get("_registry"), FINALIZERS
    for handler in _log_handlers():
        kind: Any = type(handler)
        if not is_known_class(kind):
            yield handler, class_name(kind)
            continue
        for name, value in list(instance_dict(handler).items()):
            if length_of(value) is not None:  # records that wait, as those of a MemoryHandler
                yield value, f"{class_name(kind)}.{name}"
    yield from _registries()
    helpers = instance_dict(sys.modules.get("matplotlib._pylab_helpers"))
    manager: Any = helpers.get("Gcf")
    if is_subclass(type(manager), (type,)):
        yield own_attributes(manager).get("figs"), PYPLOT
    ops = instance_dict(sys.modules.get("tensorflow.python.framework.ops"))
    # Each thread has a stack of graphs, whose attributes are found by asking for them only.
    graph = safe_getattr(ops.get("_default_graph_stack"), "_global_default_graph")
    yield safe_getattr(graph, "_py_funcs_used_in_graph"), ROOT_GRAPH


def _registries() -> Iterator[tuple[Any, str]]:
    """Classes and functions registered with Keras by `register_keras_serializable`."""
    for package in ("keras", "tf_keras"):
        module = sys.modules.get(f"{package}.src.saving.object_registration")
        yield instance_dict(module).get("GLOBAL_CUSTOM_OBJECTS"), CUSTOM_OBJECTS


def _log_handlers() -> list[Any]:
    """Handlers of `logging`, which refers to them weakly."""
    known = instance_dict(sys.modules.get("logging")).get("_handlerList")
    refs = list.copy(known) if type(known) is list else []
    return [each for ref in refs if type(ref) is weakref.ref and (each := ref()) is not None]
