"""Time that steps wait for data of TensorFlow, whose runtime keeps the times in between."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import tensorflow as tf
from keras.src.backend.tensorflow.trainer import TFEpochIterator

from kmonitor_agent.frameworks.graph_waits import GraphWaits
from kmonitor_agent.frameworks.input_timing import MOST_GAPS, TensorFlowInput, input_timing
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]

LONG_S = 0.7
DROPPED_S = 10.0
"""TensorFlow drops gaps from this length on."""


@dataclass
class Runtime:
    """An epoch's steps at times of its own; `waits_s` and `works_s` are of each element."""

    source: TensorFlowInput
    epochs: TFEpochIterator
    now_s: float = 100.0
    gaps_s: list[float] = field(default_factory=list[float])
    waits_s: list[float] = field(default_factory=list[float])
    begun_s: list[float] = field(default_factory=list[float])
    worked_s: float | None = None

    def step(self, wait_s: float, work_s: float, elements: int = 1) -> None:
        self.begun_s.append(self.now_s)
        for _ in range(elements):
            if self.worked_s is not None and self.worked_s < DROPPED_S:
                self.gaps_s.append(self.worked_s)
            self.now_s += wait_s + work_s
            self.waits_s.append(wait_s)
            self.worked_s = work_s

    def read(self, elements: int = 1) -> bool:
        """As the next step begins."""
        taken = len(self.waits_s) - elements
        return self.source.read(taken, self.begun_s[-1], elements)

    def model(self, _: Any) -> Any:
        return SimpleNamespace(gap_times=[1e6 * gap_s for gap_s in self.gaps_s[-MOST_GAPS:]])


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    data = tf.data.Dataset.range(4)
    epochs: Any = TFEpochIterator(x=data, distribute_strategy=tf.distribute.get_strategy())
    next(iter(epochs))  # as before the first step
    source = input_timing(epochs)
    assert isinstance(source, TensorFlowInput)
    made = Runtime(source, epochs)
    monkeypatch.setattr(tf.data.experimental, "get_model_proto", made.model)
    source.begin_epoch(0, made.now_s)
    return made


@pytest.mark.parametrize("elements", [1, 4])
@pytest.mark.parametrize("seed", range(8))
def test_wait_is_exact_whenever_it_is_read(runtime: Runtime, seed: int, elements: int):
    random = np.random.default_rng(seed)
    for step in range(60):
        runtime.step(*random.exponential((0.002, 0.004)), elements=elements)
        if step % 20 == 19 or random.random() < 0.1:
            runtime.read(elements)
    runtime.read(elements)

    assert runtime.source.elements > 0
    assert runtime.source.waited_s == pytest.approx(
        sum(runtime.waits_s[: runtime.source.elements])
    )


def test_work_of_the_newest_step_is_no_wait(runtime: Runtime):
    for _ in range(20):
        runtime.step(0.001, 0.002)
    runtime.step(0.001, LONG_S)
    runtime.read()

    assert runtime.source.waited_s == pytest.approx(20 * 0.001)

    runtime.step(0.001, 0.002)
    runtime.read()

    assert runtime.source.waited_s == pytest.approx(21 * 0.001)


