"""TensorFlow's rewriting of a step traced with a known batch size: constants and sums.

A data set of whole batches has a known batch size, so that zeros in a tensor's shape become a
constant that stays as long as the step can be called. In a step with a large predicted use, sums
of
three or more tensors are added up one by one in a separate variable, for which there is another
constant of zeros.

Source: `constant_folding.cc` and `memory_optimizer.cc` (`SchedulingPass`) of grappler.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.memory.simulation import operation_kinds
from kmonitor_agent.wire.messages.step_program import SizeFormula, StepGraph, StepOperation

OutputRef = tuple[int, int]

_SUMMED: Final = 3
_FOLDED_BYTES: Final = 100 * 1024
"""Largest result computed ahead, bytes, unless all its values are equal."""

_SCALAR_BYTES: Final = 8
_SHAPE_BYTES: Final = 64


def with_constants(graph: StepGraph, extents: Sequence[SizeFormula], batch: int) -> StepGraph:
    """Return the graph with constants in place of values that depend only on the batch size.

    Args:
        graph: Graph of a step with open batch; everything else is already folded.
        extents: Sizes of the program's tensors.
        batch: Examples per step.
    """
    folding = _Folding(extents, batch)
    for index, each in enumerate(graph.operations):
        folding.add(index, each)
    return StepGraph(tuple(folding.found), graph.arguments, graph.results)


class _Folding:
    """Processes the operations in order, each before those that read from it."""

    def __init__(self, extents: Sequence[SizeFormula], batch: int) -> None:
        self.found: list[StepOperation] = []
        self._sizes = [each.at(batch) for each in extents]
        self._grows = [bool(each.terms) for each in extents]
        self._constants: set[int] = set()
        self._of_one_value: set[int] = set()
        self._same: dict[tuple[object, ...], int] = {}

    def add(self, index: int, each: StepOperation) -> None:
        is_constant, is_of_one_value = self._constant_and_uniform(each)
        if is_constant:
            self._constants.add(index)
            if is_of_one_value:
                self._of_one_value.add(index)
            first = self._same.setdefault((each.kind, each.sizes, each.inputs[1:]), index)
            if each.kind in operation_kinds.FILLED and first != index:
                inputs = ((first, 0),)
                kind = "Identity"
            else:
                inputs = ()
                kind = "Const"
            before = [at for at, _ in each.inputs if at not in self._constants]
            each = msgspec.structs.replace(
                each, kind=kind, inputs=inputs, after=(*each.after, *before)
            )
        self.found.append(each)

    def _constant_and_uniform(self, each: StepOperation) -> tuple[bool, bool]:
        """Two flags: the result is constant, and all its values are equal."""
        size = self._size(each)
        grows = any(at >= 0 and self._grows[at] for at in each.sizes)
        if each.kind in operation_kinds.FILLED:
            return grows, grows
        if each.kind in operation_kinds.SHAPES or each.kind == "Const":
            return True, each.kind == "Const" and size <= _SCALAR_BYTES
        if not each.inputs or each.bodies or operation_kinds.is_stateful(each.kind):
            return False, False
        inputs = [at for at, _ in each.inputs]
        if not all(at in self._constants for at in inputs):
            return False, False
        is_of_one_value = each.kind in operation_kinds.SPREAD and all(
            at in self._of_one_value or self._size(self.found[at]) <= _SHAPE_BYTES for at in inputs
        )
        return size <= _FOLDED_BYTES or (grows and is_of_one_value), is_of_one_value

    def _size(self, each: StepOperation) -> int:
        return sum(self._sizes[at] for at in each.sizes if at >= 0)


def sums_to_split(graph: StepGraph, sizes: Sequence[int], above_bytes: int) -> frozenset[int]:
    """Return indices of sums with a tensor that is alive when all outputs together are largest.

    Args:
        sizes: Bytes of each of the program's extents.
        above_bytes: Size below which a step stays unchanged.
    """
    operations = graph.operations
    sums = [index for index, each in enumerate(operations)
            if each.kind == "AddN" and len(each.inputs) >= _SUMMED]  # fmt: skip
    if not sums:
        return frozenset()
    serial_run = _serial_run(graph, sizes)
    if serial_run.most_bytes <= above_bytes:
        return frozenset()
    return frozenset(index for index in sums if any(
        serial_run.begins[before] <= serial_run.fullest <= serial_run.ends[before]
        for before, _ in operations[index].inputs
    ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class _SerialRun:
    """Serial run of a graph, first ready first, as assumed by grappler.

    Attributes:
        most_bytes: Largest sum of all outputs that are still to be read.
        fullest: Moment of that sum.
        begins: Moment of creation of each operation's outputs.
        ends: Moment of their last read.
    """

    most_bytes: int
    fullest: int
    begins: list[int]
    ends: list[int]


def _serial_run(graph: StepGraph, sizes: Sequence[int]) -> _SerialRun:
    order = _readiness_order(graph)
    begins = [0] * len(order)
    for moment, index in enumerate(order):
        begins[index] = moment
    ends = list(begins)
    for index, each in enumerate(graph.operations):
        for before, _ in each.inputs:
            ends[before] = max(ends[before], begins[index])
    made_bytes = [sum(sizes[at] for at in each.sizes if at >= 0) for each in graph.operations]
    freed_bytes = [0] * len(order)
    for index, end in enumerate(ends):
        freed_bytes[end] += made_bytes[index]
    most = 0
    fullest = 0
    current = 0
    for moment, index in enumerate(order):
        current += made_bytes[index]
        if current > most:
            most = current
            fullest = moment
        current -= freed_bytes[moment]
    return _SerialRun(most, fullest, begins, ends)


def _readiness_order(graph: StepGraph) -> list[int]:
    """Operations in the order in which they become ready."""
    waits = [len(each.inputs) + len(each.after) for each in graph.operations]
    readers: list[list[int]] = [[] for _ in waits]
    for index, each in enumerate(graph.operations):
        for before, _ in each.inputs:
            readers[before].append(index)
        for before in each.after:
            readers[before].append(index)
    order = [index for index, n_waits in enumerate(waits) if not n_waits]
    for index in order:  # it grows meanwhile
        for reader in readers[index]:
            waits[reader] -= 1
            if not waits[reader]:
                order.append(reader)
    return order


def with_sums_split(graph: StepGraph, sums: frozenset[int]) -> StepGraph:
    """The graph with some sums added up in separate variables that begin at zero."""
    if not sums:
        return graph
    found: list[StepOperation] = []
    moved: list[int] = []
    for index, each in enumerate(graph.operations):
        inputs = tuple((moved[at], output) for at, output in each.inputs)
        after = tuple(moved[at] for at in each.after)
        written = msgspec.structs.replace(each, inputs=inputs, after=after)
        if index in sums:
            written = _added_up(written, found)
        moved.append(len(found))
        found.append(written)
    return StepGraph(
        tuple(found),
        tuple(moved[each] for each in graph.arguments),
        tuple((moved[at], output) for at, output in graph.results),
    )


def _added_up(whole: StepOperation, found: list[StepOperation]) -> StepOperation:
    """Replacement of a sum; the operations that it needs are added to `found`."""
    first = len(found)
    # TensorFlow looks at the last input first, and takes that for the one that is there first.
    begins = (max(at for at, _ in whole.inputs),)

    def made(kind: str, inputs: tuple[OutputRef, ...], after: tuple[int, ...] = ()) -> None:
        found.append(msgspec.structs.replace(whole, kind=kind, inputs=inputs, after=after))

    made("TemporaryVariable", (), begins)
    made("Const", (), begins)
    made("Assign", ((first, 0), (first + 1, 0)))
    for each in whole.inputs:
        made("AssignAdd", ((first + 2, 0), each))
    added = tuple(range(first + 3, len(found)))
    return msgspec.structs.replace(
        whole, kind="DestroyTemporaryVariable", inputs=((first + 2, 0),),
        after=(*whole.after, *added),
    )  # fmt: skip
