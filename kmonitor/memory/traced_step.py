"""A traced step as the basis of an estimate: the training it was traced for, and its peak."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.memory.layer_table import LayerMemory
from kmonitor.memory.peak_parts import ELSEWHERE, ROUNDING, PeakPart, with_parts
from kmonitor.memory.simulation.graph import PreparedGraphCache
from kmonitor.memory.simulation.operation_kinds import LOOPS, SUMS, TURNS_AHEAD
from kmonitor.memory.simulation.step_simulation import PLAYS, SimulatedPeak, Simulation
from kmonitor.memory.tensor_sizes import variable_bytes
from kmonitor_agent.wire.messages.model_layout import ModelLayout, OptimizerLayout
from kmonitor_agent.wire.messages.step_program import (
    SizeFormula,
    StepGraph,
    StepOperation,
    StepProgram,
)

_HIGH: Final = 0.30
_HIGH_WITH_LOOPS: Final = 0.45
_LOW: Final = 0.25
"""Margins of the transient part beyond the range of the plays. Source: `bench_map`."""

_SLACK: Final = 0.03
"""Margin of the resident part, for the allocator's pieces. Source: `bench_map`."""

_BACKWARD: Final = 1


class Traced:
    """A program with the training it was traced for; its simulations are cached."""

    def __init__(
        self,
        program: StepProgram,
        layout: ModelLayout,
        *,
        optimizer: OptimizerLayout | None = None,
        precision: str | None = None,
    ) -> None:
        """Args: `optimizer`, `precision`: As in the plan; None: the model's own."""
        self.program = program
        self._layout = layout
        self._training = (optimizer, precision)
        self._graph_cache = PreparedGraphCache(program)
        self._simulations: dict[int, Simulation] = {}
        self._activations_by_batch: dict[int, dict[str, int]] = {}

    def is_for(
        self, layout: ModelLayout, optimizer: OptimizerLayout | None, precision: str | None
    ) -> bool:
        """True if the step was traced for exactly this training."""
        same = layout is self._layout or layout == self._layout
        return same and self._training == (optimizer, precision)

    def peak(self, batch: int, unseen_bytes: int = 0) -> "TracedPeak":
        """Peak of a step, as reported by an allocator that does not count tensors below a size."""
        counted = self._simulation(unseen_bytes).peak(batch)
        whole = counted if not unseen_bytes else self._simulation(0, plays=1).peak(batch)
        left_out = sum(each for each in self.program.variables if each < unseen_bytes)
        has_loops = any(
            each.kind in LOOPS
            for graph in self.program.graphs for each in graph.operations
        )  # fmt: skip
        waiting = waiting_bytes(self.program, batch)
        return TracedPeak(counted, whole, left_out, has_loops, waiting)

    def activation_bytes_by_layer(self, batch: int) -> dict[str, int]:
        """Bytes of feature maps kept for the backward pass, by name of a layer or its part."""
        if batch not in self._activations_by_batch:
            self._activations_by_batch[batch] = self._simulation(
                0, plays=1
            ).activation_bytes_by_layer(batch)
        return self._activations_by_batch[batch]

    def rows_at_peak(
        self, rows: Sequence[LayerMemory], batch: int, unseen_bytes: int, peak_bytes: int
    ) -> tuple[LayerMemory, ...]:
        """Return rows with each layer's simulated part at the peak, which add up to the peak.

        Args:
            rows: Rows of the estimate by rules.
            batch: Examples per step.
            unseen_bytes: Size below which tensors are not counted.
        """
        # Rows behind the layers are those of rules' own rest.
        rows = [row for row in rows if row.path not in (ELSEWHERE, ROUNDING)]
        indices = {row.path: index for index, row in enumerate(rows)}
        parts: dict[int, PeakPart] = {}
        gradients = self._gradient_sizes()
        for name, phase, n_bytes in self._simulation(unseen_bytes).bytes_at_peak(batch):
            index = _row_index(name, indices)
            part = PeakPart(work=n_bytes)
            if index is not None and phase == 0:
                part = PeakPart(kept=n_bytes)
            elif index is not None and phase == _BACKWARD and n_bytes in gradients.get(name, ()):
                part = PeakPart(n_bytes)
            at = -1 if index is None else index
            parts[at] = parts.get(at, PeakPart()) + part
        activations = [0] * len(rows)
        for name, n_bytes in self.activation_bytes_by_layer(batch).items():
            index = _row_index(name, indices)
            if index is not None:
                activations[index] += n_bytes
        rows = [msgspec.structs.replace(row, activation_bytes=activations[index], is_covered=True)
                for index, row in enumerate(rows)]  # fmt: skip
        return with_parts(rows, parts, peak_bytes)

    def _gradient_sizes(self) -> dict[str, set[int]]:
        """Sizes of the gradients of each layer's weights, bytes."""
        variables = self._layout.variables
        return {
            layer.path: {variable_bytes(variables[each]) for each in layer.variables}
            for layer in self._layout.layers
        }

    def _simulation(self, unseen_bytes: int, plays: int = PLAYS) -> Simulation:
        if unseen_bytes not in self._simulations:
            self._simulations[unseen_bytes] = Simulation(
                self.program, unseen_bytes, plays=plays, cache=self._graph_cache
            )
        return self._simulations[unseen_bytes]


