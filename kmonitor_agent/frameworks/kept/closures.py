# pyright: basic
"""Contents of functions of the script: variables of enclosing functions, defaults, attributes.

No code of the script's runs.
"""

import gc
from types import FunctionType
from typing import Any


def closure_of(function: FunctionType) -> list[tuple[str, Any]]:
    """Variables of enclosing functions that a function refers to, and its argument defaults."""
    code = function.__code__
    defaults = function.__defaults__ if type(function.__defaults__) is tuple else ()
    named = function.__kwdefaults__ if type(function.__kwdefaults__) is dict else {}
    values: list[tuple[str, Any]] = list(named.items())
    last = code.co_argcount
    values += zip(code.co_varnames[last - len(defaults) : last], defaults, strict=False)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            values.append((name, cell.cell_contents))
        except ValueError:  # an empty one
            continue
    return values


def attributes_of_function(function: FunctionType) -> list[tuple[Any, Any]]:
    """Attributes that were set on a function, and its annotations if these were ever read.

    Asking for its `__dict__` would make one for each function that has none, and asking for its
    annotations may run code of the script.
    """
    others = {id(function.__globals__), id(function.__builtins__), id(function.__kwdefaults__)}
    dicts = [each for each in gc.get_referents(function) if type(each) is dict]
    return [pair for each in dicts if id(each) not in others for pair in list(each.items())]
