"""Rows of a memory map: memory of each layer, with shared variables counted once."""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from kmonitor.memory.tensor_sizes import variable_bytes
from kmonitor_agent.wire.messages.model_layout import LayerLayout, ModelLayout

REST: Final = "(variables of the model itself)"
"""Name of the row for variables that belong to no layer."""


class LayerMemory(msgspec.Struct, frozen=True):
    """One layer's part of the peak, bytes; the rows add up to the peak.

    Attributes:
        path: Name, after those of the enclosing models.
        kind: Class name.
        parameters: Number of weights.
        parameter_bytes: Size of the weights.
        gradient_bytes: Gradients of trained weights that exist at the peak.
        slot_bytes: The optimizer's slots for the weights.
        kept_bytes: Feature maps that still wait for the backward pass at the peak.
        workspace_bytes: All other memory at the peak.
        uses: Number of calls in a step.
        is_frozen: True if the layer has weights and none of them is trained.
        is_shared: True if the layer is used more than once, or weights are counted elsewhere.
        is_covered: True if a rule covers the kind.
        note: Reason for an empty row, or a peculiarity; may be empty.
        activation_bytes: Feature maps kept by all uses together when the backward pass begins,
            which need not be the peak.
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
    activation_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        resident = self.parameter_bytes + self.slot_bytes
        return resident + self.gradient_bytes + self.kept_bytes + self.workspace_bytes


def bare_row(path: str, workspace_bytes: int = 0) -> LayerMemory:
    """A row of no layer: `path` names the purpose; all sizes but the workspace are 0."""
    return LayerMemory(
        path=path, kind="", parameters=0, parameter_bytes=0, gradient_bytes=0,
        slot_bytes=0, kept_bytes=0, workspace_bytes=workspace_bytes, uses=0,
        is_frozen=False, is_shared=False, is_covered=True,
    )  # fmt: skip


def layer_rows(
    layout: ModelLayout,
    activation_bytes_by_call: Sequence[int],
    slots: Sequence[int],
    uncovered: frozenset[str] = frozenset(),
) -> tuple[LayerMemory, ...]:
    """Return one row per layer, without the transient parts of the peak.

    Args:
        activation_bytes_by_call: Bytes that each call keeps.
        slots: Bytes of slots for each variable.
        uncovered: Kinds without a rule.
    """
    table = _Table(layout, slots)
    activations = [0] * len(layout.layers)
    uses = [0] * len(layout.layers)
    for index, call in enumerate(layout.calls):
        activations[call.layer] += activation_bytes_by_call[index]
        uses[call.layer] += 1
    rows = [
        table.row(layer, activations[index], uses[index], uncovered)
        for index, layer in enumerate(layout.layers)
    ]
    return (*rows, *table.rest())


class _Table:
    def __init__(self, layout: ModelLayout, slots: Sequence[int]) -> None:
        self._layout = layout
        self._slots = slots
        self._owner: dict[int, str] = {}

    def row(
        self,
        layer: LayerLayout,
        activation_bytes: int,
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
            note = f"weights counted under {', '.join(sorted(elsewhere))}"
        elif uses > 1:
            note = f"used {uses} times, weights counted once"
        elif is_frozen:
            note = "frozen"
        elif not variables and not activation_bytes:
            note = (
                "no weights, no saved activations"
                if uses or not self._layout.calls
                else "not used"
            )
        elif not variables:
            note = "no weights"
        return LayerMemory(
            path=layer.path,
            kind=layer.kind,
            parameters=sum(math.prod(self._layout.variables[each].shape) for each in own),
            parameter_bytes=sum(variable_bytes(self._layout.variables[each]) for each in own),
            gradient_bytes=0,
            slot_bytes=sum(self._slots[each] for each in own),
            kept_bytes=0,
            workspace_bytes=0,
            uses=uses,
            is_frozen=is_frozen,
            is_shared=uses > 1 or bool(elsewhere),
            is_covered=layer.kind not in uncovered,
            note=note,
            activation_bytes=activation_bytes,
        )

    def rest(self) -> list[LayerMemory]:
        """A row for variables that belong to no layer, if there are any."""
        left = [index for index in range(len(self._layout.variables)) if index not in self._owner]
        if not left:
            return []
        whole = LayerLayout(path=REST, kind="", variables=tuple(left))
        return [self.row(whole, 0, 0, frozenset())]
