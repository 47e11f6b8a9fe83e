# pyright: basic
"""Models built a second time from their configurations: copied, read from JSON, rebuilt.

A copy has the same structure and is compiled the same way: losses and functions are reused;
optimizers and metrics, which have variables, are created from their configurations. Values of
variables are not copied here.
"""

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.global_state import preserve_name_counters, preserve_random_state
from kmonitor_agent.frameworks.model_parts import layers_of, variables_within
from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_module,
    instance_dict,
    own_attributes,
)

_LAZY: Final = "keras.src.utils.module_utils"
"""Holds a `LazyModule` for each; private, and the same from Keras 3.6 to 3.15."""


@contextmanager
def lazy_imports_blocked() -> Iterator[None]:
    """Context in which Keras treats modules that are not imported as missing.

    A call of one of their functions imports them as usual. Nothing changes if Keras holds them in
    another way.
    """
    asleep = [each for each in _lazy_modules() if _is_asleep(each)]
    for each in asleep:
        each._available = False  # noqa: SLF001 - private, looked for
    try:
        yield
    finally:
        for each in asleep:
            each._available = None if each.module is None else True  # noqa: SLF001


def _lazy_modules() -> list[Any]:
    held = sys.modules.get(_LAZY)
    kind = getattr(held, "LazyModule", None)
    return [each for each in vars(held).values() if isinstance(each, kind)] if kind else []


def _is_asleep(lazy: Any) -> bool:
    known = vars(lazy)
    is_unloaded = known.get("_available", False) is None and known.get("module", False) is None
    return is_unloaded and known.get("name") not in sys.modules


def keras_package(model: KerasModel) -> str:
    """Name of a model's Keras package: keras or tf_keras."""
    roots = [class_module(cls).partition(".")[0] for cls in class_bases(type(model))]
    return "tf_keras" if "tf_keras" in roots else "keras"


def keras_module(model: KerasModel) -> Any:
    """Keras module of a model: keras or tf_keras."""
    return importlib.import_module(keras_package(model))


_WRITE: Final = "use rebuild=make_model, a function that returns the built and compiled model"

_RETURNS: Final = (
    "it must return a model that is built (give its first layer an input shape, or call it once)"
    " and compiled (model.compile(...))"
)

ModelFactory = Callable[[], KerasModel]
"""Function of the script that creates the model, built and compiled."""


