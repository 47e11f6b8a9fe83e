"""A program made ready to be played for one batch: sizes, costs, who waits for whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kmonitor.memory.simulation import operation_kinds
from kmonitor_agent.wire.messages.step_program import Extent, StepGraph, StepOperation

_CALL_S: Final = 1e-6
_BYTES_PER_S: Final = 35e9
_MULTIPLICATIONS_PER_S: Final = 70e9
_SLOWLY_PER_S: Final = 18e9
"""Rough rates of a CPU: only the order of what runs at one time hangs on them.

Source: TensorFlow's profiler over four models of different kinds, two cores. Gradients of
convolutions' weights are several times slower than what else a convolution does."""


class Way(IntEnum):
    """What an operation does with memory."""

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


_WAYS: Final[dict[str, Way]] = {
    **dict.fromkeys(operation_kinds.VIEWS, Way.VIEW),
    **dict.fromkeys(operation_kinds.FREE, Way.FREE),
    **dict.fromkeys(operation_kinds.REUSING, Way.REUSE),
    **dict.fromkeys(operation_kinds.READS, Way.READ),
    **dict.fromkeys(operation_kinds.ASSIGNS, Way.ASSIGN),
    **dict.fromkeys(operation_kinds.UPDATES, Way.UPDATE),
    **dict.fromkeys(operation_kinds.LISTS, Way.LIST),
    "VarHandleOp": Way.HANDLE,
    "Placeholder": Way.GIVEN,
    "Const": Way.CONSTANT,
}


_IDLE: Final = frozenset(
    {Way.VIEW, Way.FREE, Way.READ, Way.HANDLE, Way.GIVEN, Way.LIST, Way.CONSTANT}
)


@dataclass(slots=True)
class Ready:
    """One operation.

    Attributes:
        way: What it does with memory.
        kind: Name.
        inputs: Values that it reads.
        outputs: Values that it makes: (value, bytes).
        waits: How many edges must have come.
        next: Operations that wait for it, once for each edge.
        seconds: It takes.
        is_cheap: Whether it runs where it became ready.
        owner: Layer and phase: place of the layer times 4, plus the phase.
        of: The operation as described.
        workspace: Bytes of each buffer that it takes while it runs.
        beside: Bytes that last as long as its first output.
        taken: The buffers of its workspace while it runs.
    """

    way: Way
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
    taken: list[int]


@dataclass(slots=True)
class ReadyGraph:
    """A graph.

    Attributes:
        operations: In the order they were made.
        readers: Of each value, how many edges read it; results count.
        results: Values that go back.
    """

    operations: list[Ready]
    readers: list[int]
    results: list[int]


def prepare(graph: StepGraph, extents: Sequence[Extent], batch: int) -> ReadyGraph:
    """A graph without branches, calls and loops, for a batch."""
    sizes = [each.at(batch) for each in extents]
    first: list[int] = []
    values = 0
    for operation in graph.operations:
        first.append(values)
        values += max(1, len(operation.sizes))
    readers = [0] * values
    ready = [_operation(each, first, place, sizes)
             for place, each in enumerate(graph.operations)]  # fmt: skip
    by_value = [size for each in ready for _, size in each.outputs or [(0, 0)]]
    for place, each in enumerate(ready):
        for value in each.inputs:
            readers[value] += 1
        for before, _ in each.of.inputs:
            ready[before].next.append(place)
        for before in each.of.after:
            ready[before].next.append(place)
        if each.kind in operation_kinds.SAME_IF_AS_LARGE and _is_same(each, by_value):
            each.way = Way.VIEW
        each.seconds += _seconds(each, by_value)
    results = [first[place] + output for place, output in graph.results]
    for value in results:
        readers[value] += 1
    return ReadyGraph(ready, readers, results)


def _operation(operation: StepOperation, first: list[int], place: int, sizes: list[int]) -> Ready:
    way = _WAYS.get(operation.kind, Way.NEW)
    if way is Way.HANDLE and operation.variable < 0:
        way = Way.FREE
    outputs = [(first[place] + number, sizes[extent] if extent >= 0 else 0)
               for number, extent in enumerate(operation.sizes)]  # fmt: skip
    rate = _SLOWLY_PER_S if operation.kind in operation_kinds.SLOW else _MULTIPLICATIONS_PER_S
    work = sizes[operation.work] / rate if operation.work >= 0 else 0.0
    return Ready(
        way=way,
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
        taken=[],
    )


def _is_same(each: Ready, by_value: list[int]) -> bool:
    return by_value[each.inputs[0]] == each.outputs[0][1]


def _seconds(each: Ready, by_value: list[int]) -> float:
    if each.way in _IDLE and each.kind not in operation_kinds.ADDED:
        return _CALL_S
    moved = sum(size for _, size in each.outputs)
    moved += sum(by_value[value] for value in each.inputs)
    return _CALL_S + moved / _BYTES_PER_S
