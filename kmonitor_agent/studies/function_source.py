"""The place of a function in words, by which another process finds it; nothing is pickled.

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

from kmonitor_agent.frameworks.script_values import running_shell, safe_getattr
from kmonitor_agent.studies.values import NotPlainData, pack_value, unpack_value
from kmonitor_agent.wire.local.fold_identity import Noun

MAIN: Final = "__mp_main__"
"""As `multiprocessing` calls a script that it runs again."""

_IN_A_FILE: Final = """\
    {name}: {what} A {noun} runs in a process of its own, which can only read it from a file.
    Write it to one, for example {file} {place}:

        {magic}def {name}({argument}):
            ...

    and then:

        from {module} import {name}
        {call}"""

_AT_THE_TOP: Final = """\
    {name}: {what} Write it at the top level of the script or of a module:

        def {example}({argument}):
            {body}

        if __name__ == "__main__":
            {call}"""


class Usage(msgspec.Struct, frozen=True):
    """How a user hands a function over, for the lines of a refusal.

    Attributes:
        caller: What it is given to.
        noun: What each call of it is.
        example: A name for it.
        argument: What it gets.
        call: The line that hands it over, with `{name}`.
        file: Python file that it could be written to.
        goes_on: How to go on after Ctrl+C; empty: nothing is printed.
    """

    caller: str = "run_folds"
    noun: Noun = "fold"
    example: str = "train_fold"
    argument: str = "fold"
    call: str = "run_folds({name}, folds=5)"
    file: str = "my_folds.py"
    goes_on: str = ""

    @property
    def begin(self) -> str:
        """The first line of a refusal."""
        return f"{self.caller}: no {self.noun} was started.\n"

    def in_a_file(self, name: str) -> str:
        """Refuses a function that was typed in."""
        in_notebook = _is_interactive()
        name = name if name.isidentifier() else self.example
        return self.begin + _IN_A_FILE.format(
            name=name,
            what="it was typed into a notebook or an interpreter, or read from standard input.",
            noun=self.noun,
            place="next to this notebook" if in_notebook else "in this folder",
            magic=f"%%writefile {self.file}\n        " if in_notebook else "",
            file=self.file,
            module=self.file.removesuffix(".py"),
            argument=self.argument,
            call=self.call.format(name=name),
        )

    def at_the_top(self, name: str, what: str, body: str = "...") -> str:
        """Refuses a function that is defined where another process cannot reach it."""
        return self.begin + _AT_THE_TOP.format(
            name=name,
            what=what,
            example=self.example,
            argument=self.argument,
            body=body,
            call=self.call.format(name=self.example),
        )

    def of_an_object(self, function: object) -> str:
        """Refuses a method of an object, or an object that can be called."""
        kind = type(function)
        method = ""
        if inspect.ismethod(function):
            kind = type(function.__self__)
            method = f".{function.__name__}"
        what = "a method of an object" if method else "an object that can be called"
        return self.at_the_top(
            f"{kind.__name__}{method}",
            f"it is {what}, which no other process has; create the object in a function.",
            f"return {kind.__name__}(...){method}({self.argument})",
        )


RUN_FOLDS: Final = Usage()


class FoldsRefused(Exception):
    """No fold was begun; the message says why and what to write.

    Attributes:
        why: The message.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class FunctionSource(msgspec.Struct, frozen=True):
    """The place where a function is defined.

    Attributes:
        name: Its name within the module, with dots.
        line: Line of its definition, which distinguishes functions of one name.
        module: Name of the module that is imported; empty for the script itself.
        file: Path of the script; empty when `module` says all.
        is_package: The script was started as `python -m MODULE`.
        arguments: Further arguments by name, packed plain data.
        functions: Further arguments by name that are functions or classes themselves.
        usage: How it was handed over.
        is_later: The script has handed over a function before: without a main guard it would stop
            there, before the code in between has run.
    """

    name: str
    line: int = 0
    module: str = ""
    file: str = ""
    is_package: bool = False
    arguments: bytes = b""
    functions: "dict[str, FunctionSource]" = {}
    usage: Usage = RUN_FOLDS
    is_later: bool = False

    @property
    def text(self) -> str:
        """The function in one line: "train.py: train_fold"."""
        return f"{self.module or Path(self.file).name}: {self.name}"


