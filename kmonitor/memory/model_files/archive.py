"""Texts of `.keras` and `.json` files, read in bounded memory, and their check for code."""

import json
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

from kmonitor.base.errors import UserError

CONFIG: Final = "config.json"
METADATA: Final = "metadata.json"
WEIGHTS: Final = "model.weights.h5"

_MIB: Final = 1024**2

_LARGEST_TEXT_MIB: Final = 32
"""Largest accepted text, MiB; a configuration of a thousand layers takes about 2 MiB."""

_MOST_MEMBERS: Final = 10_000

MOST_LAYERS: Final = 10_000
"""Most accepted layers; the largest Keras models have about a thousand, and a framework takes
minutes for ten times as many."""


@dataclass(frozen=True, slots=True)
class KerasArchive:
    """Texts of a `.keras` file.

    Attributes:
        config: Configuration of the model, as written.
        metadata: Versions and date.
        members: Size in the file by name of the member, bytes.
    """

    config: dict[str, Any]
    metadata: dict[str, Any]
    members: dict[str, int]


def read_archive(path: Path) -> KerasArchive:
    """Read the texts of a `.keras` file.

    Raises:
        UserError: The file is damaged, no zip file, or no model.
    """
    size_of(path)
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            if len(infos) > _MOST_MEMBERS:
                raise damaged(path, f"it has too many members ({len(infos)})")
            members = {info.filename: info.compress_size for info in infos}
            config = _json_of(path, archive, CONFIG)
            metadata = _json_of(path, archive, METADATA) if METADATA in members else {}
    except OSError as exc:
        raise damaged(path, exc.strerror or str(exc)) from exc
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
            ValueError) as exc:  # fmt: skip
        raise damaged(path, f"it is damaged or not a .keras file ({exc})") from exc
    check_layer_count(path, config)
    return KerasArchive(config, metadata, members)


def read_json(path: Path) -> dict[str, Any]:
    """Read the object in a JSON file, such as from `model.to_json()`.

    Raises:
        UserError: The file is damaged, too large, or no such object.
    """
    size_of(path)
    try:
        with path.open("rb") as file:
            found = json_object(_bounded(path, file, path.name), path.name)
    except OSError as exc:
        raise damaged(path, exc.strerror or str(exc)) from exc
    except json.JSONDecodeError as exc:
        raise damaged(path, f"it is not JSON ({exc})") from exc
    except ValueError as exc:
        raise damaged(path, str(exc)) from exc
    check_layer_count(path, found)
    return found