class CannotRebuild(Exception):
    """A model that cannot be created a second time.

    Attributes:
        why: The reason and the remedy.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def call_model_factory(script: ModelFactory) -> KerasModel:
    """The model that the script's own function returns.

    Raises:
        CannotRebuild: The function failed, or did not return a built model.
    """
    try:
        model = script()
    except Exception as exc:
        raise CannotRebuild(
            f"the function given as rebuild= raised {type(exc).__name__}: {exc}; {_RETURNS}"
        ) from exc
    if not callable(getattr(model, "fit", None)):
        description = (
            "None" if model is None else f"{type(model).__name__}, which is not a Keras model"
        )
        raise CannotRebuild(f"the function given as rebuild= returned {description}; {_RETURNS}")
    if not getattr(model, "built", True):
        raise CannotRebuild(
            f"the function given as rebuild= returned a model that is not built; {_RETURNS}"
        )
    return model


def why_not_copyable(model: KerasModel) -> str:
    """Reason why a model's layers cannot be created from their configurations.

    Empty if they can.
    """
    if _is_plain(model) or _has_config_of_its_own(model):
        return ""
    return (
        f"{type(model).__name__} is a subclass of Model without a configuration; either give it"
        f" get_config and from_config, or {_WRITE}"
    )


def _is_plain(model: KerasModel) -> bool:
    return class_module(type(model)).partition(".")[0] in {"keras", "tf_keras"}


def _has_config_of_its_own(model: KerasModel) -> bool:
    for kind in class_bases(type(model)):
        if class_module(kind).partition(".")[0] in {"keras", "tf_keras"}:
            return False
        if "get_config" in own_attributes(kind):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Recipe:
    """Class and configuration with which an optimizer or a metric is created again."""

    kind: type
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CompileArguments:
    """Arguments of a model's `compile`, without references to its variables.

    Attributes:
        arguments: Arguments of `compile`, with recipes in place of optimizers and metrics.
    """

    arguments: dict[str, Any]

    def apply_to(self, model: KerasModel) -> None:
        """Compile another model in the same way."""
        model.compile(**_thawed(self.arguments))


@lazy_imports_blocked()
def compile_arguments(model: KerasModel) -> CompileArguments:
    """Arguments with which a model is compiled.

    Raises:
        CannotRebuild: The model is not compiled, or an argument has no configuration.
    """
    if getattr(model, "optimizer", None) is None:
        raise CannotRebuild("the model is not compiled; call model.compile(...) first")
    keras = keras_module(model)
    kinds = (keras.optimizers.Optimizer, keras.metrics.Metric)
    legacy = getattr(getattr(keras.optimizers, "legacy", None), "Optimizer", None)
    if isinstance(legacy, type):
        kinds = (*kinds, legacy)
    arguments = _arguments(model)
    optimizer = arguments.get("optimizer")
    if not isinstance(optimizer, (str, dict, *kinds)):
        name = type(optimizer).__name__
        raise CannotRebuild(f"{name} is not a Keras optimizer that can be created again; {_WRITE}")
    frozen = _frozen(arguments, kinds)
    outputs = list(getattr(model, "output_names", None) or ())
    if hasattr(model, "_get_compile_args") and len(outputs) > 1:
        _drop_prefixes(frozen, tuple(f"{name}_" for name in outputs))
    return CompileArguments(frozen)


def _arguments(model: KerasModel) -> dict[str, Any]:
    v1: Any = getattr(model, "_get_compile_args", None)
    config: Any = getattr(getattr(model, "_compile_config", None), "config", None)
    if isinstance(config, dict):
        return config
    if v1 is None:
        raise CannotRebuild(
            f"this version of Keras does not report how the model is compiled; {_WRITE}"
        )
    extra = getattr(model, "_function_kwargs", None) or {}
    return {**v1(), "optimizer": model.optimizer, **extra}


def _frozen(value: Any, kinds: tuple[type, ...]) -> Any:
    if isinstance(value, dict):
        return {name: _frozen(each, kinds) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_frozen(each, kinds) for each in value)
    if not isinstance(value, kinds):
        return value
    try:
        recipe = _Recipe(type(value), value.get_config())
    except Exception as exc:
        name = type(value).__name__
        raise CannotRebuild(
            f"{name} has no configuration to create it from ({exc}); {_WRITE}"
        ) from exc
    return recipe


def _drop_prefixes(frozen: Any, prefixes: tuple[str, ...]) -> None:
    # In v1 graph mode compiling puts the output's name before the metric's own, each time.
    if isinstance(frozen, _Recipe):
        name = str(frozen.config.get("name", ""))
        prefix = next((each for each in prefixes if name.startswith(each)), "")
        frozen.config["name"] = name.removeprefix(prefix)
    elif isinstance(frozen, dict | list | tuple):
        for each in frozen.values() if isinstance(frozen, dict) else frozen:
            _drop_prefixes(each, prefixes)


def _thawed(value: Any) -> Any:
    if isinstance(value, _Recipe):
        return value.kind.from_config(value.config)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, dict):
        return {name: _thawed(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_thawed(each) for each in value)
    return value


@lazy_imports_blocked()
def copy_model(model: KerasModel, arguments: CompileArguments) -> KerasModel:
    """Create a model of the same layers, built and compiled; its variables have initial values.

    Raises:
        CannotRebuild: No such model can be created from the configuration.
    """
    try:
        new_model = _structure_of(model)
        arguments.apply_to(new_model)
    except CannotRebuild:
        raise
    except Exception as exc:
        raise CannotRebuild(
            f"the model's configuration cannot be read back ({exc}); {_WRITE}"
        ) from exc
    return new_model


def _structure_of(model: KerasModel) -> KerasModel:
    if why := why_not_copyable(model):
        raise CannotRebuild(why)
    if _is_plain(model):
        return keras_module(model).models.clone_model(model)
    new_model = type(model).from_config(model.get_config())
    if not new_model.built:
        build = getattr(model, "get_build_config", None)
        new_model.build_from_config(build() if callable(build) else {})
    return new_model


@lazy_imports_blocked()
def model_architecture(model: KerasModel) -> str:
    """Layers, losses, metrics and optimizer as JSON; empty if the model has no configuration."""
    try:
        with preserve_name_counters(), preserve_random_state():
            return json.dumps(keras_module(model).saving.serialize_keras_object(model))
    except Exception:  # noqa: BLE001 - a script's own get_config may raise anything
        return ""


@lazy_imports_blocked()
def model_from_architecture(keras: Any, architecture: str) -> KerasModel:
    """A model from `model_architecture`, compiled as it was; a script's classes are registered.

    Raises:
        Exception: Whatever Keras raises for a class that it does not know.
    """
    config = json.loads(architecture)
    if not isinstance(config, Mapping):
        raise TypeError("it does not describe a model")
    return keras.saving.deserialize_keras_object(config, safe_mode=True)


def model_from_legacy_config(config: dict[str, Any]) -> KerasModel:
    """A Keras 3 model from the configuration in a `.h5` file, where classes have no modules.

    Raises:
        Exception: Whatever Keras raises for a class that it does not know.
    """
    from keras.src.legacy.saving import saving_utils

    return saving_utils.model_from_config(config)


PARTS = "kmonitor_parts"
"""Key of the parts' configurations, for a model that is never built itself."""


