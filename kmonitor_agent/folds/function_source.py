"""Where a function stands, told in words, so that another process finds it; nothing is pickled.

A function of a module is found by the module's name. One of the script itself is found by running
the script again as `multiprocessing` does, under the name `__mp_main__`; without a main guard that
comes to the same `run_folds`, where it stops.
"""

import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from kmonitor_agent.folds.plain import NotPlain, packed, unpacked

MAIN: Final = "__mp_main__"
"""As `multiprocessing` calls a script that it runs again."""

_IN_A_FILE: Final = """\
    {name}: {what} A fold runs in a process of its own, which can only read it from a file.
    Write it to one, for example my_folds.py next to this {place}:

        {magic}def {name}(fold):
            ...

    and then:

        from my_folds import {name}
        run_folds({name}, folds=5)"""

_AT_THE_TOP: Final = """\
    {name}: {what} Write it at the top level of the script or of a module:

        def train_fold(fold):
            ...

        if __name__ == "__main__":
            run_folds(train_fold, folds=5)"""


class FoldsRefused(Exception):
    """No fold was begun; the message says why and what to write.

    Attributes:
        why: The message.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class FunctionSource(msgspec.Struct, frozen=True):
    """Where a function stands.

    Attributes:
        name: Its name within the module, with dots.
        line: Line of its definition, to tell apart functions of one name.
        module: Name of the module that is imported; empty for the script itself.
        file: Path of the script; empty when `module` says all.
        is_package: The script was started as `python -m MODULE`.
        arguments: Further arguments by name, packed plain data.
        functions: Further arguments by name that are functions themselves.
    """

    name: str
    line: int = 0
    module: str = ""
    file: str = ""
    is_package: bool = False
    arguments: bytes = b""
    functions: "dict[str, FunctionSource]" = {}

    @property
    def text(self) -> str:
        """The function in one line: "train.py: train_fold"."""
        return f"{self.module or Path(self.file).name}: {self.name}"


class Reached(BaseException):
    """The script came to `run_folds` in a process that looks for the function.

    No `Exception`: a script's own `except Exception` must not catch it.

    Attributes:
        function: What the script gave to `run_folds`.
    """

    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function


def source_of(function: object) -> FunctionSource:
    """Where a function stands.

    Args:
        function: A function, or a `functools.partial` of one with arguments by name: plain data,
            or functions that can be found likewise.

    Raises:
        TypeError: It is no function.
        FoldsRefused: No other process could find it.
    """
    if isinstance(function, functools.partial):
        return _of_partial(cast("functools.partial[Any]", function))
    if not inspect.isfunction(function):
        raise TypeError(
            f"run_folds: {function!r} is no function; write run_folds(train_fold, folds=5) with"
            " def train_fold(fold) at the top level of the script, without ()."
        )
    name, line = function.__qualname__, function.__code__.co_firstlineno
    if function.__module__ not in {"__main__", MAIN}:
        _refuse_unless_found(function, name)
        return FunctionSource(name, line, module=function.__module__)
    main: Any = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in {"__main__", MAIN}:
        return FunctionSource(name, line, module=str(spec.name), is_package=True)
    file = getattr(main, "__file__", None)
    if not file or not Path(file).is_file() or _is_interactive():
        raise FoldsRefused(_in_a_file(name))
    return FunctionSource(name, line, file=str(Path(file).absolute()))


def load(source: FunctionSource) -> Callable[..., Any]:
    """Find a function in this process, which runs a script again for it.

    Raises:
        FoldsRefused: It is not there.
        Exception: Whatever the script or the module raises.
    """
    found = _load(source)
    arguments: dict[str, Any] = unpacked(source.arguments) if source.arguments else {}
    arguments |= {name: load(each) for name, each in source.functions.items()}
    return functools.partial(found, **arguments) if arguments else found


def _load(source: FunctionSource) -> Callable[..., Any]:
    if source.module and not source.is_package:
        return _named(vars(importlib.import_module(source.module)), source)
    known = sys.modules.get(MAIN)
    if known is not None:
        return _named(vars(known), source)  # another of its functions was looked for
    module: types.ModuleType = _main_module(source)
    try:
        assert module.__spec__ is not None and module.__spec__.loader is not None  # noqa: PT018, S101
        module.__spec__.loader.exec_module(module)
    except Reached as reached:
        given = reached.function
        while isinstance(given, functools.partial):
            given = cast("functools.partial[Any]", given).func
        if inspect.isfunction(given) and _is_it(given, source):
            return given
        if source.name.partition(".")[0] not in vars(module):
            raise FoldsRefused(_unguarded(source.name)) from None
    return _named(vars(module), source)


def _main_module(source: FunctionSource) -> types.ModuleType:
    """The script's module, not yet run; in the place of `__main__`."""
    if source.module:
        found = importlib.util.find_spec(source.module)
        path = "" if found is None else str(found.origin)
    else:
        path = source.file
    loader = importlib.machinery.SourceFileLoader(MAIN, path)
    spec = importlib.util.spec_from_file_location(MAIN, path, loader=loader)
    if spec is None:
        raise FoldsRefused(f"{path} cannot be read again")
    module = importlib.util.module_from_spec(spec)
    if source.module:
        module.__package__ = source.module.rpartition(".")[0]
    sys.modules["__main__"] = sys.modules[MAIN] = module
    sys.dont_write_bytecode = True  # a script has no __pycache__ beside it
    return module