@dataclass(frozen=True, slots=True)
class TracedPeak:
    """Peak of a traced step for one batch size.

    Attributes:
        counted: Peak as counted by the allocator that the step was traced for.
        whole: Peak with the tensors that this allocator does not count.
        left_out_bytes: Size of variables that this allocator does not count.
        has_loops: True if there are loops, which may run ahead of their sums.
        waiting_bytes: Most bytes that wait to be added up in such loops.
    """

    counted: SimulatedPeak
    whole: SimulatedPeak
    left_out_bytes: int
    has_loops: bool
    waiting_bytes: int = 0

    @property
    def peak_bytes(self) -> int:
        """The estimate, with all variables."""
        return self.counted.peak_bytes + self.left_out_bytes

    def low_bytes(self, resident_bytes: int) -> int:
        """Low end of the peak's range, as reported by that allocator."""
        lowest = self.counted.lowest_bytes + self.left_out_bytes
        needed = min(lowest, resident_bytes + int((lowest - resident_bytes) * (1 - _LOW)))
        return max(0, needed - self.left_out_bytes)

    def high_bytes(self, resident_bytes: int) -> int:
        """High end of the peak's range."""
        highest = max(self.counted.highest_bytes + self.left_out_bytes, self.whole.peak_bytes)
        more = _HIGH_WITH_LOOPS if self.has_loops else _HIGH
        # The plays' turns run ahead by less than a CPU's did.
        ahead = self.counted.lowest_bytes + self.left_out_bytes + self.waiting_bytes
        return max(_raised(highest, resident_bytes, more), _raised(ahead, resident_bytes, _HIGH))


def _raised(peak_bytes: int, resident_bytes: int, more: float) -> int:
    """The peak with its transient part raised by a factor."""
    transient = max(0, peak_bytes - resident_bytes)
    return peak_bytes + int(transient * more + resident_bytes * _SLACK)


def waiting_bytes(program: StepProgram, batch: int) -> int:
    """Bytes of terms of all turns that may run at the same time, in the largest loop.

    0: no loop adds up terms.
    """
    found = [0]
    for graph in program.graphs:
        for each in graph.operations:
            if each.kind in LOOPS:
                turns = TURNS_AHEAD if each.trips is None else min(each.trips, TURNS_AHEAD)
                body = program.graphs[each.bodies[1]]
                found.append(turns * _terms_bytes(body, program.extents, batch))
    return max(found)


def _terms_bytes(body: StepGraph, extents: Sequence[SizeFormula], batch: int) -> int:
    """Bytes that one turn adds to its input."""
    total = 0
    for carried, (index, output) in zip(body.arguments, body.results, strict=False):
        operation = body.operations[index]
        if operation.kind in SUMS and _reads(operation, carried):
            extent = operation.sizes[output] if output < len(operation.sizes) else -1
            total += extents[extent].at(batch) if extent >= 0 else 0
    return total


def _reads(operation: StepOperation, carried: int) -> bool:
    return any(index == carried for index, _ in operation.inputs)


def _row_index(name: str, row_indices: Mapping[str, int]) -> int | None:
    while name:
        if name in row_indices:
            return row_indices[name]
        name = name.rpartition("/")[0]
    return None