class _Script:
    """State of this process about its script.

    Attributes:
        again: The script as this process has read it again for a function; None: it has not.
        has_handed_over: It has handed a function over, for a study of its own.
    """

    again: types.ModuleType | None = None
    has_handed_over = False


def note_handed_over() -> None:
    """The script has handed a function over: folds of a later one would not see what it did since.

    Called once all that belongs to the same call of the user's is handed over.
    """
    # In a fold's process all see the same: the script stopped where it stopped.
    _Script.has_handed_over = _Script.again is None


class Reached(BaseException):
    """The script came to `run_folds` in a process that looks for the function.

    No `Exception`: a script's own `except Exception` must not catch it.

    Attributes:
        function: What the script gave to `run_folds`.
    """

    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function


def source_of(function: object, usage: Usage = RUN_FOLDS) -> FunctionSource:
    """The place where a function is defined.

    Args:
        function: A function, a method of a class, or a `functools.partial` of one with arguments
            by name: plain data, or functions, partials of those, or classes that can be found
            likewise.
        usage: How it was handed over.

    Raises:
        TypeError: It is no function.
        FoldsRefused: No other process could find it.
    """
    if isinstance(function, functools.partial):
        return _of_partial(cast("functools.partial[Any]", function), usage)
    if inspect.ismethod(function) and inspect.isclass(function.__self__):
        return _standing(function.__self__, 0, usage, f".{function.__name__}")
    if not inspect.isfunction(function):
        if callable(function) and not inspect.isclass(function) and not _is_built_in(function):
            raise FoldsRefused(usage.of_an_object(function))
        call = usage.call.format(name=usage.example)
        raise TypeError(
            f"{usage.caller}: {function!r} is not a function; write {call} with def"
            f" {usage.example}({usage.argument}) at the top level of the script, without ()."
        )
    return _standing(function, function.__code__.co_firstlineno, usage)


def _is_built_in(function: object) -> bool:
    return type(function).__module__ == "builtins" and not inspect.ismethod(function)


def _standing(function: Any, line: int, usage: Usage, method: str = "") -> FunctionSource:
    """Of a function, a class, or a method of a class."""
    name = f"{function.__qualname__}{method}"
    if function.__module__ not in {"__main__", MAIN}:
        _refuse_unless_found(function, name, usage)
        return FunctionSource(name, line, module=function.__module__, usage=usage)
    main: Any = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in {"__main__", MAIN}:
        is_later = _Script.has_handed_over
        return FunctionSource(
            name, line, module=str(spec.name), is_package=True, usage=usage, is_later=is_later
        )
    file = getattr(main, "__file__", None)
    if not file or not Path(file).is_file() or _is_interactive():
        raise FoldsRefused(usage.in_a_file(name))
    is_later = _Script.has_handed_over
    script = str(Path(file).absolute())
    return FunctionSource(name, line, file=script, usage=usage, is_later=is_later)


def load(source: FunctionSource) -> Callable[..., Any]:
    """Find a function in this process, which runs a script again for it.

    Raises:
        FoldsRefused: It is not there.
        Exception: Whatever the script or the module raises.
    """
    function = _load(source)
    arguments: dict[str, Any] = unpack_value(source.arguments) if source.arguments else {}
    arguments |= {name: load(each) for name, each in source.functions.items()}
    return functools.partial(function, **arguments) if arguments else function


def _load(source: FunctionSource) -> Callable[..., Any]:
    if source.module and not source.is_package:
        return _named(vars(importlib.import_module(source.module)), source)
    if _Script.again is not None:
        return _named(vars(_Script.again), source)  # another of its functions was looked for
    module, loader = _main_module(source)
    _Script.again = module
    try:
        loader.exec_module(module)
    except Reached as reached:
        if source.is_later:
            what = f"the script reaches an earlier {source.usage.caller} first, and the code"
            what = f"{what} between the two has not run. A second one needs the main guard."
            raise FoldsRefused(source.usage.at_the_top(source.name, what)) from None
        function = reached.function
        while isinstance(function, functools.partial):
            function = cast("functools.partial[Any]", function).func
        if inspect.isfunction(function) and _is_it(function, source):
            return function
        if source.name.partition(".")[0] not in vars(module):
            what = f"the script reaches another {source.usage.caller} before it is defined."
            raise FoldsRefused(source.usage.at_the_top(source.name, what)) from None
    return _named(vars(module), source)


