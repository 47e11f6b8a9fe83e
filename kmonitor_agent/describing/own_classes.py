# pyright: basic
"""Classes and functions of the Python file that the user named, which Keras is to find by name."""

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_KERAS_PACKAGES = frozenset({"keras", "keras_hub", "keras_nlp", "keras_cv", "builtins"})
_STRINGS_OF = (
    "activations", "constraints", "initializers", "layers", "losses", "metrics", "optimizers",
    "regularizers",
)  # fmt: skip
"""Parts of Keras whose members a configuration may name by a bare text."""


def provide(module: ModuleType, *configs: str) -> list[str]:
    """Let Keras find what a module defines, whatever module and package a file says it is from.

    What was registered by a decorator is found as ever.

    Args:
        module: That was run. Its public classes and functions count, and Keras classes that it
            imports: a file may gather those of others. No other imported thing does, so that a
            file cannot call `system` because the module imports it.
        configs: Of the model and its compiling, as JSON; those that are empty are left out.

    Returns:
        What the configurations name that is neither Keras' own nor there.
    """
    import keras

    defined = dict(_defined(keras, module))
    known = keras.saving.get_custom_objects()
    for name, found in defined.items():
        # A bare text such as "relu" in a configuration is Keras' own.
        if not any(hasattr(getattr(keras, part), name) for part in _STRINGS_OF):
            known.setdefault(name, found)
    missing: list[str] = []
    for name in _named([json.loads(each) for each in configs if each]):
        bare = name.rpartition(">")[2]
        if name not in known and bare in defined:
            known[name] = defined[bare]
        elif name not in known:
            missing.append(bare)
    return missing


def _defined(keras: Any, module: ModuleType) -> Iterator[tuple[str, Any]]:
    kinds = (
        keras.layers.Layer, keras.losses.Loss, keras.metrics.Metric, keras.optimizers.Optimizer,
        keras.initializers.Initializer, keras.regularizers.Regularizer,
        keras.constraints.Constraint, keras.optimizers.schedules.LearningRateSchedule,
    )  # fmt: skip
    for name, found in vars(module).items():
        home = getattr(found, "__module__", None)
        if name.startswith("_") or not callable(found) or not isinstance(home, str):
            continue
        is_kerass = isinstance(found, type) and issubclass(found, kinds)
        is_own = home == module.__name__ and hasattr(found, "__qualname__")
        if is_own or (is_kerass and home.partition(".")[0] not in _KERAS_PACKAGES):
            yield name, found


def _named(configs: list[Any]) -> Iterator[str]:
    """Names by which Keras will look for what is of other modules, each once."""
    found: dict[str, None] = {}
    waiting: list[Any] = list(configs)
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            module, kind = node.get("module"), node.get("class_name")
            if not isinstance(module, str) or not isinstance(kind, str):
                continue
            name = node.get("config") if kind == "function" else node.get("registered_name", kind)
            if isinstance(name, str) and module.partition(".")[0] not in _KERAS_PACKAGES:
                found[name] = None
    yield from found
