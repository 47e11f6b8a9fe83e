"""Carries a function from the script to the processes of its folds, with cloudpickle.

A function of an importable module is sent by its name; one of the script, of a notebook or of
another function by its code and the values that it uses.

This is the only module that pickles. Its pickles are loaded by a fold's process alone, from the
pair of sockets that this process inherits from the study that started it; on a cluster Ray carries
them to the task that starts the process there. Nothing is loaded from a file or another source:
anyone who could replace a pickle can change the script as well.
"""

import functools
import hashlib
import importlib
import inspect
import io
import itertools
import linecache
import sys
import types
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from typing_extensions import override

from kmonitor_agent.studies.values import NotPlainData, pack_value
from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.local.private_files import check_plain, make_folder, open_private

_MAIN: Final = "__main__"
_INTEGRATIONS: Final = "kmonitor.integrations."
_LARGE_BYTES: Final = 2**20
"""Size from which an array is written once, for all folds, and mapped by each, bytes."""

_DEEPEST: Final = 5
_KERAS_DEFAULTS: Final = ("float32", 1e-7, "channels_last", "float32")
"""floatx, epsilon, image data format and the name of the dtype policy."""


class Usage(msgspec.Struct, frozen=True):
    """Call through which a user passes a function, for the text of a refusal.

    Attributes:
        caller: Name of the called function.
        noun: Word for each call of the function: "fold" or "trial".
        call: Example of the call.
        remedy: Advice on a value that cannot be sent to another process.
        goes_on: Advice on how to continue after Ctrl+C; empty: nothing is printed.
    """

    caller: str = "run_folds"
    noun: Noun = "fold"
    call: str = "run_folds(train_fold, folds=5)"
    remedy: str = "Create it in the function."
    goes_on: str = ""

    @property
    def begin(self) -> str:
        """First words of a refusal."""
        return f"{self.caller}: no {self.noun} was started"

    def check(self, function: object) -> None:
        """Raises: TypeError: The object is not a function and cannot be called."""
        if not callable(function) or inspect.isclass(function):
            raise TypeError(
                f"{self.caller}: {function!r} is not a function; use {self.call}, with only the "
                "function's name, without ()."
            )


RUN_FOLDS: Final = Usage()


class FoldsRefused(Exception):
    """The study was refused. The message says why and what to do.

    Attributes:
        why: The message.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class CarriedFunction(msgspec.Struct, frozen=True):
    """A pickled function.

    Attributes:
        text: The function in one line: "train.py: train_fold".
        module: Name of its module; empty for the script itself, and for a module of an
            integration.
        data: The pickle.
        arguments: Checksum of the plain data in a `functools.partial`; empty if there is none.
        usage: Call through which the user passed it.
    """

    text: str = ""
    module: str = ""
    data: bytes = b""
    arguments: str = ""
    usage: Usage = RUN_FOLDS


def carry(
    function: object, usage: Usage = RUN_FOLDS, arrays: Path | None = None
) -> CarriedFunction:
    """Pickle a function so that other processes can load it.

    Args:
        function: Any callable object.
        usage: Call through which the user passed it.
        arrays: Folder for large arrays that the function uses; None: they are pickled too.

    Raises:
        TypeError: The object is not a function.
        FoldsRefused: The function uses values that cannot be pickled.
    """
    usage.check(function)
    buffer = io.BytesIO()
    try:
        _dump((_Surroundings(function), function), buffer, arrays)
    except Exception as exc:
        raise FoldsRefused(_refusal(function, usage, exc)) from exc
    module = _module(getattr(function, "func", function))
    is_named = usage.noun == "fold" and not f"{module}.".startswith((f"{_MAIN}.", _INTEGRATIONS))
    return CarriedFunction(
        function_text(function),
        module if is_named else "",
        buffer.getvalue(),
        _checksum(function),
        usage,
    )


def load(data: bytes) -> Callable[..., Any]:
    """Load the function, in the process that was started for it.

    Args:
        data: Pickle from `carry`, sent by the study that started this process.

    Raises:
        Exception: Whatever the modules that it needs raise when they are imported.
    """
    import pickle  # noqa: PLC0415 - only in the process of a fold

    _, function = pickle.loads(data)  # noqa: S301 - by our parent, over the inherited socket
    of_user = _of_user(function)
    names = getattr(of_user, "__globals__", None) or getattr(
        type(of_user).__call__, "__globals__", {}
    )
    if names.get("__name__") == _MAIN:
        # `multiprocessing` and Keras find functions and classes of the script there by name.
        vars(sys.modules[_MAIN]).update(names)
    return function


def function_text(function: object) -> str:
    """Text for the user's function in one line: "train.py: train_fold"."""
    function = _of_user(function)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    home = _module(function)
    if home == _MAIN:
        main: Any = sys.modules[_MAIN]
        spec = getattr(main, "__spec__", None)
        home = str(spec.name) if spec else Path(getattr(main, "__file__", None) or "").name
    return f"{home}: {name}".replace("<locals>.", "").removeprefix(": ")


