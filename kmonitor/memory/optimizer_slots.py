"""Slots: memory that an optimizer keeps for each trained variable."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.memory.tensor_sizes import item_bytes, variable_bytes
from kmonitor_agent.wire.messages.model_layout import ConfigValue, OptimizerLayout, VariableLayout

_PLAIN: Final = {
    "sgd": (),
    "rmsprop": ("velocity",),
    "adam": ("momentum", "velocity"),
    "adamw": ("momentum", "velocity"),
    "nadam": ("momentum", "velocity"),
    "adamax": ("momentum", "norm"),
    "lamb": ("momentum", "velocity"),
    "lion": ("momentum",),
    "adagrad": ("accumulator",),
    "adadelta": ("accumulated_grad", "accumulated_delta_var"),
    "ftrl": ("accumulator", "linear"),
    "adafactor": ("velocity",),
    "schedulefreeadamw": ("momentum", "velocity"),
}
"""Slots with the shape of the variable, by optimizer. Source: Keras' `Optimizer.build`."""

_COUNTERS_BYTES: Final = 12
"""Size of step counter (int64) and learning rate, which every Keras optimizer keeps."""

_EARLY: Final = {"rmsprop": 1, "lion": 2, "adadelta": 3, "adamax": 1, "ftrl": 2}
"""Number of terms of an update that depend only on slots or the variable, and so do not wait for a
gradient. Source: Keras' `update_step` of each."""

OPTIMIZERS: Final = tuple(_PLAIN)
"""Known names of optimizers, in Keras' form."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Memory that an optimizer keeps.

    Attributes:
        by_variable: Bytes for each variable, in order; 0 for one that is not trained.
        other_bytes: Bytes that belong to no variable.
        is_known: True if the optimizer's rule is known; else that of Adam was used.
        names: Names of the slots of one variable.
    """

    by_variable: tuple[int, ...]
    other_bytes: int
    is_known: bool
    names: tuple[str, ...]

    @property
    def total_bytes(self) -> int:
        return sum(self.by_variable) + self.other_bytes


def slots_of(optimizer: OptimizerLayout | None, variables: Sequence[VariableLayout]) -> Slots:
    """Return the slots of an optimizer, by its rule; none without an optimizer.

    Args:
        optimizer: The optimizer; only name and settings are used, not existing slots.
    """
    if optimizer is None:
        return Slots((0,) * len(variables), 0, is_known=True, names=())
    kind = optimizer.kind.lower()
    plain = _PLAIN.get(kind)
    names = (_PLAIN["adam"] if plain is None else plain) + _chosen(kind, optimizer.settings)
    each = tuple(
        len(names) * variable_bytes(variable) + _factors(variable, kind)
        if variable.is_trainable
        else 0
        for variable in variables
    )
    other = _COUNTERS_BYTES + _of_scaling(optimizer) + (4 if kind == "nadam" else 0)
    return Slots(each, other, is_known=plain is not None, names=names)


def real_slot_bytes(optimizer: OptimizerLayout) -> int | None:
    """Bytes of the described slots of an optimizer; None if it has created none yet."""
    if optimizer.slots is None:
        return None
    return sum(math.prod(slot.shape) * item_bytes(slot.dtype) for slot in optimizer.slots)


def early_copies(optimizer: OptimizerLayout | None) -> int:
    """Number of tensors with each variable's shape that TensorFlow creates before a gradient.

    TensorFlow first runs operations that wait for nothing, so these tensors exist beside all
    feature maps.
    """
    if optimizer is None:
        return 0
    config = optimizer.settings
    settings = [optimizer.kind.lower() in ("sgd", "rmsprop") and config.get("momentum")]
    settings += [config.get("centered"), config.get("weight_decay")]
    return _EARLY.get(optimizer.kind.lower(), 0) + sum(map(bool, settings))


def _chosen(kind: str, settings: dict[str, ConfigValue]) -> tuple[str, ...]:
    """Slots that a setting adds."""
    added: list[str] = []
    if kind in ("adam", "adamw") and settings.get("amsgrad"):
        added.append("velocity_hat")
    if kind in ("sgd", "rmsprop") and settings.get("momentum"):
        added.append("momentum")
    if kind == "rmsprop" and settings.get("centered"):
        added.append("average_gradient")
    if settings.get("use_ema"):
        added.append("average")
    if settings.get("gradient_accumulation_steps"):
        added.append("gradient_accumulator")
    return tuple(added)


def _factors(variable: VariableLayout, kind: str) -> int:
    """Bytes of Adafactor's row and column means; two numbers for a variable with one axis."""
    if kind != "adafactor":
        return 0
    size = item_bytes(variable.dtype)
    if len(variable.shape) < 2:  # noqa: PLR2004 - rows and columns
        return 2 * 4  # placeholders
    rows = math.prod(variable.shape[:-1])
    columns = math.prod((*variable.shape[:-2], variable.shape[-1]))
    return (rows + columns) * size


def _of_scaling(optimizer: OptimizerLayout) -> int:
    """Bytes of step counter, learning rate and loss scale of the loss-scaling wrapper."""
    return _COUNTERS_BYTES + 4 + 4 if optimizer.loss_scaling else 0
