"""A step played through: chunks, references, loops and branches."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kmonitor.memory.estimate import Plan, estimate
from kmonitor.memory.simulation.graph import PreparedGraphCache
from kmonitor.memory.simulation.heap import NOTHING, ChunkAllocator, SimulatedHeap
from kmonitor.memory.simulation.operation_kinds import TURNS_AHEAD
from kmonitor.memory.simulation.step_simulation import Chance, Simulation
from kmonitor.memory.traced_step import Traced, waiting_bytes
from kmonitor_agent.wire.messages.model_layout import LayerLayout, ModelLayout, OptimizerLayout
from kmonitor_agent.wire.messages.step_program import (
    SizeFormula,
    StepGraph,
    StepOperation,
    StepProgram,
)

MIB = 2**20
BIG = 4 * MIB


def program(*operations: StepOperation, results: tuple[tuple[int, int], ...] = (), **more: object):
    """A step whose one extent is a tensor of `BIG` bytes for each example."""
    extents = (SizeFormula(BIG, ((0.0, 1.0),)), SizeFormula(BIG))
    graphs = (StepGraph(operations, (), results), *more.pop("bodies", ()))  # type: ignore[misc]
    return StepProgram(graphs, extents, ("layer",), **more)  # type: ignore[arg-type]


def peak(of: StepProgram, batch: int = 1) -> int:
    return Simulation(of).peak(batch).peak_bytes


def given_tensor() -> StepOperation:
    return StepOperation("Placeholder", sizes=(0,))


def test_a_size_follows_the_batch():
    assert SizeFormula(4, ((1.0, 2.0), (0.0, 1.0))).at(3) == 4 * 7 * 3


def test_a_chunk_twice_as_large_is_split_and_a_smaller_one_is_not():
    chunks = ChunkAllocator()
    first, _ = chunks.allocate(1_500 * 1024), chunks.allocate(BIG)
    chunks.free(first)

    chunks.allocate(1_100 * 1024)
    assert chunks.in_use_bytes == BIG + 2 * MIB  # the region's whole rest

    split = ChunkAllocator()
    split.allocate(600 * 1024)
    assert split.in_use_bytes == 600 * 1024


@given(st.lists(st.integers(1, 3 * MIB), max_size=30), st.randoms(use_true_random=False))
def test_chunks_that_all_came_back_leave_nothing_in_use(sizes: list[int], random: object):
    chunks = ChunkAllocator()
    taken = [chunks.allocate(each) for each in sizes]
    assert chunks.in_use_bytes >= sum(sizes)
    random.shuffle(taken)  # type: ignore[attr-defined]

    for each in taken:
        chunks.free(each)

    assert chunks.in_use_bytes == 0


def test_small_tensors_can_be_left_out():
    heap = SimulatedHeap(unseen_below_bytes=1024)

    assert heap.new(1000, 1, 0) == NOTHING
    assert heap.peak_bytes == 0


def test_a_tensor_lives_until_its_last_reader_and_one_of_its_size_takes_its_place():
    chain = program(
        given_tensor(),
        StepOperation("MatMul", ((0, 0),), sizes=(0,)),
        StepOperation("Relu", ((1, 0),), sizes=(0,)),
        StepOperation("Tanh", ((2, 0),), sizes=(0,)),
    )
    kept = program(
        given_tensor(),
        StepOperation("MatMul", ((0, 0),), sizes=(0,)),
        StepOperation("Relu", ((1, 0),), sizes=(0,)),
        StepOperation("ReluGrad", ((2, 0), (1, 0)), sizes=(0,)),
    )

    assert peak(chain) == 2 * BIG
    assert peak(kept) == 3 * BIG
    assert peak(chain, batch=4) == 8 * BIG


def test_a_view_and_a_sum_over_nothing_take_no_memory():
    seen = program(
        given_tensor(),
        StepOperation("Reshape", ((0, 0),), sizes=(0,)),
        StepOperation("Sum", ((1, 0),), sizes=(0,)),
    )

    assert peak(seen) == BIG


def test_a_variable_takes_what_is_assigned_and_is_copied_while_it_is_read():
    assigned = program(
        StepOperation("VarHandleOp", sizes=(-1,), variable=0),
        StepOperation("MatMul", sizes=(1,)),
        StepOperation("AssignVariableOp", ((0, 0), (1, 0))),
        variables=(BIG,),
    )
    read = program(
        StepOperation("VarHandleOp", sizes=(-1,), variable=0),
        StepOperation("ReadVariableOp", ((0, 0),), sizes=(1,)),
        StepOperation("AssignSubVariableOp", ((0, 0),), after=(1,)),
        StepOperation("MatMul", ((1, 0),), after=(2,), sizes=(-1,)),
        variables=(BIG,),
    )

    assert peak(assigned) == 2 * BIG
    assert peak(read) == 2 * BIG


def test_the_longer_branch_is_played():
    branch = StepGraph((StepOperation("MatMul", sizes=(1,)), StepOperation("MatMul", ((0, 0),),
                        sizes=(1,))), (), ((1, 0),))  # fmt: skip
    step = program(
        given_tensor(),
        StepOperation("If", ((0, 0),), sizes=(1,), bodies=(1, 2)),
        StepOperation("Relu", ((1, 0),), sizes=(1,)),
        bodies=(StepGraph(()), branch),
    )

    assert peak(step) == 3 * BIG


def turned(trips: int | None) -> StepProgram:
    """A loop that puts one tensor of each turn into a list, and gives it back."""
    body = StepGraph(
        (
            StepOperation("Placeholder", sizes=(-1,)),
            StepOperation("MatMul", sizes=(1,)),
            StepOperation("TensorListPushBack", ((0, 0), (1, 0)), sizes=(-1,)),
        ),
        (0,),
        ((2, 0),),
    )
    return program(
        StepOperation("TensorListReserve", sizes=(-1,)),
        StepOperation("While", ((0, 0),), sizes=(-1,), bodies=(1, 2), trips=trips),
        StepOperation("TensorListPopBack", ((1, 0),), sizes=(-1, 1)),
        StepOperation("MatMul", ((2, 1),), sizes=(-1,)),
        bodies=(StepGraph(()), body),
    )


def test_a_loop_keeps_what_each_of_its_turns_puts_into_a_list():
    assert peak(turned(5)) == 5 * BIG
    assert peak(turned(None)) == BIG
    # Only some of many turns are played, for the others too.
    assert 100 * BIG <= peak(turned(100)) <= 130 * BIG


def test_what_left_out_turns_made_lasts_until_the_elements_taken_out_are_read():
    trips = 2 * TURNS_AHEAD
    loop = turned(trips).graphs[0].operations[:2]
    pops = [StepOperation("TensorListPopBack", ((1 + number, 0),), sizes=(-1, 1))
            for number in range(TURNS_AHEAD)]  # fmt: skip
    taken = tuple((2 + number, 1) for number in range(TURNS_AHEAD))
    reader = StepOperation("MatMul", taken, sizes=(0,))

    assert peak(program(*loop, *pops, reader, bodies=turned(trips).graphs[1:]), 50) >= 114 * BIG


def test_a_tensor_that_each_turn_puts_into_two_lists_is_counted_once():
    one = turned(100)
    reserve, loop, *_ = one.graphs[0].operations
    argument, product, push = one.graphs[2].operations
    # Operations: both lists as arguments, the product, and it in each of them.
    body = StepGraph(
        (argument, argument, product, structs.replace(push, inputs=((0, 0), (2, 0))),
         structs.replace(push, inputs=((1, 0), (2, 0)))),
        (0, 1),
        ((3, 0), (4, 0)),
    )  # fmt: skip
    both = structs.replace(loop, inputs=((0, 0), (1, 0)), sizes=(-1, -1))
    held = StepOperation("NoOp", ((2, 0), (2, 1)))

    two = program(reserve, reserve, both, held, bodies=(StepGraph(()), body))

    assert peak(two) <= peak(one) + 5 * BIG


def test_a_list_that_nobody_reads_leaves_a_loop_with_its_last_turn():
    chain = turned(5).graphs[2]
    operations = turned(5).graphs[0].operations[:2]
    # Beside the list each turn makes a tensor from that of the turn before.
    body = StepGraph(
        (*chain.operations, StepOperation("Placeholder", sizes=(1,)),
         StepOperation("Conv2D", ((3, 0),), sizes=(1,))),
        (0, 3),
        ((2, 0), (4, 0)),
    )  # fmt: skip
    loop = structs.replace(operations[1], inputs=((0, 0), (1, 0)), sizes=(-1, 1))

    held = program(
        operations[0], given_tensor(), loop, StepOperation("MatMul", ((2, 1),), sizes=(-1,)),
        bodies=(StepGraph(()), body),
    )  # fmt: skip

    assert peak(held) >= 6 * BIG


def test_zeros_of_a_list_are_as_many_tensors():
    listed = (
        StepOperation("Conv2D", sizes=(0,)),
        StepOperation("TensorListFromTensor", ((0, 0),), sizes=(-1,), trips=4),
    )
    zeros = StepOperation("ZerosLike", ((1, 0),), sizes=(-1,))
    reader = StepOperation("NoOp", ((1, 0),), after=(2,))

    without = program(*listed, StepOperation("NoOp"), reader)
    with_zeros = program(*listed, zeros, StepOperation("NoOp", ((1, 0), (2, 0))))

    assert peak(with_zeros) == peak(without) == 2 * BIG
    kept = StepOperation("MatMul", ((1, 0), (2, 0)), sizes=(1,))
    assert peak(program(*listed, zeros, kept)) == 3 * BIG


def test_each_read_of_a_list_is_of_its_next_element():
    listed = (
        StepOperation("Conv2D", sizes=(1,)),
        StepOperation("TensorListFromTensor", ((0, 0),), sizes=(-1,), trips=2),
        StepOperation("TensorListGetItem", ((1, 0),), sizes=(1,)),
        StepOperation("TensorListGetItem", ((1, 0),), after=(2,), sizes=(1,)),
    )
    last = StepOperation("Conv2D", ((2, 0), (3, 0)), sizes=(1,))

    # Both halves of the list are still there when the last one runs.
    assert peak(program(*listed, last)) == 2 * BIG


def summed(trips: int) -> StepProgram:
    """A loop whose turns each make a product and add it to what was there, as for a weight."""
    body = StepGraph(
        (
            StepOperation("Placeholder", sizes=(0,)),
            StepOperation("MatMul", ((0, 0),), sizes=(0,)),
            StepOperation("AddN", ((1, 0), (0, 0)), sizes=(0,)),
        ),
        (0,),
        ((2, 0),),
    )
    return program(
        StepOperation("MatMul", sizes=(0,)),
        StepOperation("StatelessWhile", ((0, 0),), sizes=(0,), bodies=(1, 2), trips=trips),
        bodies=(StepGraph(()), body),
    )


def test_what_waits_where_a_loop_runs_ahead_of_its_sums_is_in_the_upper_end():
    assert (waiting_bytes(summed(5), 1), waiting_bytes(summed(100), 1)) == (5 * BIG, 32 * BIG)
    assert waiting_bytes(turned(100), 1) == 0

    taken = Traced(summed(100), ModelLayout("model", "Own")).peak(1)

    assert taken.peak_bytes < 32 * BIG < taken.high_bytes(0)


def backward(multiplications: float) -> StepProgram:
    """The way back through 100 turns: each passes a gradient on, and adds that of a weight."""
    argument = StepOperation("Placeholder", sizes=(2,))
    body = StepGraph(
        (
            argument,
            structs.replace(argument, sizes=(0,)),
            StepOperation("MatMul", ((0, 0),), sizes=(2,), work=3),
            StepOperation("MatMul", ((0, 0),), sizes=(0,)),
            StepOperation("AddN", ((3, 0), (1, 0)), sizes=(0,)),
        ),
        (0, 1),
        ((2, 0), (4, 0)),
    )
    loop = StepOperation("While", ((0, 0), (1, 0)), sizes=(2, 0), bodies=(1, 2), trips=100)
    gradients = (StepOperation("MatMul", sizes=(2,)), StepOperation("MatMul", sizes=(0,)))
    extents = (
        SizeFormula(BIG),
        SizeFormula(BIG),
        SizeFormula(MIB // 64, ((0.0, 1.0),)),
        SizeFormula(int(multiplications), ((0.0, 1.0),)),
    )
    result = StepOperation("NoOp", ((2, 1),))
    graphs = (StepGraph((*gradients, loop, result)), StepGraph(()), body)
    return StepProgram(graphs, extents, ("layer",))


def test_weight_gradients_of_many_turns_wait_for_their_sum_where_turns_are_short():
    half_a_millisecond = 4e7

    assert peak(backward(half_a_millisecond)) > 15 * BIG
    assert peak(backward(10 * half_a_millisecond)) < 4 * BIG


def test_what_a_list_was_filled_with_is_looked_at_without_a_copy():
    step = program(
        given_tensor(),
        StepOperation("TensorListFromTensor", ((0, 0),), sizes=(-1,), trips=4),
        StepOperation("TensorListGetItem", ((1, 0),), sizes=(1,)),
        StepOperation("TensorListGetItem", ((1, 0),), sizes=(1,)),
    )

    assert peak(step, batch=4) == 8 * BIG


def test_workspace_lasts_as_long_as_the_operation_and_what_is_beside_as_the_output():
    pooled = program(
        given_tensor(),
        StepOperation("MaxPool", ((0, 0),), sizes=(1,), beside=1),
        StepOperation("MatMul", ((1, 0),), sizes=(1,), workspace=(1,)),
        StepOperation("MatMul", ((2, 0),), sizes=(-1,)),
    )

    assert peak(pooled) == 5 * BIG


def test_data_that_are_fetched_ahead_are_in_the_upper_end_alone():
    step = program(
        given_tensor(),
        StepOperation("MatMul", ((0, 0),), sizes=(0,)),
        StepOperation("MatMul", ((1, 0),), sizes=(-1,)),
    )

    found = Simulation(step).peak(2)

    assert found.peak_bytes == 2 * (2 * BIG)
    assert found.highest_bytes == 3 * (2 * BIG)


def test_variables_that_the_meter_does_not_see_are_in_the_peak_and_the_lower_end_is_without():
    small = 256
    layout = ModelLayout("model", "Own", optimizer=OptimizerLayout("sgd"))
    step = program(given_tensor(), StepOperation("MatMul", ((0, 0),), sizes=(-1,)),
                   variables=(small,) * 10_000, unseen_bytes=1024)  # fmt: skip

    found = estimate(layout, Plan(batch=1, traced=Traced(step, layout)))

    assert found.peak_bytes == BIG + small * 10_000
    assert found.low_bytes <= BIG
    assert any("2.4 MiB of the peak" in each for each in found.notes)


def test_what_layers_made_going_forward_is_told_by_layer():
    step = program(
        given_tensor(),
        StepOperation("MatMul", ((0, 0),), sizes=(0,), layer=0),
        StepOperation("MatMul", ((1, 0),), sizes=(0,), layer=0, phase=1),
        StepOperation("MatMul", ((1, 0), (2, 0)), sizes=(-1,), layer=0, phase=1),
    )

    assert Simulation(step).activation_bytes_by_layer(2) == {"layer": 2 * BIG}


def test_a_map_by_a_traced_step_has_its_peak_and_is_for_that_training_alone():
    layout = ModelLayout(
        "model", "Functional", layers=(LayerLayout("layer", "Dense"),),
        optimizer=OptimizerLayout("sgd"),
    )  # fmt: skip
    step = program(
        given_tensor(),
        StepOperation("MatMul", ((0, 0),), sizes=(0,), layer=0),
        StepOperation("MatMul", ((1, 0),), sizes=(-1,), phase=1),
    )
    plan = Plan(batch=4, traced=Traced(step, layout))

    found = estimate(layout, plan)
    other = estimate(layout, replace(plan, optimizer=OptimizerLayout("adam")))

    assert (found.peak_bytes, found.tier) == (8 * BIG, 3)
    assert found.high_bytes is not None
    assert found.low_bytes < found.peak_bytes < found.high_bytes
    layer = found.layers[0]
    assert (layer.path, layer.activation_bytes) == ("layer", 4 * BIG)
    assert layer.kept_bytes == pytest.approx(4 * BIG, abs=100)
    assert sum(each.total_bytes for each in found.layers) == pytest.approx(8 * BIG, abs=100)
    assert "traced" in found.method
    assert "rules" in other.method


def test_what_layers_of_no_row_keep_has_a_row_and_what_is_not_known_is_named():
    layout = ModelLayout("model", "Own", optimizer=OptimizerLayout("sgd"))
    step = program(given_tensor(), StepOperation("MatMul", ((0, 0),), sizes=(0,), layer=0),
                   unknown=2, unseen_bytes=1024)  # fmt: skip

    found = estimate(layout, Plan(batch=4, traced=Traced(step, layout)))

    assert {each.path: each.total_bytes for each in found.layers}["(outside layers)"] > 4 * BIG
    assert found.uncovered == ("2 tensors whose size depends on the data",)
    assert any("1 KiB" in each for each in found.notes)


def fanned_out(n_readers: int, n_others: int = 0) -> StepProgram:
    """Tensors that all wait for a constant, which is made when the last of them is."""
    readers = [StepOperation("MatMul", ((0, 0),), sizes=(1,)) for _ in range(n_readers)]
    start = StepOperation("Fill", after=(n_readers,), sizes=(1,))
    sums = [StepOperation("NoOp", ((1 + number, 0),), after=(n_readers + 1,))
            for number in range(n_readers)]  # fmt: skip
    return program(given_tensor(), *readers, start, *sums, *[StepOperation("NoOp")] * n_others)


def test_readers_of_a_large_set_follow_each_other_but_begin_anywhere():
    operations = PreparedGraphCache(fanned_out(100)).of_open_batch(1).operations
    in_making_order = list(range(1, 101))
    firsts = set[int]()
    for seed in range(20):
        chance = Chance(seed, operations)
        ready = list(in_making_order)
        chance.arrange(0, ready)
        again = list(reversed(in_making_order))
        chance.arrange(0, again)

        assert again == ready  # one order for a whole process
        turned_back = ready.index(1)
        assert ready[turned_back:] + ready[:turned_back] == in_making_order
        firsts.add(ready[0])
    assert 1 in firsts
    assert len(firsts) > 3


def test_a_long_step_is_played_as_several_processes():
    found = Simulation(fanned_out(300, 4800)).peak(1)

    assert found.lowest_bytes < found.peak_bytes < found.highest_bytes
    assert found.highest_bytes >= 300 * BIG