def size_of(path: Path) -> int:
    """Return the size of a model file, bytes.

    Raises:
        UserError: The file does not exist, or is no regular file: reading a pipe or a device may
            never end.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else None
        raise damaged(path, why or str(exc)) from exc
    if stat.S_ISDIR(status.st_mode):
        raise UserError(f"{path} is a folder.", "Pass a .keras or .h5 file.")
    if not stat.S_ISREG(status.st_mode):
        raise UserError(f"{path} is a pipe, a socket or a device, not a regular file.")
    return status.st_size


def damaged(path: Path, why: str) -> UserError:
    """Error for a file that is incomplete, or not of the expected kind."""
    return UserError(f"{path} cannot be read as a model: {why}.")


def check_layer_count(path: Path, config: Any) -> None:
    """Refuse a model with more layers than can be processed in reasonable time.

    Args:
        path: The file, for the error.
        config: Configuration of the model, decoded from JSON.

    Raises:
        UserError: The model, including nested models, has more than `MOST_LAYERS` layers.
    """
    count = 0
    waiting: list[Any] = [config]
    while waiting:
        inner = _value(waiting.pop(), "config")
        layers = _value(inner, "layers")
        if isinstance(layers, list):
            found = cast("list[Any]", layers)
            count += len(found)
            waiting += found
        if wrapped := _value(inner, "layer"):
            waiting.append(wrapped)
        if count > MOST_LAYERS:
            raise damaged(path, f"it has {count} layers or more; at most {MOST_LAYERS} are read")


def json_object(text: str | bytes, what: str) -> dict[str, Any]:
    """Decode a JSON text that must be an object.

    Raises:
        ValueError: The text is no object; the message names `what`.
    """
    try:
        found = json.loads(text)
    except (RecursionError, UnicodeDecodeError) as exc:
        raise ValueError(f"{what} is not JSON") from exc
    if not isinstance(found, dict):
        raise ValueError(f"{what} is not a JSON object")  # noqa: TRY004 - of the file, not of ours
    return cast("dict[str, Any]", found)


def _json_of(path: Path, archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    try:
        with archive.open(name) as member:
            text = _bounded(path, member, f"its {name}")
    except KeyError as exc:
        raise damaged(path, f"it contains no {name}") from exc
    return json_object(text, name)


def _bounded(path: Path, file: IO[bytes], what: str) -> bytes:
    """Read a whole text within a bound.

    The size in the zip directory or the status may be wrong.
    """
    text = file.read(_LARGEST_TEXT_MIB * _MIB + 1)
    if len(text) > _LARGEST_TEXT_MIB * _MIB:
        raise damaged(path, f"{what} is too large (more than {_LARGEST_TEXT_MIB} MiB)")
    return text


def _value(node: Any, name: str) -> Any:
    return cast("dict[str, Any]", node).get(name) if isinstance(node, dict) else None


HOLDS_CODE: Final = ", which holds or loads code"
"""Ending of the text of a part that contains code; other parts are classes defined elsewhere."""

_RUNS_CODE: Final = frozenset({
    "Lambda", "__lambda__", "TFSMLayer", "JaxLayer", "FlaxLayer", "TorchModuleWrapper",
    "__typespec__", "get_file", "load_model",
})  # fmt: skip
"""Classes that hold code, or load it from elsewhere."""

_HARMLESS_MODULES: Final = re.compile(
    r"keras(\.src)?(\.(layers|initializers|regularizers|constraints|optimizers|losses|metrics"
    r"|activations|dtype_policies|quantizers|random|models|ops|backend\.common\.keras_tensor)"
    r"(\.\w+)*)?"
)
_KERAS_CLASSES: Final = frozenset({
    "Functional", "Sequential", "Model", "DTypePolicy", "DTypePolicyMap", "FloatDTypePolicy",
    "QuantizedDTypePolicy", "QuantizedFloat8DTypePolicy", "Variable", "InputSpec", "SeedGenerator",
    "__keras_tensor__", "__tensor__", "__numpy__", "__tuple__", "__list__", "__dict__",
    "__slice__", "__ellipsis__", "__bytes__", "slice", "function", "builtin",
})  # fmt: skip

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_DEEPEST: Final = 200


def untrusted_items(config: Any) -> list[str]:
    """Return parts of a configuration that are not Keras' own or could run code, as text.

    Each part is listed once.

    Args:
        config: Configuration, decoded from JSON.
    """
    return list(dict.fromkeys(_iterate_untrusted(config, 0)))


def _iterate_untrusted(node: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        yield "an infinitely nested configuration"
        return
    if isinstance(node, Mapping):
        found = cast("Mapping[str, Any]", node)
        yield from _of_object(found)
        for value in found.values():
            yield from _iterate_untrusted(value, depth + 1)
    elif isinstance(node, list):
        for value in cast("list[Any]", node):
            yield from _iterate_untrusted(value, depth + 1)


def _of_object(node: Mapping[str, Any]) -> Iterator[str]:
    kind = node.get("class_name")
    if kind is None:
        return
    module = node.get("module")
    registered = node.get("registered_name")
    name = kind if isinstance(kind, str) else json.dumps(kind)
    if name in _RUNS_CODE or str(registered).endswith(">Lambda"):
        yield f"{name}{HOLDS_CODE}"
    elif module is not None and not _is_harmless(module, name):
        yield f"{module}.{name}"
    elif isinstance(registered, str) and ">" in registered:
        yield registered
    elif name not in _KERAS_CLASSES and not _PLAIN_NAME.fullmatch(name):
        yield name


def _is_harmless(module: Any, name: str) -> bool:
    if module == "builtins":
        return name in _KERAS_CLASSES
    if module in ("keras", "keras.src"):
        return name in _KERAS_CLASSES
    return isinstance(module, str) and _HARMLESS_MODULES.fullmatch(module) is not None