def map_array(path: str) -> Any:
    """Map a stored array `[...]`, read on use; changes to it stay in this process."""
    import numpy as np  # noqa: PLC0415 - only where an array was stored

    check_plain(Path(path), None)
    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))


def _of_user(function: Any) -> Any:
    """The user's function: an integration passes a function of its own that wraps the user's."""
    while isinstance(function, functools.partial):
        inner = cast("functools.partial[Any]", function)
        given = [each for each in inner.keywords.values() if callable(each)]
        is_ours = _module(inner.func).startswith(_INTEGRATIONS)
        function = given[0] if is_ours and given else inner.func
    return function


def _module(function: Any) -> str:
    return str(getattr(function, "__module__", None) or _MAIN)


def _dump(value: object, file: Any, arrays: Path | None) -> None:
    # Late: a script that calls no `run_folds` is spared it.
    import cloudpickle  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]

    base: Any = cloudpickle.Pickler
    numbers = itertools.count()

    class Pickler(base):
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, types.ModuleType) and obj.__name__ in sys.modules:
                return importlib.import_module, (obj.__name__,)  # also what imports itself late
            if arrays is not None and _is_large(obj):
                path = arrays / f"{next(numbers)}.npy"
                with suppress(OSError):  # no room there: it is carried along
                    _store(path, obj)
                    return map_array, (str(path),)
            return base.reducer_override(self, obj)

    Pickler(file).dump(value)


def _is_large(value: Any) -> bool:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or type(value) not in (numpy.ndarray, numpy.memmap):
        return False
    return value.nbytes >= _LARGE_BYTES and not value.dtype.hasobject


def _store(path: Path, array: Any) -> None:
    import numpy as np  # noqa: PLC0415 - whoever has an array has it loaded

    make_folder(path.parent)
    with open_private(path, "wb") as file:
        np.save(file, array, allow_pickle=False)


def _checksum(function: object) -> str:
    if not isinstance(function, functools.partial):
        return ""
    inner = cast("functools.partial[Any]", function)
    digest = hashlib.sha256()
    for name, value in [*enumerate(inner.args), *sorted(inner.keywords.items())]:
        with suppress(NotPlainData):
            digest.update(f"{name}\n".encode())
            if _is_large(value):
                digest.update(f"{value.dtype.str}{value.shape}".encode())
                digest.update(value.reshape(-1).view("uint8").data)
            else:
                digest.update(pack_value(value))
    return digest.hexdigest()


class _Surroundings:
    """Environment that a function of the script needs; pickled, and so restored, before it."""

    def __init__(self, function: object) -> None:
        self._is_of_script = _module(_of_user(function)) == _MAIN

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        names = [name for name in ("keras", "tf_keras") if name in sys.modules]
        keras = [_keras_settings(name, is_needed=self._is_of_script) for name in names]
        return _surround, (_sources() if self._is_of_script else {}, keras)


