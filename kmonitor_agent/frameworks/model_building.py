# pyright: basic
"""Another object of the same model: its structure from its configuration, compiled the same way.

Losses and functions are taken over as they are; optimizers and metrics, which have variables, are
made anew from their configurations. What the values of variables are is not copied here.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.lazy_imports import nothing_imported

_WRITE: Final = "write rebuild=make_model, a function that returns the model built and compiled"

_RETURNS: Final = (
    "it must return the model built (give its first layer an input shape, or call it once) and"
    " compiled (model.compile(...))"
)

Rebuild = Callable[[], KerasModel]
"""The script's own way to make the model, built and compiled."""


class CannotCopy(Exception):
    """A model that cannot be made a second time.

    Attributes:
        why: What is missing, and what to write.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How to make an optimizer or a metric anew."""

    kind: type
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Compiled:
    """How a model is compiled, holding nothing of its variables.

    Attributes:
        arguments: Of `compile`, with recipes in place of optimizers and metrics.
    """

    arguments: dict[str, Any]

    def apply_to(self, model: KerasModel) -> None:
        """Compile another model in the same way."""
        model.compile(**_thawed(self.arguments))


def keras_of(model: KerasModel) -> Any:
    """The Keras that a model is of: keras or tf_keras."""
    roots = [cls.__module__.partition(".")[0] for cls in type(model).__mro__]
    return importlib.import_module("tf_keras" if "tf_keras" in roots else "keras")


def made_by(script: Rebuild) -> KerasModel:
    """What the script's own function returns.

    Raises:
        CannotCopy: It failed, or returned no model that is built; the message says whose fault.
    """
    try:
        made = script()
    except Exception as exc:
        raise CannotCopy(
            f"the function given as rebuild= raised {type(exc).__name__}: {exc}; {_RETURNS}"
        ) from exc
    if not callable(getattr(made, "fit", None)):
        found = "None" if made is None else f"{type(made).__name__}, which is no Keras model"
        raise CannotCopy(f"the function given as rebuild= returned {found}; {_RETURNS}")
    if not getattr(made, "built", True):
        raise CannotCopy(
            f"the function given as rebuild= returned a model that is not built; {_RETURNS}"
        )
    return made


@nothing_imported()
def compiled_as(model: KerasModel) -> Compiled:
    """How a model is compiled.

    Raises:
        CannotCopy: It is not compiled, or with something that has no configuration.
    """
    if getattr(model, "optimizer", None) is None:
        raise CannotCopy("the model is not compiled; call model.compile(...) before")
    keras = keras_of(model)
    kinds = (keras.optimizers.Optimizer, keras.metrics.Metric)
    legacy = getattr(getattr(keras.optimizers, "legacy", None), "Optimizer", None)
    if isinstance(legacy, type):
        kinds = (*kinds, legacy)
    arguments = _arguments(model)
    optimizer = arguments.get("optimizer")
    if not isinstance(optimizer, (str, dict, *kinds)):
        name = type(optimizer).__name__
        raise CannotCopy(f"{name} is no optimizer of Keras that could be made anew; {_WRITE}")
    frozen = _frozen(arguments, kinds)
    outputs = list(getattr(model, "output_names", None) or ())
    if hasattr(model, "_get_compile_args") and len(outputs) > 1:
        _drop_prefixes(frozen, tuple(f"{name}_" for name in outputs))
    return Compiled(frozen)


def why_no_structure(model: KerasModel) -> str:
    """Why a model's layers cannot be made from their configurations; empty when they can."""
    if _is_plain(model) or _has_config_of_its_own(model):
        return ""
    return (
        f"{type(model).__name__} is a subclass of Model without a configuration; either give it"
        f" get_config and from_config, or {_WRITE}"
    )


@nothing_imported()
def copied(model: KerasModel, compiled: Compiled) -> KerasModel:
    """A new model of the same layers, built and compiled; its variables have first values.

    Raises:
        CannotCopy: The configuration makes no such model.
    """
    try:
        made = _structure_of(model)
        compiled.apply_to(made)
    except CannotCopy:
        raise
    except Exception as exc:
        raise CannotCopy(
            f"the model's configuration cannot be read back ({exc}); {_WRITE}"
        ) from exc
    return made


def _structure_of(model: KerasModel) -> KerasModel:
    if why := why_no_structure(model):
        raise CannotCopy(why)
    if _is_plain(model):
        return keras_of(model).models.clone_model(model)
    made = type(model).from_config(model.get_config())
    if not made.built:
        build = getattr(model, "get_build_config", None)
        made.build_from_config(build() if callable(build) else {})
    return made


def _is_plain(model: KerasModel) -> bool:
    return type(model).__module__.partition(".")[0] in {"keras", "tf_keras"}


def _has_config_of_its_own(model: KerasModel) -> bool:
    for kind in type(model).__mro__:
        if kind.__module__.partition(".")[0] in {"keras", "tf_keras"}:
            return False
        if "get_config" in vars(kind):
            return True
    return False


def _arguments(model: KerasModel) -> dict[str, Any]:
    v1: Any = getattr(model, "_get_compile_args", None)
    kept: Any = getattr(getattr(model, "_compile_config", None), "config", None)
    if isinstance(kept, dict):
        return kept
    if v1 is None:
        raise CannotCopy(f"this Keras does not tell how the model is compiled; {_WRITE}")
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
        raise CannotCopy(
            f"{name} has no configuration to make it anew from ({exc}); {_WRITE}"
        ) from exc
    return recipe


def _drop_prefixes(frozen: Any, prefixes: tuple[str, ...]) -> None:
    # In v1 graph mode compiling puts the output's name before the metric's own, each time.
    if isinstance(frozen, _Recipe):
        name = str(frozen.config.get("name", ""))
        found = next((each for each in prefixes if name.startswith(each)), "")
        frozen.config["name"] = name.removeprefix(found)
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
