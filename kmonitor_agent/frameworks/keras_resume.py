# pyright: basic
"""A Keras 3 model taken up by another process: built as it was, told where to go on."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kmonitor_agent.frameworks import keras_data
from kmonitor_agent.frameworks.base import CannotBuild, KerasModel

_BACKENDS = ("tensorflow", "jax", "torch")
_UNREADABLE = (AttributeError, TypeError, ValueError, NotImplementedError)


def why_not_resumable(model: KerasModel, callbacks: Sequence[Any]) -> str:
    """See `TakingUp.why_not_resumable`."""
    del callbacks
    if not hasattr(model, "_initial_epoch"):
        return "this Keras does not let a fit begin at a later epoch"
    why = _why_not_here(model)
    if not why and keras_data.find_fit_data() is None:
        return "this Keras keeps the data of a fit elsewhere"
    return why


def _why_not_here(model: KerasModel) -> str:
    keras: Any = sys.modules.get("keras")
    try:
        backend = str(keras.backend.backend())
        distribution = keras.distribution.distribution() if backend == "jax" else None
    except AttributeError:
        return "this Keras does not say on what it runs"
    if backend not in _BACKENDS:
        return f"with Keras on {backend} restart was not tried; it works on {', '.join(_BACKENDS)}"
    if distribution is not None:
        return "the model is trained under keras.distribution, over several devices"
    strategy = getattr(model, "distribute_strategy", None)
    if strategy is not None and getattr(strategy, "num_replicas_in_sync", 1) > 1:
        return "the model is trained under a strategy with several replicas"
    return ""


def why_not_exact(inexact: str) -> str:
    """Empty: what a step may draw otherwise is told, and left to the user."""
    del inexact
    return ""


def read_build_config(model: KerasModel) -> Any:
    """What `build_from_config` takes in another process; None if the model has none."""
    try:
        return model.get_build_config()
    except _UNREADABLE:
        return None


def read_trained(model: KerasModel) -> tuple[tuple[int, ...], ...]:
    """For each of the model's optimizers, which of the model's variables it trains.

    An optimizer that is not built yet has none.
    """
    places = {id(variable): place for place, variable in enumerate(model.variables)}
    return tuple(
        tuple(places[id(each)] for each in _trained_by(optimizer) if id(each) in places)
        for optimizer in optimizers_of(model)
    )


def build_again(model: KerasModel, config: Any, trained: Sequence[Sequence[int]]) -> None:
    """Build a model and its optimizers as they were in the process before.

    Args:
        model: What the script has just passed to `fit`.
        config: See `read_build_config`.
        trained: See `read_trained`.

    Raises:
        CannotBuild: It is not the same model, or Keras cannot build it from its configuration.
    """
    if not getattr(model, "built", False):
        if not config:
            raise CannotBuild(
                "the model was built by its first step and says nothing of how: call"
                " model.build(input_shape) before fit"
            )
        try:
            model.build_from_config(config)
        except Exception as exc:  # a user's `build` may raise anything
            raise CannotBuild(f"the model could not be built as before: {exc}") from exc
    optimizers = list(optimizers_of(model))
    if len(optimizers) != len(trained):
        raise CannotBuild(f"it had {len(trained)} optimizers and now has {len(optimizers)}")
    variables = list(model.variables)
    for optimizer, places in zip(optimizers, trained, strict=True):
        if places and not getattr(optimizer, "built", True):
            if max(places) >= len(variables):
                raise CannotBuild("it has fewer variables than before")
            optimizer.build([variables[place] for place in places])


def make_global_seed() -> None:
    """Make Keras' global seed generator, which the process before had made."""
    try:
        from keras.src.random import seed_generator

        seed_generator.global_seed_generator()
    except (ImportError, AttributeError, ValueError):
        return


def begin_at(model: KerasModel, epoch: int | None) -> None:
    """Have the running `fit`, whose callbacks are being told of its begin, start at an epoch.

    Args:
        model: Which.
        epoch: Index from 0; None: where its caller said. Keras never resets it by itself.
    """
    model._initial_epoch = epoch  # noqa: SLF001 - private, looked for; Keras' own callback does so


def optimizers_of(model: KerasModel) -> Iterator[Any]:
    """The model's optimizers, those that its own `train_step` uses included; each once."""
    keras = sys.modules["keras"]
    seen: set[int] = set()
    for value in (getattr(model, "optimizer", None), *list(vars(model).values())):
        for each in _flat(value):
            if isinstance(each, keras.optimizers.Optimizer) and id(each) not in seen:
                seen.add(id(each))
                yield each


def _flat(value: Any) -> Iterable[Any]:
    if isinstance(value, list | tuple):
        return value
    return value.values() if isinstance(value, dict) else (value,)


def _trained_by(optimizer: Any) -> list[Any]:
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return list(getattr(inner, "_trainable_variables", ()))