def _named(names: dict[str, Any], source: FunctionSource) -> Callable[..., Any]:
    found: Any = None
    for at, part in enumerate(source.name.split(".")):
        found = names.get(part) if at == 0 else getattr(found, part, None)
    if not callable(found):
        what = "it is not found when the script is read again: it stands in another function, in"
        raise FoldsRefused(_at_the_top(source.name, f"{what} the main guard, or is a lambda."))
    return found


def _is_it(function: Any, source: FunctionSource) -> bool:
    is_there = function.__code__.co_firstlineno == source.line
    return is_there and function.__qualname__ == source.name


def _of_partial(given: "functools.partial[Any]") -> FunctionSource:
    inner = source_of(given.func)
    if given.args:
        raise FoldsRefused(
            "run_folds: partial(...) gives arguments by place; give them by name:"
            f" partial({inner.name}, name=value)."
        )
    named: dict[str, Any] = given.keywords
    functions = {name: source_of(each) for name, each in named.items() if inspect.isfunction(each)}
    named = {name: each for name, each in named.items() if name not in functions}
    for name, value in named.items():
        try:
            packed(value)
        except NotPlain as exc:
            raise FoldsRefused(
                f"run_folds: {name}= of partial(...) is or holds a {exc.kind}, which cannot be"
                " given to another process as plain data (None, numbers, texts, bytes, lists,"
                f" dicts, arrays). Make it in {inner.name} itself."
            ) from None
    before: dict[str, Any] = unpacked(inner.arguments) if inner.arguments else {}
    return msgspec.structs.replace(
        inner,
        arguments=packed({**before, **named}),
        functions={**inner.functions, **functions},
    )


def _refuse_unless_found(function: Any, name: str) -> None:
    found: Any = sys.modules.get(function.__module__)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        what = "it stands inside of another function, or is a lambda."
        raise FoldsRefused(_at_the_top(name, what))


def _is_interactive() -> bool:
    shell: Any = sys.modules.get("IPython")
    shell = None if shell is None else shell.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _in_a_file(name: str) -> str:
    in_notebook = _is_interactive()
    place = "notebook" if in_notebook else "folder"
    what = "it was typed into a notebook or an interpreter, or read from its input."
    magic = "%%writefile my_folds.py\n        " if in_notebook else ""
    name = name if name.isidentifier() else "train_fold"
    text = _IN_A_FILE.format(name=name, what=what, place=place, magic=magic)
    return "run_folds: no fold was begun.\n" + text


def _at_the_top(name: str, what: str) -> str:
    return "run_folds: no fold was begun.\n" + _AT_THE_TOP.format(name=name, what=what)


def _unguarded(name: str) -> str:
    return _at_the_top(name, "the script comes to another run_folds before it is defined.")
