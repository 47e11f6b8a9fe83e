"""A step traced for a known batch makes the batch constants, and sums in turn."""

import msgspec

from kmonitor.memory.simulation.graph import PreparedGraphCache
from kmonitor.memory.simulation.grappler import (
    sums_to_split,
    with_constants,
    with_sums_split,
)
from kmonitor.memory.simulation.step_simulation import Simulation
from kmonitor_agent.wire.messages.step_program import (
    SizeFormula,
    StepGraph,
    StepOperation,
    StepProgram,
)

MIB = 2**20
BIG = 4 * MIB
EXTENTS = (SizeFormula(BIG, ((0.0, 1.0),)), SizeFormula(BIG))
"""One that grows with the batch, and one that does not."""

GIVEN = StepOperation("Placeholder", sizes=(0,))


def program(*operations: StepOperation, sums_above_bytes: int | None = None) -> StepProgram:
    return StepProgram((StepGraph(operations),), EXTENTS, sums_above_bytes=sums_above_bytes)


def outcome(of: StepProgram):
    return Simulation(of).peak(1)


def kinds_of(graph: StepGraph) -> list[str]:
    return [each.kind for each in graph.operations]


def test_zeros_in_a_batchs_shape_stay_between_steps_and_those_of_one_shape_are_there_once():
    zeros = program(
        GIVEN,
        StepOperation("ZerosLike", ((0, 0),), sizes=(0,)),
        StepOperation("MatMul", ((1, 0),), sizes=(-1,)),
        StepOperation("ZerosLike", ((0, 0),), after=(2,), sizes=(0,)),
        StepOperation("MatMul", ((3, 0),), sizes=(-1,)),
        StepOperation("MatMul", ((0, 0),), after=(4,), sizes=(0,)),
    )

    assert outcome(zeros).peak_bytes == 3 * BIG  # what is given, the zeros, and the product


def test_zeros_that_hang_on_no_batch_are_left_as_they_were_optimized():
    graph = StepGraph((GIVEN, StepOperation("ZerosLike", ((0, 0),), sizes=(1,))))

    assert kinds_of(with_constants(graph, EXTENTS, 1)) == ["Placeholder", "ZerosLike"]


def test_what_only_constants_decide_is_one_while_it_is_one_value_throughout():
    graph = StepGraph(
        (
            GIVEN,
            StepOperation("OnesLike", ((0, 0),), sizes=(0,)),
            StepOperation("Neg", ((1, 0),), sizes=(0,)),
            StepOperation("ConcatV2", ((2, 0), (1, 0)), sizes=(0,)),
            StepOperation("RandomUniform", ((1, 0),), sizes=(0,)),
            StepOperation("Add", ((2, 0), (0, 0)), sizes=(0,)),
        )
    )

    found = kinds_of(with_constants(graph, EXTENTS, 1))

    assert found == ["Placeholder", "Const", "Const", "ConcatV2", "RandomUniform", "Add"]


def summed(sums_above_bytes: int | None, parts: int = 3) -> StepProgram:
    """A sum of products that are all there at once."""
    products = [StepOperation("MatMul", ((0, 0),), sizes=(0,)) for _ in range(parts)]
    places = tuple((place, 0) for place in range(1, parts + 1))
    return program(
        GIVEN, *products, StepOperation("AddN", places, sizes=(0,)),
        sums_above_bytes=sums_above_bytes,
    )  # fmt: skip


def test_a_sum_in_need_is_added_up_in_turn_beside_zeros_that_stay():
    in_need = summed(sums_above_bytes=BIG)
    graph = in_need.graphs[0]
    sizes = [each.at(1) for each in EXTENTS]

    sums = sums_to_split(graph, sizes, BIG)
    turned = with_sums_split(graph, sums)

    assert sums == {4}
    assert kinds_of(turned)[4:] == [
        "TemporaryVariable", "Const", "Assign", *["AssignAdd"] * 3, "DestroyTemporaryVariable",
    ]  # fmt: skip
    assert turned.operations[4].after == (3,)  # it is made with the last of its parts
    assert outcome(in_need).peak_bytes > outcome(summed(None)).peak_bytes


def test_sums_of_two_and_those_of_steps_that_need_little_are_left():
    sizes = [each.at(1) for each in EXTENTS]

    assert not sums_to_split(summed(BIG, parts=2).graphs[0], sizes, BIG)
    assert not sums_to_split(summed(BIG).graphs[0], sizes, 100 * BIG)


def test_a_step_whose_rewriting_is_dropped_runs_as_it_was_made():
    zeros = program(GIVEN, StepOperation("ZerosLike", ((0, 0),), sizes=(0,)))

    kinds = {
        is_rewritten: [
            each.kind
            for each in PreparedGraphCache(
                msgspec.structs.replace(zeros, is_rewritten=is_rewritten)
            )
            .of_fixed_batch(2)
            .operations
        ]
        for is_rewritten in (True, False)
    }

    assert kinds == {True: ["Placeholder", "Const"], False: ["Placeholder", "ZerosLike"]}


def test_what_data_of_an_unknown_batch_take_is_within_the_highest():
    # Zeros that do not stay may lie where the heap is split less well; here they are the less.
    zeros = program(GIVEN, StepOperation("ZerosLike", ((0, 0),), sizes=(0,)))

    found = outcome(zeros)

    assert found.lowest_bytes <= found.peak_bytes <= found.highest_bytes
