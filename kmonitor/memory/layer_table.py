"""Rows of a memory map: memory of each layer, where a shared variable counts once."""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from kmonitor.memory.buffer_lifetimes import Step
from kmonitor.memory.tensor_sizes import variable_bytes
from kmonitor_agent.wire.messages.model_layout import LayerLayout, ModelLayout

REST: Final = "(variables of the model itself)"
"""Name of the row for what belongs to no layer."""


class LayerMemory(msgspec.Struct, frozen=True):
    """One layer's part, bytes.

    Attributes:
        path: Name, with those of the models that it is nested in.
        kind: Class name.
        parameters: Number of weights.
        parameter_bytes: Their size.
        gradient_bytes: Of those that are trained.
        slot_bytes: The optimizer's for them.
        kept_bytes: Feature maps kept for the backward pass, by all uses together.
        workspace_bytes: The most of one use, forward or backward.
        uses: How often it is called in a step.
        is_frozen: Whether it has weights and none of them is trained.
        is_shared: Whether it is used more than once, or weights of it are counted elsewhere.
        is_covered: Whether a rule covers its kind.
        note: Why it holds nothing, or what is special; empty if nothing is.
    """

    path: str
    kind: str
    parameters: int
    parameter_bytes: int
    gradient_bytes: int
    slot_bytes: int
    kept_bytes: int
    workspace_bytes: int
    uses: int
    is_frozen: bool
    is_shared: bool
    is_covered: bool
    note: str = ""


def layer_rows(
    layout: ModelLayout,
    steps: Sequence[Step],
    activation_bytes_by_call: Sequence[int],
    slots: Sequence[int],
    gradients: Sequence[int],
    uncovered: frozenset[str] = frozenset(),
) -> tuple[LayerMemory, ...]:
    """One row a layer; the sum over rows is the whole.

    Args:
        layout: Of the model.
        steps: For each call.
        activation_bytes_by_call: Likewise, bytes.
        slots: For each variable, bytes.
        gradients: Likewise.
        uncovered: Kinds that no rule covers.
    """
    table = _Table(layout, slots, gradients)
    activations = [0] * len(layout.layers)
    work = [0] * len(layout.layers)
    uses = [0] * len(layout.layers)
    for index, call in enumerate(layout.calls):
        effect = steps[index].effect
        activations[call.layer] += activation_bytes_by_call[index]
        work[call.layer] = max(work[call.layer], effect.forward_bytes, effect.backward_bytes)
        uses[call.layer] += 1
    rows = [
        table.row(layer, activations[index], work[index], uses[index], uncovered)
        for index, layer in enumerate(layout.layers)
    ]
    return (*rows, *table.rest())


class _Table:
    def __init__(
        self, layout: ModelLayout, slots: Sequence[int], gradients: Sequence[int]
    ) -> None:
        self._layout = layout
        self._slots = slots
        self._gradients = gradients
        self._owner: dict[int, str] = {}

    def row(
        self,
        layer: LayerLayout,
        activation_bytes: int,
        work: int,
        uses: int,
        uncovered: frozenset[str],
    ) -> LayerMemory:
        own = [each for each in layer.variables if each not in self._owner]
        elsewhere = {self._owner[each] for each in layer.variables if each in self._owner}
        self._owner.update(dict.fromkeys(own, layer.path))
        variables = [self._layout.variables[each] for each in layer.variables]
        is_frozen = bool(variables) and not any(each.is_trainable for each in variables)
        note = ""
        if elsewhere:
            note = f"weights counted at {', '.join(sorted(elsewhere))}"
        elif uses > 1:
            note = f"used {uses} times, weights counted once"
        elif is_frozen:
            note = "frozen"
        elif not variables and not activation_bytes:
            note = "no weights, keeps nothing" if uses or not self._layout.calls else "not used"
        elif not variables:
            note = "no weights"
        return LayerMemory(
            path=layer.path,
            kind=layer.kind,
            parameters=sum(math.prod(self._layout.variables[each].shape) for each in own),
            parameter_bytes=sum(variable_bytes(self._layout.variables[each]) for each in own),
            gradient_bytes=sum(self._gradients[each] for each in own),
            slot_bytes=sum(self._slots[each] for each in own),
            kept_bytes=activation_bytes,
            workspace_bytes=work,
            uses=uses,
            is_frozen=is_frozen,
            is_shared=uses > 1 or bool(elsewhere),
            is_covered=layer.kind not in uncovered,
            note=note,
        )

    def rest(self) -> list[LayerMemory]:
        """A row for variables that belong to no layer, if there are any."""
        left = [index for index in range(len(self._layout.variables)) if index not in self._owner]
        if not left:
            return []
        whole = LayerLayout(path=REST, kind="", variables=tuple(left))
        return [self.row(whole, 0, 0, 0, frozenset())]