def _sources() -> dict[str, Any]:
    """Source of the script, and of cells of a notebook, for tracebacks and TensorFlow."""
    sources = {name: each for name, each in linecache.cache.items() if each[1:2] == (None,)}
    script = getattr(sys.modules[_MAIN], "__file__", None)
    if script and (lines := linecache.getlines(script)):
        sources[script] = (sum(map(len, lines)), None, lines, script)
    return sources


def _keras_settings(name: str, *, is_needed: bool) -> tuple[Any, ...]:
    """Keras' global settings and the script's custom objects.

    Empty if a new process has the same.
    """
    try:
        keras = cast("Any", sys.modules[name])
        backend = keras.backend
        formats = (backend.floatx(), backend.epsilon(), backend.image_data_format())
        policy = keras.mixed_precision.global_policy()
        known: dict[str, Any] = keras.utils.get_custom_objects()
    except AttributeError:
        return ()  # another module of that name, or one that is not imported in full
    # Those of other modules are registered when these are imported.
    objects = {key: each for key, each in known.items() if _module(each) == _MAIN}
    is_changed = objects or (*formats, policy.name) != _KERAS_DEFAULTS
    return (name, formats, policy, objects) if is_needed or is_changed else ()


def _surround(sources: dict[str, Any], settings: list[tuple[Any, ...]]) -> None:
    """Restore the script's environment in the fold's process, before the function is loaded."""
    linecache.cache.update(sources)
    for name, (floatx, epsilon, image_data_format), policy, objects in filter(None, settings):
        keras: Any = importlib.import_module(name)
        keras.backend.set_floatx(floatx)
        keras.backend.set_epsilon(epsilon)
        keras.backend.set_image_data_format(image_data_format)
        keras.mixed_precision.set_global_policy(policy)
        for key, each in objects.items():
            package, _, registered_name = key.rpartition(">")
            if package:
                keras.utils.register_keras_serializable(package, registered_name)(each)
            else:
                keras.utils.get_custom_objects()[key] = each


def _refusal(function: object, usage: Usage, exc: Exception) -> str:
    """Text on the value that cannot be pickled, by the user's name for it, with a remedy."""
    text = f"{usage.begin}: {function_text(function)}"
    path, value = _culprit("", function, _DEEPEST)
    if not path:
        return f"{text} cannot be sent to another process: {exc}. {usage.remedy}"
    kind = type(value).__name__
    why = f"which cannot be sent to another process: {exc}. {usage.remedy}"
    return f"{text} uses {path}, a {kind}, {why}"


def _culprit(path: str, value: object, deepest: int) -> tuple[str, object]:
    """The innermost value that cannot be pickled: (its path, the value)."""
    for name, each in _parts(value).items() if deepest else ():
        try:
            _dump(each, _Nowhere(), None)
        except Exception:  # noqa: BLE001 - of a class of the script's own
            return _culprit(f"{path} > {name}" if path else name, each, deepest - 1)
    return path, value


def _parts(value: Any) -> dict[str, Any]:
    if isinstance(value, functools.partial):
        inner = cast("functools.partial[Any]", value)
        return {"function": inner.func, **_parts(inner.args), **inner.keywords}
    if inspect.ismethod(value):
        return {type(value.__self__).__name__: value.__self__}
    if inspect.isfunction(value):
        with suppress(ValueError):  # a name that has no value yet
            found = inspect.getclosurevars(value)
            return {**found.globals, **found.nonlocals}
    if isinstance(value, dict):
        return {repr(name): each for name, each in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return {str(at): each for at, each in enumerate(cast("list[Any]", value))}
    return dict(getattr(value, "__dict__", {}))


class _Nowhere:
    """A file that drops its bytes."""

    def write(self, data: Any) -> int:
        return len(data)
