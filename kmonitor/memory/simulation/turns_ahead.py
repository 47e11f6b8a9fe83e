"""What waits in a loop that runs ahead of its sums: a term of each turn that was begun.

A turn's gradients of weights are added to those of the turns before. Nothing else needs the sum,
so that turns go on meanwhile, up to 32 of them. Seen with recurrent layers of up to 200 units,
whose terms are made as fast as the rest of a turn: all 32 waited, in one step, and a third of them
in the next; with 512 units six of them. Which it is only timing decides.
"""

from collections.abc import Sequence
from typing import Final

from kmonitor.memory.simulation import operation_kinds
from kmonitor_agent.wire.messages.step_program import Extent, StepGraph, StepOperation, StepProgram

TURNS_AHEAD: Final = 32
"""Source: `parallel_iterations`, as Keras sets it for recurrent layers."""


def waiting_bytes(program: StepProgram, batch: int) -> int:
    """Terms of all turns that may run at one time, bytes; of the loop that has most.

    0: no loop adds up anything.
    """
    found = [0]
    for graph in program.graphs:
        for each in graph.operations:
            if each.kind in operation_kinds.LOOPS:
                turns = TURNS_AHEAD if each.trips is None else min(each.trips, TURNS_AHEAD)
                body = program.graphs[each.bodies[1]]
                found.append(turns * _terms_bytes(body, program.extents, batch))
    return max(found)


def _terms_bytes(body: StepGraph, extents: Sequence[Extent], batch: int) -> int:
    """What one turn adds to what it was given."""
    total = 0
    for carried, (place, output) in zip(body.arguments, body.results, strict=False):
        operation = body.operations[place]
        if operation.kind in operation_kinds.SUMS and _reads(operation, carried):
            extent = operation.sizes[output] if output < len(operation.sizes) else -1
            total += extents[extent].at(batch) if extent >= 0 else 0
    return total


def _reads(operation: StepOperation, carried: int) -> bool:
    return any(place == carried for place, _ in operation.inputs)
