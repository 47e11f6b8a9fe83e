"""One graph of a program's step, ready to be played for a batch.

`inlined` expands branches, calls and turns of loops into one graph, as TensorFlow runs them;
`prepare` adds sizes and costs for a batch, and the dependencies between operations.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import msgspec

from kmonitor.memory.simulation import operation_kinds
from kmonitor.memory.simulation.grappler import (
    OutputRef,
    sums_to_split,
    with_constants,
    with_sums_split,
)
from kmonitor_agent.wire.messages.step_program import (
    SizeFormula,
    StepGraph,
    StepOperation,
    StepProgram,
)


class MemoryUse(IntEnum):
    """Effect of an operation on memory."""

    NEW = 0
    VIEW = 1
    FREE = 2
    REUSE = 3
    READ = 4
    ASSIGN = 5
    UPDATE = 6
    HANDLE = 7
    LIST = 8
    GIVEN = 9
    CONSTANT = 10


@dataclass(slots=True)
class PreparedOperation:
    """One operation of a prepared graph.

    Attributes:
        kind: Name.
        inputs: Values that the operation reads.
        outputs: Values that the operation creates: (value, bytes).
        waits: Number of edges that must arrive first.
        next: Operations that wait for this one, once per edge.
        seconds: Duration.
        is_cheap: True if the operation runs on the thread on which it became ready.
        owner: Layer and phase: index of the layer times 4, plus the phase.
        of: The operation as described.
        workspace: Bytes of each temporary buffer of the operation.
        beside: Bytes that live as long as the first output.
        workspace_buffers: Buffers of the workspace while the operation runs.
    """

    memory_use: MemoryUse
    kind: str
    inputs: list[int]
    outputs: list[tuple[int, int]]
    waits: int
    next: list[int]
    seconds: float
    is_cheap: bool
    owner: int
    of: StepOperation
    workspace: list[int]
    beside: int
    workspace_buffers: list[int]


@dataclass(slots=True)
class PreparedGraph:
    """A graph that can be played for one batch.

    Attributes:
        operations: Operations in the order of creation.
        readers: Number of edges that read each value, results included.
        results: Returned values.
    """

    operations: list[PreparedOperation]
    readers: list[int]
    results: list[int]


class PreparedGraphCache:
    """Prepared graphs of a program; keeps the last of each kind, which several callers request."""

    def __init__(self, program: StepProgram) -> None:
        self._program = program
        self._open: StepGraph | None = None
        self._step_of_fixed_batch: StepGraph | None = None
        self._fixed: dict[frozenset[int], StepGraph] = {}
        self._last: dict[bool, tuple[int, PreparedGraph]] = {}

    def of_open_batch(self, batch: int) -> PreparedGraph:
        """Graph for data whose batch size is unknown when the step is traced."""
        last = self._last.get(False)
        if last is None or last[0] != batch:
            if self._open is None:
                self._open = inlined(self._program)
            last = batch, prepare(self._open, self._program.extents, batch)
            self._last[False] = last
        return last[1]

    def of_fixed_batch(self, batch: int) -> PreparedGraph:
        """Graph for data in whole batches of known size, which mostly takes more memory."""
        if not self._program.is_rewritten:
            return self.of_open_batch(batch)
        last = self._last.get(True)
        if last is None or last[0] != batch:
            last = batch, self._with_batch(batch)
            self._last[True] = last
        return last[1]

    def _with_batch(self, batch: int) -> PreparedGraph:
        program = self._program
        sizes = [each.at(batch) for each in program.extents]
        step = self._step_of_fixed_batch
        above = program.sums_above_bytes
        if step is None:
            step = with_constants(program.graphs[0], program.extents, batch)
            self._step_of_fixed_batch = step
        sums = frozenset[int]() if above is None else sums_to_split(step, sizes, above)
        if sums not in self._fixed:
            self._fixed[sums] = inlined(program, with_sums_split(step, sums))
        return prepare(self._fixed[sums], program.extents, batch)


_DEEPEST: Final = 20
_MOST_TURNS: Final = operation_kinds.TURNS_AHEAD
"""Most expanded turns of a loop; elements that these put into lists count for the others too.