def _main_module(
    source: FunctionSource,
) -> tuple[types.ModuleType, importlib.machinery.SourceFileLoader]:
    """The script's module, not yet run, in the place of `__main__`; and what runs it."""
    module_spec = importlib.util.find_spec(source.module) if source.module else None
    path = source.file if module_spec is None else str(module_spec.origin)
    loader = importlib.machinery.SourceFileLoader(MAIN, path)
    spec = importlib.util.spec_from_file_location(MAIN, path, loader=loader)
    if spec is None:
        raise FoldsRefused(f"{path} cannot be read again")
    module = importlib.util.module_from_spec(spec)
    # As in the script's own process: `multiprocessing` reads from it how its processes find it.
    module.__spec__ = module_spec
    if source.module:
        module.__package__ = source.module.rpartition(".")[0]
    sys.modules["__main__"] = sys.modules[MAIN] = module
    sys.dont_write_bytecode = True  # a script has no __pycache__ beside it
    return module, loader


def _named(names: dict[str, Any], source: FunctionSource) -> Callable[..., Any]:
    value: Any = None
    for at, part in enumerate(source.name.split(".")):
        value = names.get(part) if at == 0 else getattr(value, part, None)
    if not callable(value):
        what = "it is not found when the script is read again: it is in another function, in"
        what = f"{what} the main guard, or is a lambda."
        raise FoldsRefused(source.usage.at_the_top(source.name, what))
    return value


def _is_it(function: Any, source: FunctionSource) -> bool:
    is_same_line = function.__code__.co_firstlineno == source.line
    return is_same_line and function.__qualname__ == source.name


def _of_partial(function: "functools.partial[Any]", usage: Usage) -> FunctionSource:
    inner = source_of(function.func, usage)
    if function.args:
        raise FoldsRefused(
            f"{usage.caller}: partial(...) has positional arguments; pass them by name:"
            f" partial({inner.name}, name=value)."
        )
    named: dict[str, Any] = function.keywords
    handed = {name: _handed(each, usage) for name, each in named.items()}
    functions = {name: each for name, each in handed.items() if each is not None}
    named = {name: each for name, each in named.items() if name not in functions}
    for name, value in named.items():
        try:
            pack_value(value)
        except NotPlainData as exc:
            raise FoldsRefused(
                f"{usage.caller}: {name}= of partial(...) is or holds a {exc.kind}, which"
                " cannot be sent to another process as plain data (None, numbers, texts,"
                f" bytes, lists, dicts, arrays). Create it in {inner.name} itself."
            ) from None
    before: dict[str, Any] = unpack_value(inner.arguments) if inner.arguments else {}
    return msgspec.structs.replace(
        inner,
        arguments=pack_value({**before, **named}),
        functions={**inner.functions, **functions},
    )


def _handed(value: Any, usage: Usage) -> FunctionSource | None:
    """The source of an argument that is a function or a class; None for plain data."""
    if inspect.isclass(value):
        return _standing(value, 0, usage)
    is_of_class = inspect.ismethod(value) and inspect.isclass(value.__self__)
    is_one = is_of_class or inspect.isfunction(value) or isinstance(value, functools.partial)
    return source_of(cast("object", value), usage) if is_one else None


def _refuse_unless_found(function: Any, name: str, usage: Usage) -> None:
    value: Any = sys.modules.get(function.__module__)
    for part in name.split("."):
        value = getattr(value, part, None)
    if value is None:
        what = "it is inside another function, or is a lambda."
        raise FoldsRefused(usage.at_the_top(name, what))


def _is_interactive() -> bool:
    return safe_getattr(running_shell(), "kernel") is not None
