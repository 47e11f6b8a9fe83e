# pyright: basic
"""Keras model built from a checked configuration or from the user's script, with its classes."""

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from kmonitor_agent.frameworks.layout_reader import ModelNotBuilt, check_is_built
from kmonitor_agent.frameworks.model_building import model_from_legacy_config


class ModelOrigin(msgspec.Struct, frozen=True):
    """Origin of a model: a configuration or a script.

    Attributes:
        config: Configuration of the model as JSON, with checked classes; empty for a script.
        compile_config: Arguments of `compile` as JSON; empty if the model was not compiled.
        script: Path of a Python file.
        function: Name of the function in `script` that returns a model.
        module: Path of a Python file with custom classes, which is run first; empty if there is
            none.
        is_trusted: True if code in the configuration may run.
    """

    config: str = ""
    compile_config: str = ""
    script: str = ""
    function: str = ""
    module: str = ""
    is_trusted: bool = False


class NoModel(Exception):
    """There is no model to describe.

    Attributes:
        why: The reason, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def construct_model(origin: ModelOrigin) -> Any:
    """Create the model, with its optimizer if it has one; weights are those of a new model.

    Raises:
        NoModel: The script has no such function, or the function returns something else.
        Exception: Whatever Keras or the user's code raises.
    """
    load_custom_classes(origin)
    return _from_script(origin) if origin.script else _from_config(origin)


_MOST_NAMED = 5


def load_custom_classes(origin: ModelOrigin) -> None:
    """Run the Python file with custom classes, if there is one, for Keras to find them.

    Raises:
        NoModel: The file is not a Python file, or lacks a class or function that the configuration
            names.
        Exception: Whatever the user's code raises.
    """
    if not origin.module:
        return
    missing = _register_classes(_run_module(origin.module), origin.config, origin.compile_config)
    if missing and not origin.is_trusted:
        raise NoModel(f"{origin.module} does not define {', '.join(missing[:_MOST_NAMED])}")


def _run_module(path: str) -> ModuleType:
    """Run a Python file as a module of its name; imports from its folder work, as with Python.

    Raises:
        NoModel: The file is not a Python file.
    """
    file = Path(path)
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise NoModel(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


_KERAS_PACKAGES = frozenset({"keras", "keras_hub", "keras_nlp", "keras_cv", "builtins"})

_STRINGS_OF = (
    "activations", "constraints", "initializers", "layers", "losses", "metrics", "optimizers",
    "regularizers",
)  # fmt: skip
"""Parts of Keras whose members a configuration may refer to by a bare string."""


def _register_classes(module: ModuleType, *configs: str) -> list[str]:
    """Let Keras find what a module defines, whatever module and package a file says it is from.

    Classes registered by a decorator are found as usual.

    Args:
        module: The module that was run. Its public classes and functions count, and Keras classes
            that it imports: a file may collect those of others. Other imports do not count, so
            that a model file cannot call `system` because the module imports it.
        configs: Configurations of the model and its `compile` arguments, as JSON; empty ones are
            ignored.

    Returns:
        Names in the configurations that neither Keras nor the module defines.
    """
    import keras

    defined = dict(_defined(keras, module))
    known = keras.saving.get_custom_objects()
    for name, definition in defined.items():
        # A bare text such as "relu" in a configuration is Keras' own.
        if not any(hasattr(getattr(keras, part), name) for part in _STRINGS_OF):
            known.setdefault(name, definition)
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
    for name, definition in vars(module).items():
        home = getattr(definition, "__module__", None)
        if name.startswith("_") or not callable(definition) or not isinstance(home, str):
            continue
        is_kerass = isinstance(definition, type) and issubclass(definition, kinds)
        is_own = home == module.__name__ and hasattr(definition, "__qualname__")
        if is_own or (is_kerass and home.partition(".")[0] not in _KERAS_PACKAGES):
            yield name, definition


def _named(configs: list[Any]) -> Iterator[str]:
    """Names by which Keras will look up objects of other modules, each once."""
    names: dict[str, None] = {}
    waiting: list[Any] = list(configs)
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            module = node.get("module")
            kind = node.get("class_name")
            if not isinstance(module, str) or not isinstance(kind, str):
                continue
            name = node.get("config") if kind == "function" else node.get("registered_name", kind)
            if isinstance(name, str) and module.partition(".")[0] not in _KERAS_PACKAGES:
                names[name] = None
    yield from names


def _from_script(origin: ModelOrigin) -> Any:
    value = getattr(_run_module(origin.script), origin.function, None)
    if value is None:
        raise NoModel(f"{origin.script} has no {origin.function}")
    model = value() if _is_function(value) else value
    import keras

    if not isinstance(model, keras.Model):
        raise NoModel(
            f"{origin.function} returns {type(model).__name__}, which is not a Keras 3 model"
        )
    try:
        check_is_built(model)
    except ModelNotBuilt as exc:
        raise NoModel(f"{origin.function}: {exc.why}") from exc
    return model


def _is_function(value: Any) -> bool:
    import keras

    return callable(value) and not isinstance(value, keras.Model)


def _from_config(origin: ModelOrigin) -> Any:
    import keras

    config = json.loads(origin.config)
    if origin.is_trusted:
        keras.config.enable_unsafe_deserialization()
    if "module" in config:
        model = keras.saving.deserialize_keras_object(config, safe_mode=not origin.is_trusted)
    else:
        model = model_from_legacy_config(config)
    if not getattr(model, "built", False):
        raise NoModel("the file does not specify the shape of the model's inputs")
    if origin.compile_config:
        _compile(keras, model, json.loads(origin.compile_config))
    return model


def _compile(keras: Any, model: Any, compiled: dict[str, Any]) -> None:
    if "optimizer_config" not in compiled:
        model.compile_from_config(compiled)
        return
    # An old file: Keras cannot recreate some of its own losses and metrics from it ("mse").
    loss = compiled.get("loss")
    model.compile(
        optimizer=keras.optimizers.deserialize(compiled["optimizer_config"]),
        loss=loss if isinstance(loss, str) else None,
    )