No more turns run at the same time."""

_UNKNOWN_TURNS: Final = 1


def inlined(program: StepProgram, step: StepGraph | None = None) -> StepGraph:
    """A program's step, or a rewritten one, as one graph; for a condition the longer branch."""
    writer = _Writer(program)
    results, _ = writer.write(step or program.graphs[0], None, (), 0)
    return StepGraph(tuple(writer.operations), tuple(writer.arguments), tuple(results))


class _Writer:
    def __init__(self, program: StepProgram) -> None:
        self.operations: list[StepOperation] = []
        self.arguments: list[int] = []
        self._program = program
        self._left_out = 0

    def write(
        self,
        graph: StepGraph,
        bound_inputs: list[OutputRef] | None,
        after: tuple[int, ...],
        depth: int,
    ) -> tuple[list[OutputRef], list[int]]:
        """Add a graph's operations; return its results, and the operations that end it.

        `bound_inputs` are the graph's arguments, or None for the outermost graph; operations
        without
        inputs wait for `after`.
        """
        outputs: dict[OutputRef, OutputRef] = {}
        ends: list[list[int]] = []
        arguments = {each: number for number, each in enumerate(graph.arguments)}
        read = {at for each in graph.operations for at in each.inputs} | set(graph.results)
        for index, each in enumerate(graph.operations):
            inputs = tuple(outputs.get(at, at) for at in each.inputs)
            waits = tuple(end for before in each.after for end in ends[before])
            if (
                bound_inputs is not None
                and index in arguments
                and arguments[index] < len(bound_inputs)
            ):
                outputs[index, 0] = bound_inputs[arguments[index]]
                ends.append([bound_inputs[arguments[index]][0]])
            elif each.bodies and depth < _DEEPEST:
                results, inside = self._called(each, inputs, waits, depth)
                for number, result in enumerate(results):
                    outputs[index, number] = result
                # An unread result leaves a loop with its last turn all the same.
                unread = [at for number, at in enumerate(results) if (index, number) not in read]
                ends.append([self._end(inside, unread if each.trips else ())])
            else:
                written = len(self.operations)
                if index in arguments:
                    self.arguments.append(written)
                waits = waits if inputs or each.kind == "Placeholder" else (*waits, *after)
                if each.kind == "Const" and bound_inputs is not None:
                    each = msgspec.structs.replace(each, sizes=())  # noqa: PLW2901 - small there
                trips = self._left_out if each.kind in operation_kinds.LIST_TAKES else each.trips
                self.operations.append(
                    msgspec.structs.replace(each, inputs=inputs, after=tuple(waits), trips=trips)
                )
                for number in range(max(1, len(each.sizes))):
                    outputs[index, number] = (written, number)
                ends.append([written])
        return [outputs[at] for at in graph.results], [end for each in ends for end in each]

    def _called(
        self,
        each: StepOperation,
        inputs: tuple[OutputRef, ...],
        waits: tuple[int, ...],
        depth: int,
    ) -> tuple[list[OutputRef], list[int]]:
        before = waits
        graphs = self._program.graphs
        body_index = each.bodies[0]
        if each.kind in operation_kinds.BRANCHES:
            before = (*waits, inputs[0][0])
            inputs = inputs[1:]
            body_index = max(each.bodies, key=lambda body: len(graphs[body].operations))
        gates: list[OutputRef] = []
        for at in inputs:
            gates.append((len(self.operations), 0))
            self.operations.append(
                StepOperation("Identity", (at,), before, (self._size(at),), layer=each.layer,
                              phase=each.phase)
            )  # fmt: skip
        if each.kind in operation_kinds.LOOPS:
            results, inside = self._unrolled(each, gates, before, depth)
        else:
            results, inside = self.write(graphs[body_index], gates, before, depth + 1)
        return results, inside

    def _end(self, inside: Iterable[int], held: Iterable[OutputRef] = ()) -> int:
        """Add an operation that waits for others, and keeps the values in `held` until then."""
        self.operations.append(StepOperation("NoOp", tuple(held), tuple(dict.fromkeys(inside))))
        return len(self.operations) - 1

    def _unrolled(
        self, loop: StepOperation, carried: list[OutputRef], after: tuple[int, ...], depth: int
    ) -> tuple[list[OutputRef], list[int]]:
        turns = _UNKNOWN_TURNS if loop.trips is None else loop.trips
        body = self._program.graphs[loop.bodies[1]]
        written = min(turns, _MOST_TURNS)
        ahead = operation_kinds.TURNS_AHEAD
        if any(each.kind in operation_kinds.LIST_TAKES for each in body.operations):
            ahead = ahead * written // max(1, turns)  # there a turn represents several
        fixed = [number for number, each in enumerate(body.arguments) if (each, 0) in body.results]
        ends: list[int] = [each[0] for each in carried]
        above = self._left_out
        turn_ends: list[int] = []
        for turn in range(written):
            # The first turn may put a weight into a list, and a weight exists once.
            left_out = _share(turns - written, turn, written - 1)
            self._left_out = left_out + above * (1 + left_out)
            if turn >= ahead:
                carried = self._gated(carried, fixed, turn_ends[turn - ahead])
            carried, ends = self.write(body, carried, after, depth + 1)
            if written > ahead:
                turn_ends.append(self._end(ends))
        self._left_out = above
        return carried, ends

    def _gated(self, carried: list[OutputRef], which: list[int], end: int) -> list[OutputRef]:
        """Inputs of a turn whose loop-invariant values wait for the end of an earlier turn."""
        found = list(carried)
        for number in which:
            found[number] = (len(self.operations), 0)
            size = self._size(carried[number])
            self.operations.append(StepOperation("Identity", (carried[number],), (end,), (size,)))
        return found

    def _size(self, at: OutputRef) -> int:
        sizes = self.operations[at[0]].sizes
        return sizes[at[1]] if at[1] < len(sizes) else -1


