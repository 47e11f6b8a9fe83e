# pyright: basic
"""A tf_keras model taken up by another process: built as it was, told where to go on.

Implements `TakingUp` as a module.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.built_again import PARTS, build_as_before
from kmonitor_agent.frameworks.tf_keras import resuming

_LOOKED_FOR = ("_training_state", "_maybe_load_initial_counters_from_ckpt", "_steps_per_execution")


class _GoesOnAt:
    """Answers what `fit` asks a training state of its own: which epoch is the first."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def maybe_load_initial_counters_from_ckpt(
        self, steps_per_epoch: Any, initial_epoch: int, mode: Any
    ) -> tuple[int, int]:
        """Epoch and step to begin at."""
        del steps_per_epoch, initial_epoch, mode
        return self._epoch, 0


def is_keras2(model: KerasModel) -> bool:
    """Whether a model is one of tf_keras 2, or of Keras up to 2.15."""
    return hasattr(model, "_training_state")


def why_not_resumable(model: KerasModel, callbacks: Sequence[Any]) -> str:
    """See `TakingUp.why_not_resumable`."""
    tf: Any = sys.modules["tensorflow"]
    if not tf.compat.v1.executing_eagerly_outside_functions():
        return "in v1 graph mode another process cannot take a fit up"
    if not all(hasattr(model, name) for name in _LOOKED_FOR):
        return "this tf_keras does not let a fit begin at a later epoch"
    if any(type(each).__name__ == "BackupAndRestore" for each in callbacks):
        return (
            "BackupAndRestore says itself where a fit begins: leave it out under kmonitor run,"
            " which keeps more than it does"
        )
    strategy = getattr(model, "distribute_strategy", None)
    if strategy is not None and getattr(strategy, "num_replicas_in_sync", 1) > 1:
        return "the model is trained under a strategy with several replicas"
    if resuming.find_fit_data() is None:
        return "this tf_keras keeps the data of a fit elsewhere"
    return ""


def why_not_exact(inexact: str) -> str:
    """A traced step that draws from stateful operations goes on otherwise in a new process."""
    return inexact


def read_trained(model: KerasModel) -> tuple[tuple[int, ...], ...]:
    """See `TakingUp.read_trained`."""
    return tuple(_trained_by(each, list(model.variables)) for each in optimizers_of(model))


def build_again(model: KerasModel, config: Any, trained: Sequence[Sequence[int]]) -> None:
    """See `TakingUp.build_again`."""
    says_how = bool(config) and (PARTS in config or config.get("input_shape") is not None)
    optimizers = [_inner(each) for each in optimizers_of(model)]
    build_as_before(model, config if says_how else None, trained, optimizers, _build)


def make_global_seed() -> None:
    """Nothing: tf_keras' own generator is none of the variables."""


def begin_at(model: KerasModel, epoch: int | None) -> None:
    """See `TakingUp.begin_at`."""
    # `fit` asks for it once, when the callbacks have been told of its begin.
    if epoch is not None:
        model._training_state = _GoesOnAt(epoch)  # noqa: SLF001 - private, looked for
    elif isinstance(getattr(model, "_training_state", None), _GoesOnAt):
        model._training_state = None  # noqa: SLF001


def optimizers_of(model: KerasModel) -> Iterator[Any]:
    """The model's optimizers, those that its own `train_step` uses included; each once."""
    seen: set[int] = set()
    for value in (getattr(model, "optimizer", None), *list(vars(model).values())):
        for each in value if isinstance(value, list | tuple) else (value,):
            if hasattr(type(each), "apply_gradients") and id(each) not in seen:
                seen.add(id(each))
                yield each


def _inner(optimizer: Any) -> Any:
    return getattr(optimizer, "inner_optimizer", optimizer)


def _trained_by(optimizer: Any, variables: list[Any]) -> tuple[int, ...]:
    inner = _inner(optimizer)
    # Optimizers of before TensorFlow 2.11 keep slots by variable, in the order of the first step.
    order = list(getattr(inner, "_index_dict", None) or getattr(inner, "_slots", None) or ())
    places = {_key(each): place for place, each in enumerate(variables)}
    return tuple(places[key] for key in order if key in places)


def _key(variable: Any) -> Any:
    return getattr(variable, "_unique_id", id(variable))


def _build(optimizer: Any, variables: list[Any]) -> None:
    tf: Any = sys.modules["tensorflow"]
    with tf.init_scope():
        if hasattr(optimizer, "_create_all_weights"):
            optimizer._create_all_weights(variables)  # noqa: SLF001 - private, looked for
        elif variables and not getattr(optimizer, "_built", False):
            optimizer.build(variables)