def test_reading_that_comes_too_early_or_too_late_is_done_again(runtime: Runtime):
    runtime.step(0.001, 0.002)
    is_read_at_once = runtime.read()
    for _ in range(MOST_GAPS + 1):
        runtime.step(0.001, 0.002)
    is_read_late = runtime.read()
    for _ in range(MOST_GAPS // 2):
        runtime.step(0.001, 0.002)

    assert [is_read_at_once, is_read_late, runtime.read()] == [False, False, True]
    assert runtime.source.elements == MOST_GAPS // 2


def test_only_execution_that_is_over_has_the_mean_of_its_gaps(runtime: Runtime):
    runtime.step(0.001, 0.002, elements=4)
    is_read = runtime.source.read(4, runtime.now_s, 0)

    assert is_read
    assert runtime.source.waited_s == pytest.approx(4 * 0.001)


@pytest.mark.parametrize(
    ("produced_s", "waited_s"), [(0.004, 0.004), (0.012, 0.018), (0.05, 0.17)]
)
def test_wait_for_input_that_an_execution_requests_while_it_computes_is_no_wait(
    runtime: Runtime, produced_s: float, waited_s: float
):
    step_s, outside_s = 0.010, 0.001
    runtime.source.per_execution = 4
    runtime.source.outside_s = outside_s
    for _ in range(10):
        runtime.step(produced_s, 0.0, elements=3)
        left_s = max(step_s, 4 * step_s - 3 * produced_s)
        runtime.step(produced_s, left_s + outside_s)

    runtime.source.read(36, runtime.begun_s[-2], 4)

    assert runtime.source.waited_s == pytest.approx(9 * waited_s)


def test_time_until_a_busy_machine_goes_on_after_an_execution_is_no_computing(runtime: Runtime):
    """Four steps of 10 ms took 40 ms once; now each waits 50 ms, and Python goes on 30 ms late."""
    runtime.source.per_execution = 4
    runtime.source.shortest_s = 0.040
    for _ in range(10):
        runtime.step(0.05, 0.0, elements=3)
        runtime.step(0.05, 0.010 + 0.030)

    runtime.source.read(36, runtime.begun_s[-2], 4)

    assert runtime.source.waited_s == pytest.approx(9 * (4 * 0.05 - 3 * 0.010))


def test_work_before_the_next_step_begins_is_no_wait_for_its_input(runtime: Runtime):
    """A hook takes 0.1 s after a first step that was left out, before the second one begins."""
    runtime.step(0.001, 0.002)
    runtime.source.begin_epoch(1, runtime.now_s)
    runtime.worked_s = 0.002 + 0.1
    runtime.now_s += 0.1
    runtime.step(0.001, 0.002)
    runtime.read()
    for _ in range(10):
        runtime.step(0.001, 0.002)
        runtime.read()

    assert runtime.source.elements == 10
    assert runtime.source.waited_s == pytest.approx(10 * 0.001)


def test_long_step_is_left_out_where_reading_begins_again(runtime: Runtime):
    for _ in range(10):
        runtime.step(0.001, 0.002)
    runtime.step(0.001, 30.0)
    runtime.source.begin_again(11, runtime.now_s)
    for _ in range(20):
        runtime.step(0.001, 0.002)
    runtime.read()

    assert runtime.source.elements == 19
    assert runtime.source.waited_s == pytest.approx(19 * 0.001)


@pytest.mark.parametrize("elements", [1, 4])
@pytest.mark.parametrize("before", [3, 50, 150])
@pytest.mark.parametrize("after", [1, 5, 10])
@pytest.mark.parametrize(
    ("wait_s", "work_s", "counted"),
    [pytest.param(30.0, 0.002, True, id="wait"), pytest.param(0.001, 30.0, False, id="work")],
)
def test_long_step_counts_if_its_gap_was_kept(  # noqa: PLR0913, PLR0917 - cases of one step
    runtime: Runtime,
    elements: int,
    before: int,
    after: int,
    wait_s: float,
    work_s: float,
    counted: bool,  # noqa: FBT001 - a case
):
    random = np.random.default_rng(before)
    for _ in range(before):
        runtime.step(0.001, random.exponential(0.004), elements)
        runtime.read(elements)
    for _ in range(elements - 1):
        runtime.step(0.001, 0.003)
    runtime.step(wait_s, work_s)
    ended = (before + 1) * elements
    runtime.source.check_gap(ended, runtime.now_s)
    for _ in range(after + 1):
        runtime.step(0.001, random.exponential(0.004), elements)
    runtime.read(elements)

    long_s = wait_s - 0.001 if counted else 0.0
    assert runtime.source.waited_s - long_s == pytest.approx(
        0.001 * runtime.source.elements, rel=0.1
    )


def test_reading_of_few_elements_is_followed_by_one_before_the_runtime_forgets(runtime: Runtime):
    planned: list[int] = []
    clock = SimpleNamespace(
        steps=0, steps_per_tick=1, is_last=False, last_begin_s=0.0, due_after=planned.append
    )
    waits = GraphWaits(cast("Any", clock))
    waits.follow(runtime.source)
    waits.begin_first_step(runtime.now_s)

    def run(steps: int) -> None:
        for _ in range(steps):
            clock.last_begin_s = runtime.now_s
            clock.steps += 1
            runtime.step(0.001, 0.0005)

    run(2)
    waits.read_due(runtime.now_s)  # our first hooks are called then
    run(planned[-1])
    waits.read_due(runtime.now_s)
    run(2 * MOST_GAPS)

    assert runtime.source.elements == planned[-1] + 1
    assert waits.waited_s(0.0) == pytest.approx(clock.steps * 0.001)


@pytest.mark.parametrize("elements", [1, 4])
def test_last_execution_that_took_far_longer_waited(runtime: Runtime, elements: int):
    clock = SimpleNamespace(steps=0, steps_per_tick=elements, due_after=lambda _: None)
    waits = GraphWaits(cast("Any", clock))
    waits.follow(runtime.source)
    waits.begin_first_step(runtime.now_s)
    for execution in range(20):
        clock.last_begin_s = runtime.now_s
        clock.steps += elements
        runtime.step(0.001 if execution < 19 else LONG_S, 0.002, elements=elements)
    last_s = runtime.now_s - clock.last_begin_s

    waits.end_epoch(last_s, 0.003 * elements)

    assert waits.waited_s(0.0) == pytest.approx(
        last_s - 0.002 * elements + clock.steps * 0.001, rel=0.01
    )