def _share(whole: int, part: int, parts: int) -> int:
    """Share of one of several parts in an integer; 0 for part 0."""
    return whole * part // parts - whole * (part - 1) // parts if part else 0


_MEMORY_USES: Final[dict[str, MemoryUse]] = {
    **dict.fromkeys(operation_kinds.VIEWS, MemoryUse.VIEW),
    **dict.fromkeys(operation_kinds.FREE, MemoryUse.FREE),
    **dict.fromkeys(operation_kinds.REUSING, MemoryUse.REUSE),
    **dict.fromkeys(operation_kinds.READS, MemoryUse.READ),
    **dict.fromkeys(operation_kinds.ASSIGNS, MemoryUse.ASSIGN),
    **dict.fromkeys(operation_kinds.UPDATES, MemoryUse.UPDATE),
    **dict.fromkeys(operation_kinds.LISTS, MemoryUse.LIST),
    "VarHandleOp": MemoryUse.HANDLE,
    "Placeholder": MemoryUse.GIVEN,
    "Const": MemoryUse.CONSTANT,
}


def prepare(graph: StepGraph, extents: Sequence[SizeFormula], batch: int) -> PreparedGraph:
    """Prepare a graph without branches, calls and loops for a batch size."""
    sizes = [each.at(batch) for each in extents]
    first: list[int] = []
    values = 0
    for operation in graph.operations:
        first.append(values)
        values += max(1, len(operation.sizes))
    readers = [0] * values
    ready = [_operation(each, first, index, sizes)
             for index, each in enumerate(graph.operations)]  # fmt: skip
    by_value = [size for each in ready for _, size in each.outputs or [(0, 0)]]
    for index, each in enumerate(ready):
        for value in each.inputs:
            readers[value] += 1
        for before, _ in each.of.inputs:
            ready[before].next.append(index)
        for before in each.of.after:
            ready[before].next.append(index)
        if each.kind in operation_kinds.SAME_IF_AS_LARGE and _is_same(each, by_value):
            each.memory_use = MemoryUse.VIEW
        each.seconds += _seconds(each, by_value)
    results = [first[index] + output for index, output in graph.results]
    for value in results:
        readers[value] += 1
    return PreparedGraph(ready, readers, results)