class CannotBuild(Exception):
    """A model that cannot be built as before.

    Attributes:
        why: The reason and the remedy.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def read_build_config(model: KerasModel) -> Any:
    """Configuration for `build_with_optimizers` in another process; None if there is none."""
    layers = layers_of(model)
    if instance_dict(model).get("built", False) or not layers:
        return _build_config(model)
    return {PARTS: [_build_config(each) for each in layers]}


def _build_config(layer: Any) -> Any:
    try:
        # Only the script's own may know how it is built; what it draws is put back.
        with preserve_random_state():
            return layer.get_build_config()
    except (AttributeError, TypeError, ValueError, NotImplementedError):
        return None


def build_with_optimizers(
    model: KerasModel,
    config: Any,
    trained: Sequence[Sequence[int]],
    optimizers: Sequence[Any],
    build: Callable[[Any, list[Any]], None],
) -> None:
    """Build a model that is not built yet, then its optimizers.

    Args:
        model: The model that the script has just passed to `fit`.
        config: Result of `read_build_config`; may be None or empty.
        trained: For each optimizer, the indices of the model's variables that it trained.
        optimizers: Optimizers that the model has now, in the same order.
        build: Builds an optimizer for these variables, unless it is built already.

    Raises:
        CannotBuild: The model differs, or Keras cannot build it from its configuration.
    """
    if not getattr(model, "built", False):
        try:
            _build_from(model, config)
        except CannotBuild:
            raise
        except Exception as exc:  # a user's `build` may raise anything
            raise CannotBuild(f"the model could not be built as before: {exc}") from exc
    if len(optimizers) != len(trained):
        raise CannotBuild(f"it had {len(trained)} optimizers and now has {len(optimizers)}")
    variables = variables_within(model)
    for optimizer, indices in zip(optimizers, trained, strict=True):
        if indices and max(indices) >= len(variables):
            raise CannotBuild("it has fewer variables than before")
        build(optimizer, [variables[index] for index in indices])


def _build_from(model: KerasModel, config: Any) -> None:
    if not config:
        raise CannotBuild(
            "the model was built by its first step, with an unknown input shape: call"
            " model.build(input_shape) before fit"
        )
    if PARTS not in config:
        model.build_from_config(config)
        return
    # Its step calls its parts and never the model, which stays unbuilt as it was.
    for part, how in zip(layers_of(model), config[PARTS], strict=False):
        has_input_shape = how and how.get("input_shape", ()) is not None
        if has_input_shape and not getattr(part, "built", True):
            part.build_from_config(how)
