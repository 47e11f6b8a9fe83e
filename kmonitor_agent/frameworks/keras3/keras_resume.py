# pyright: basic
"""A Keras 3 model taken up by another process: built as it was, told where to go on."""

import sys
from collections.abc import Sequence
from typing import Any

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.built_again import build_as_before
from kmonitor_agent.frameworks.keras3 import resuming
from kmonitor_agent.frameworks.keras3.keras3_state import optimizers_of

_BACKENDS = ("tensorflow", "jax", "torch")


def why_not_resumable(model: KerasModel, callbacks: Sequence[Any]) -> str:
    """See `TakingUp.why_not_resumable`."""
    del callbacks
    if not hasattr(model, "_initial_epoch"):
        return "this Keras does not let a fit begin at a later epoch"
    why = _why_not_here(model)
    if not why and resuming.find_fit_data() is None:
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
    """See `TakingUp.build_again`."""
    build_as_before(model, config, trained, optimizers_of(model), _build)


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


def _build(optimizer: Any, variables: list[Any]) -> None:
    if variables and not getattr(optimizer, "built", True):
        optimizer.build(variables)


def _trained_by(optimizer: Any) -> list[Any]:
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return list(getattr(inner, "_trainable_variables", ()))
