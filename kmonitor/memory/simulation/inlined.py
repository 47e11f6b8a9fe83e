"""Branches, calls and turns of loops written out in one graph, as TensorFlow runs them.

Otherwise one operation would wait for all arguments at once, and what it calls would run by
itself instead of beside the rest: sums of gradients that fall behind a loop would not be seen.
"""

from typing import Final

import msgspec

from kmonitor.memory.simulation import operation_kinds
from kmonitor_agent.wire.messages.step_program import StepGraph, StepOperation, StepProgram

_DEEPEST: Final = 20
_MOST_TURNS: Final = 24
"""A loop of more turns is written so often, and what it puts into lists counts for the others too.

Up to 32 turns run at one time (`parallel_iterations`); hardly that many were seen at work."""

_UNKNOWN_TURNS: Final = 1

Place = tuple[int, int]


def inlined(program: StepProgram, step: StepGraph | None = None) -> StepGraph:
    """A program's step, or what was made of it, as one graph; of a condition the longer branch."""
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
        self, graph: StepGraph, given: list[Place] | None, after: tuple[int, ...], depth: int
    ) -> tuple[list[Place], list[int]]:
        """Add a graph's operations; its results, and what has ended when it has.

        `given` are its arguments, or None where it is the one that is written; `after` is what
        operations without inputs wait for.
        """
        outputs: dict[Place, Place] = {}
        ends: list[list[int]] = []
        arguments = {each: number for number, each in enumerate(graph.arguments)}
        for place, each in enumerate(graph.operations):
            inputs = tuple(outputs.get(at, at) for at in each.inputs)
            waits = tuple(end for before in each.after for end in ends[before])
            if given is not None and place in arguments and arguments[place] < len(given):
                outputs[place, 0] = given[arguments[place]]
                ends.append([given[arguments[place]][0]])
            elif each.bodies and depth < _DEEPEST:
                results, done = self._called(each, inputs, waits, depth)
                for number, result in enumerate(results):
                    outputs[place, number] = result
                ends.append(done)
            else:
                written = len(self.operations)
                if place in arguments:
                    self.arguments.append(written)
                waits = waits if inputs or each.kind == "Placeholder" else (*waits, *after)
                if each.kind == "Const" and given is not None:
                    each = msgspec.structs.replace(each, sizes=())  # noqa: PLW2901 - small there
                trips = self._left_out if each.kind in operation_kinds.LIST_TAKES else each.trips
                self.operations.append(
                    msgspec.structs.replace(each, inputs=inputs, after=tuple(waits), trips=trips)
                )
                for number in range(max(1, len(each.sizes))):
                    outputs[place, number] = (written, number)
                ends.append([written])
        return [outputs[at] for at in graph.results], [end for each in ends for end in each]

    def _called(
        self, each: StepOperation, inputs: tuple[Place, ...], waits: tuple[int, ...], depth: int
    ) -> tuple[list[Place], list[int]]:
        before, graphs = waits, self._program.graphs
        place = each.bodies[0]
        if each.kind in operation_kinds.BRANCHES:
            before, inputs = (*waits, inputs[0][0]), inputs[1:]
            place = max(each.bodies, key=lambda body: len(graphs[body].operations))
        gates: list[Place] = []
        for at in inputs:
            gates.append((len(self.operations), 0))
            self.operations.append(
                StepOperation("Identity", (at,), before, (self._size(at),), layer=each.layer,
                              phase=each.phase)
            )  # fmt: skip
        if each.kind in operation_kinds.LOOPS:
            results, inside = self._turned(each, gates, before, depth)
        else:
            results, inside = self.write(graphs[place], gates, before, depth + 1)
        done = len(self.operations)
        self.operations.append(StepOperation("NoOp", (), tuple(dict.fromkeys(inside))))
        return results, [done]

    def _turned(
        self, loop: StepOperation, given: list[Place], after: tuple[int, ...], depth: int
    ) -> tuple[list[Place], list[int]]:
        turns = _UNKNOWN_TURNS if loop.trips is None else loop.trips
        body, written = self._program.graphs[loop.bodies[1]], min(turns, _MOST_TURNS)
        ends: list[int] = [each[0] for each in given]
        above = self._left_out
        for turn in range(written):
            # What the first turn puts into a list may be a weight, which is there once.
            left_out = _share(turns - written, turn, written - 1)
            self._left_out = left_out + above * (1 + left_out)
            given, ends = self.write(body, given, after, depth + 1)
        self._left_out = above
        return given, ends

    def _size(self, at: Place) -> int:
        sizes = self.operations[at[0]].sizes
        return sizes[at[1]] if at[1] < len(sizes) else -1


def _share(whole: int, part: int, parts: int) -> int:
    """Of a whole number, the share of one of several parts; there is none for part 0."""
    return whole * part // parts - whole * (part - 1) // parts if part else 0
