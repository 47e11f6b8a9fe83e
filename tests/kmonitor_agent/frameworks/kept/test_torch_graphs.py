"""Graphs that small tensors of PyTorch keep: found by their holder, measured, never run."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from kmonitor_agent.frameworks.kept.search import KeptObjectWalk
from kmonitor_agent.frameworks.kept.torch_graphs import GRAPH
from kmonitor_agent.wire.messages.events import KeptObjects

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("this_module_alone")

MIB = 2**20
STEPS = 4
WIDTH = 1024
SAVED = 256 * WIDTH * 4
"""Size of what each operation of a step saves, bytes."""


class Recorder:
    """A callback of the script's."""

    def __init__(self) -> None:
        self.held: Any = None


def step(weight: Any, *, releases: bool = False) -> Any:
    loss = ((torch.ones(256, WIDTH) * weight) ** 2).mean()
    if releases:
        loss.backward()
    return loss


def in_attribute(recorder: Recorder, loss: Any) -> None:
    recorder.held = loss if recorder.held is None else recorder.held + loss


def in_dict(recorder: Recorder, loss: Any) -> None:
    recorder.held = recorder.held or {"n": 0.0, "other": 0.0, "loss": 0.0}
    recorder.held["loss"] += loss


def in_list(recorder: Recorder, loss: Any) -> None:
    recorder.held = recorder.held or []
    recorder.held.append(loss)


def in_closure(recorder: Recorder, loss: Any) -> None:
    total = loss if recorder.held is None else recorder.held() + loss
    recorder.held = lambda: total


def in_records(recorder: Recorder, loss: Any) -> None:
    recorder.held = recorder.held or []
    recorder.held.append({"loss": loss})


Keep = Callable[[Recorder, Any], None]


def searches(keep: Keep, n: int = 4, steps: int = STEPS, **options: Any) -> list[KeptObjects]:
    """Findings at the recorder, of several searches."""
    recorder = Recorder()
    weight = torch.ones(WIDTH, requires_grad=True)
    walk: Any = None
    found: list[KeptObjects] = []
    for _ in range(n):
        for _ in range(steps):
            keep(recorder, step(weight, **options))
        walk = KeptObjectWalk(walk and walk.lengths, graphs_before=walk and walk.graphs)
        results = walk.search([recorder], None)
        found += [each for each in results if each.place.rpartition(".")[2] in PLACES][:1]
    return found


PLACES = {"held", "total", 'held["loss"]'}


@pytest.mark.parametrize("keep", [in_attribute, in_dict, in_list, in_closure, in_records])
def test_graphs_of_small_tensors_are_measured_in_each_holder(keep: Keep):
    found = searches(keep, 5)

    sizes = [each.n_bytes or 0.0 for each in found[-3:]]
    growths = [later - earlier for earlier, later in pairwise(sizes)]
    assert growths == [pytest.approx(2 * STEPS * SAVED, rel=0.2)] * 2
    assert {each.kind for each in found} <= {GRAPH, "torch.Tensor with graph"}


def test_graphs_grow_by_all_operations_although_few_are_read():
    found = searches(in_attribute, steps=150)

    assert [later.count - one.count for one, later in pairwise(found[1:])] == [
        pytest.approx(150 * 4, rel=0.02)
    ] * 2


Add = Callable[[Any, Any], Any]

SUMS: dict[str, tuple[Add, int]] = {
    "plain": (lambda total, loss: total + loss, 3),
    "of two parts": (lambda total, loss: total + 0.5 + loss * 2.0 * 2.0, 6),
    "that decays": (lambda total, loss: total * 0.9 + loss, 4),
    "behind the loss": (lambda total, loss: loss + (loss * 2.0 + total), 5),
}


def counts_of_sums(add: Add, steps: int, *, resets: bool = False) -> list[int]:
    """Numbers of operations of a total that a script adds each loss to."""
    recorder = Recorder()
    weight = torch.ones(2, requires_grad=True)
    recorder.held = torch.zeros(())
    walk: Any = None
    found: list[KeptObjects] = []
    for _ in range(4):
        recorder.held = torch.zeros(()) if resets else recorder.held
        for _ in range(steps):
            recorder.held = add(recorder.held, (weight * weight).mean())
        before = (None, {}) if walk is None else (walk.lengths, walk.graphs)
        walk = KeptObjectWalk(before[0], least_bytes=0.0, graphs_before=before[1])
        found += [each for each in walk.search([recorder], None) if each.kind == GRAPH]
    return [each.count for each in found if each.place == "Recorder.held"]


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_many_steps_grow_by_all_operations(name: str):
    add, operations = SUMS[name]

    counts = counts_of_sums(add, 1500)

    assert [later - earlier for earlier, later in pairwise(counts)] == [
        pytest.approx(1500 * operations, rel=0.02)
    ] * 3


def test_sums_of_more_steps_than_are_followed_grow():
    counts = counts_of_sums(SUMS["that decays"][0], 6000)

    assert [later - earlier for earlier, later in pairwise(counts)] == [
        pytest.approx(6000 * 4, rel=0.02)
    ] * 3


@pytest.mark.parametrize("name", SUMS)
def test_sums_that_begin_again_do_not_grow(name: str):
    assert len(set(counts_of_sums(SUMS[name][0], 1500, resets=True))) == 1


def test_graph_of_the_latest_step_does_not_grow():
    def keep(recorder: Recorder, loss: Any) -> None:
        recorder.held = loss

    assert len({(each.count, each.n_bytes) for each in searches(keep)}) == 1


@pytest.mark.parametrize("keep", [in_attribute, in_list])
def test_graphs_released_by_a_backward_pass_take_little(keep: Keep):
    assert searches(keep, releases=True) == []


@pytest.mark.parametrize("is_in_record", [False, True])
def test_activations_larger_than_their_graphs_are_kept_as_tensors(*, is_in_record: bool):
    weight = torch.ones(WIDTH, requires_grad=True)
    recorder = Recorder()
    recorder.held = []

    for _ in range(STEPS):
        output = torch.ones(256, WIDTH) * weight
        output.sum().backward()
        recorder.held.append({"lin": output} if is_in_record else output)

    (kept,) = KeptObjectWalk().search([recorder], None)
    assert (kept.kind, kept.shape) == ("torch.Tensor", f"(256, {WIDTH})")
    assert kept.n_bytes == pytest.approx(STEPS * SAVED, rel=0.05)


def test_hooks_of_saved_tensors_never_run():
    n_unpacked: list[Any] = []
    weight = torch.ones(WIDTH, requires_grad=True)
    recorder = Recorder()
    with torch.autograd.graph.saved_tensors_hooks(lambda each: each, n_unpacked.append):
        recorder.held = step(weight)

    KeptObjectWalk().search([recorder], None)

    assert n_unpacked == []
