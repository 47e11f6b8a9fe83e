"""Whether a model's configuration names nothing but Keras' own, so that making it runs no code.

Keras' safe mode alone is not enough: a configuration names modules and functions to call, and in
some versions any importable one would do.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

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
_RUNS_CODE: Final = frozenset({
    "Lambda", "__lambda__", "TFSMLayer", "JaxLayer", "FlaxLayer", "TorchModuleWrapper",
    "__typespec__", "get_file", "load_model",
})  # fmt: skip
"""Classes that hold code, or load it from elsewhere."""

HOLDS_CODE: Final = ", which holds or loads code"
"""How a part's words end that code is in; other parts are classes to be found elsewhere."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_DEEPEST: Final = 200


def untrusted_parts(config: Any) -> list[str]:
    """What in a configuration is not Keras' own or could run code, in words, each once.

    Args:
        config: As JSON gave it.
    """
    return list(dict.fromkeys(_parts(config, 0)))


def _parts(node: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        yield "a configuration nested without end"
        return
    if isinstance(node, Mapping):
        found = cast("Mapping[str, Any]", node)
        yield from _of_object(found)
        for value in found.values():
            yield from _parts(value, depth + 1)
    elif isinstance(node, list):
        for value in cast("list[Any]", node):
            yield from _parts(value, depth + 1)


def _of_object(node: Mapping[str, Any]) -> Iterator[str]:
    kind, module, registered = (
        node.get("class_name"), node.get("module"), node.get("registered_name")
    )  # fmt: skip
    if kind is None:
        return
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