def _operation(
    operation: StepOperation, first: list[int], index: int, sizes: list[int]
) -> PreparedOperation:
    memory_use = _MEMORY_USES.get(operation.kind, MemoryUse.NEW)
    if memory_use is MemoryUse.HANDLE and operation.variable < 0:
        memory_use = MemoryUse.FREE
    if operation.kind in operation_kinds.LIST_ZEROS and max(operation.sizes, default=-1) < 0:
        memory_use = MemoryUse.LIST  # lists have no bytes of their own
    outputs = [(first[index] + number, sizes[extent] if extent >= 0 else 0)
               for number, extent in enumerate(operation.sizes)]  # fmt: skip
    rate = _MULTIPLICATIONS_PER_S.get(operation.kind, _PRODUCTS_PER_S)
    work = sizes[operation.work] / rate if operation.work >= 0 else 0.0
    return PreparedOperation(
        memory_use=memory_use,
        kind=operation.kind,
        inputs=[first[before] + output for before, output in operation.inputs],
        outputs=outputs,
        waits=len(operation.inputs) + len(operation.after),
        next=[],
        seconds=work,
        is_cheap=operation.kind in operation_kinds.CHEAP,
        owner=4 * operation.layer + operation.phase,
        of=operation,
        workspace=[sizes[each] for each in operation.workspace],
        beside=sizes[operation.beside] if operation.beside >= 0 else 0,
        workspace_buffers=[],
    )


def _is_same(each: PreparedOperation, by_value: list[int]) -> bool:
    return by_value[each.inputs[0]] == each.outputs[0][1]


_IDLE: Final = frozenset(
    {
        MemoryUse.VIEW,
        MemoryUse.FREE,
        MemoryUse.READ,
        MemoryUse.HANDLE,
        MemoryUse.GIVEN,
        MemoryUse.LIST,
        MemoryUse.CONSTANT,
    }
)

_CALL_S: Final = 1e-6
_PRODUCTS_PER_S: Final = 80e9
_MULTIPLICATIONS_PER_S: Final = {
    "Conv2D": 100e9,
    "_FusedConv2D": 100e9,
    "Conv2DBackpropInput": 45e9,
    "Conv2DBackpropFilter": 20e9,
    "Conv3DBackpropInputV2": 45e9,
    "Conv3DBackpropFilterV2": 18e9,
    "DepthwiseConv2dNative": 19e9,
    "_FusedDepthwiseConv2dNative": 19e9,
    "DepthwiseConv2dNativeBackpropInput": 13e9,
    "DepthwiseConv2dNativeBackpropFilter": 6e9,
}
_MOVED_PER_S: Final = 35e9
_BYTES_PER_S: Final = {
    "AddN": 5e9,
    "BiasAddGrad": 10e9,
    "Exp": 10e9,
    "Log": 10e9,
    "SelectV2": 8e9,
    "Sigmoid": 10e9,
    "Softplus": 3e9,
    "StatelessRandomNormalV2": 0.3e9,
    "StatelessRandomUniformV2": 1.5e9,
    "Sum": 10e9,
    "_UnaryOpsComposition": 7e9,
}
"""Rough rates of a CPU; only the order of simultaneous operations depends on them.

Source: TensorFlow's profiler over four models of different kinds, two cores. Gradients of
convolutions' weights are several times slower than the rest of a convolution, and random numbers
slower than everything else. Sums of a weight's gradients in a loop read memory that no cache
holds, and wait for a thread: half of their time is in one of twenty."""

_PRODUCT_BYTES_PER_S: Final = 12e9
"""Rate at which a product of matrices is written: most of the time of a weight's gradient in a
turn of a loop, where few examples are multiplied. Source: as above."""


def _seconds(each: PreparedOperation, by_value: list[int]) -> float:
    if each.memory_use in _IDLE and each.kind not in operation_kinds.ADDED:
        return _CALL_S
    moved = sum(size for _, size in each.outputs)
    moved += sum(by_value[value] for value in each.inputs)
    seconds = _CALL_S + moved / _BYTES_PER_S.get(each.kind, _MOVED_PER_S)
    if each.kind in operation_kinds.PRODUCTS:
        seconds += sum(size for _, size in each.outputs) / _PRODUCT_BYTES_PER_S
    return seconds
