"""Objects that a script keeps are counted while memory rises, and where it costs little."""

import contextlib
import mmap
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.base import AllocatorReadings
from kmonitor_agent.frameworks.kept import suspended
from kmonitor_agent.frameworks.kept.places import PUBLIC_PLACES
from kmonitor_agent.recording.diagnosis import KeptObjectCounter, is_rising
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.events import Event, ObjectsCounted, StepTimes
from kmonitor_agent.wire.messages.readings import Reading

pytestmark = pytest.mark.usefixtures("this_module_alone")

MIB = 2.0**20


class Recorder:
    """A callback of the script's that keeps arrays."""

    def __init__(self, arrays: int) -> None:
        self.history = [np.zeros((1024, 256), "float32") for _ in range(arrays)]


class CallbackList:
    def __init__(self, callbacks: list[Any]) -> None:
        self.callbacks = callbacks


class Process:
    """A process whose memory and clocks a test moves.

    Attributes:
        sent: Events that the counter emitted.
        hear: Called with each of these events.
        recorder: The callback of its fit.
    """

    def __init__(self, *, private: bool = False, epoch_s: float = 10.0) -> None:
        self.sent: list[Event] = []
        self.hear = self.sent.append
        self.recorder = Recorder(3)
        self._epoch_s = epoch_s
        self._time_s = self._worked_s = 0.0
        self._held = 500 * MIB
        self._in_use: float | None = None
        self._callbacks = CallbackList([self.recorder])
        self.fit: Any = SimpleNamespace(
            ordinal=1,
            epoch=0,
            epochs_done=0,
            is_in_epoch=False,
            last_steps=None,
            is_count_due=False,
            clock=SimpleNamespace(steps=0, due=False),
            origin=SimpleNamespace(callback_list=lambda: self._callbacks),
            model=lambda: None,
            framework=SimpleNamespace(allocator=self._allocator),
        )
        self.counter = KeptObjectCounter(
            emit=lambda event: self.hear(event),  # noqa: PLW0108 - a test replaces it
            now_s=lambda: self._time_s,
            privacy=Privacy(private=private),
            held_bytes=lambda: self._held,
            time_s=lambda: self._time_s,
            thread_time_s=lambda: self._worked_s,
        )

    def _allocator(self) -> AllocatorReadings:
        readings = AllocatorReadings.missing("GPU:0", "none here")
        return replace(readings, in_use=Reading(self._in_use, "bytes", "test"))

    def end_epochs_on_device(self, *rises_mib: float) -> None:
        """Train this many epochs, in each of which the memory of the GPU rises."""
        for rise_mib in rises_mib:
            self._in_use = (self._in_use or 0.0) + rise_mib * MIB
            self.end_epochs(0.0)

    def end_epochs_of_steps(self, *steps_s: float) -> None:
        """Train this many epochs with such mean step times, in which memory does not rise."""
        for step_s in steps_s:
            self.fit.last_steps = StepTimes(100, step_s, step_s, step_s, step_s, step_s)
            self.end_epochs(0.0)

    def work(self, seconds: float) -> None:
        self._worked_s += seconds

    def let_counts_take(self, seconds: float) -> None:
        self.fit.model = lambda: self.work(seconds)

    def end_epochs(self, *rises_mib: float) -> None:
        """Train this many epochs, in each of which memory rises."""
        for rise_mib in rises_mib:
            self._time_s += self._epoch_s
            self._held += rise_mib * MIB
            self.fit.epochs_done += 1
            self.counter.unit_ended("epoch", self.fit)

    def sample(self, *rises_mib: float) -> None:
        """Look each second at an epoch that runs."""
        self.fit.is_in_epoch = True
        for rise_mib in rises_mib:
            self._time_s += 1.0
            self._held += rise_mib * MIB
            self.counter.watch_steps(self.fit)

    @property
    def counts(self) -> list[ObjectsCounted]:
        return [each for each in self.sent if isinstance(each, ObjectsCounted)]


@pytest.mark.parametrize("rises_mib", [(2.0, 2.0), (2.0, -9.0, 2.0, 2.0), (0.9, 0.9, 0.9, 0.9)])
def test_memory_that_rose_too_little_does_not_rise(rises_mib: tuple[float, ...]):
    held = np.cumsum([500.0, *rises_mib]) * MIB

    assert not is_rising(held.tolist())


@pytest.mark.parametrize("rises_mib", [(2.0, 2.0, 2.0), (2.0, 0.1, 2.0, 2.0)])
def test_memory_rises_if_three_units_of_four_added_a_mebibyte(rises_mib: tuple[float, ...]):
    held = np.cumsum([500.0, *rises_mib]) * MIB

    assert is_rising(held.tolist())


def test_nothing_is_counted_while_memory_stays():
    process = Process()

    process.end_epochs(*[0.0] * 20)

    assert process.sent == []


def test_what_is_kept_is_counted_at_each_end_once_memory_rises():
    process = Process()

    process.end_epochs(0.0, 4.0, 4.0)
    before = len(process.counts)
    process.end_epochs(4.0)
    process.recorder.history.append(process.recorder.history[0].copy())
    process.end_epochs(4.0)

    assert before == 0
    first, second = process.counts
    place = "Recorder.history"
    assert [each.n_bytes for each in first.kept if each.place == place] == [3 * MIB]
    assert [each.count for each in second.kept if each.place == place] == [4]


def test_a_few_counts_after_a_rise_show_what_still_grows():
    process = Process()

    process.end_epochs(0.0, 4.0, 4.0, 4.0)
    while_rising = len(process.counts)
    process.end_epochs(*[0.0] * 20)

    assert while_rising == 1
    # The first unit without a rise still counts as one of a rise.
    assert len(process.counts) == while_rising + 1 + 3
    assert process.counts[-1].why == ""


@pytest.mark.parametrize("left", [0, 1])
def test_a_list_that_was_emptied_is_reported_once(left: int):
    process = Process()

    process.end_epochs(0.0, 4.0, 4.0, 4.0)
    del process.recorder.history[left:]
    process.end_epochs(0.0, 0.0)

    found = [each for count in process.counts for each in count.kept]
    counts = [(each.count, each.n_bytes) for each in found if each.container == "list"]
    assert counts == [(3, 3 * MIB), (left, left * MIB)]


def test_a_list_that_is_out_of_sight_is_not_reported_as_emptied():
    process = Process()

    process.end_epochs(0.0, 4.0, 4.0, 4.0)
    del process.recorder.history
    process.end_epochs(0.0, 0.0)

    found = [each for count in process.counts for each in count.kept]
    assert [each.count for each in found if each.place == "Recorder.history"] == [3]


def test_what_is_kept_on_a_gpu_is_counted_too():
    process = Process()

    process.end_epochs_on_device(16.0, 16.0, 16.0, 16.0)

    # Arrays of other tests' modules are kept too.
    assert "Recorder.history" in [each.place for each in process.counts[0].kept]


def test_what_has_not_changed_is_not_sent_again():
    process = Process()

    process.end_epochs(0.0, 4.0, 4.0, 4.0, 4.0)

    assert "Recorder.history" not in {each.place for each in process.counts[1].kept}


def test_a_count_that_would_cost_more_than_a_hundredth_is_left_out_and_said_once():
    process = Process(epoch_s=0.01)

    process.end_epochs(*[4.0] * 10)

    (refused,) = process.counts
    assert refused.kept == []
    assert "1%" in refused.why


def test_lists_of_a_generator_that_only_a_loop_refers_to_are_counted():
    process = Process()

    def trainer() -> Iterator[int]:
        history: list[Any] = []
        for n in range(8):
            history.append(np.zeros(2**19))
            yield n

    for _ in trainer():
        process.end_epochs(4.0)

    found = [each for count in process.counts for each in count.kept]
    assert [each.count for each in found if each.place == "trainer.history"][-2:] == [7, 8]


def test_generators_are_not_searched_for_while_what_was_found_explains_the_rise(
    monkeypatch: pytest.MonkeyPatch,
):
    process = Process()
    searches: list[int] = []
    monkeypatch.setattr(suspended, "suspended_calls", lambda: searches.append(1) or [])

    for _ in range(12):
        process.recorder.history.append(process.recorder.history[0].copy())
        process.end_epochs(1.0)
    explained = len(searches)
    process.end_epochs(*[4.0] * 12)

    assert explained == 0
    assert searches


def test_each_search_for_generators_comes_later_than_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
):
    process = Process()
    ended: list[int] = []

    def search() -> list[Any]:
        process.work(0.1)
        ended.append(process.fit.epochs_done)
        return []

    monkeypatch.setattr(suspended, "suspended_calls", search)

    process.end_epochs(*[4.0] * 20)

    pauses = [later - before for before, later in pairwise(ended)]
    assert len(pauses) > 1
    assert all(later > before for before, later in pairwise(pauses))


def test_short_epochs_are_counted_together():
    process = Process(epoch_s=0.3)

    process.end_epochs(*[4.0] * 12)

    assert any(each.kept for each in process.counts)


def test_a_count_that_takes_somewhat_longer_than_allowed_is_completed():
    process = Process(epoch_s=1.0)
    process.let_counts_take(0.03)

    process.end_epochs(*[4.0] * 5)

    assert [each.seconds for each in process.counts] == [pytest.approx(0.03)] * 2


def test_a_count_that_takes_much_longer_than_allowed_is_stopped():
    process = Process(epoch_s=1.0)
    process.let_counts_take(0.1)

    process.end_epochs(*[4.0] * 6)

    assert [each.kept for each in process.counts] == [[]]


@pytest.mark.parametrize("cost_s", [0.005, 0.015, 0.03])
def test_counts_take_a_hundredth_of_the_time_on_average(cost_s: float):
    process = Process(epoch_s=1.0)
    process.let_counts_take(cost_s)

    process.end_epochs(*[4.0] * 30)

    taken_s = sum(each.seconds for each in process.counts)
    assert min(0.267, 26.4 * cost_s) <= taken_s <= 0.303


def test_a_long_time_without_a_count_does_not_pay_for_many():
    process = Process(epoch_s=1.0)
    process.let_counts_take(0.03)

    process.end_epochs(*[0.0] * 100, *[4.0] * 9)

    assert [each.t_s for each in process.counts if each.seconds] == [103.0, 104.0, 106.0, 109.0]


def test_a_count_that_fails_says_why_and_raises_nothing():
    process = Process()

    def fails() -> None:
        raise OSError("gone")

    process.fit.model = fails
    process.end_epochs(*[4.0] * 5)

    (failed,) = process.counts
    assert "gone" in failed.why


def test_places_of_the_script_are_hashed_in_a_private_run():
    process = Process(private=True)

    process.end_epochs(*[4.0] * 5)

    kept = [each for each in process.counts[0].kept if each.place not in PUBLIC_PLACES]
    assert kept
    assert all("." not in each.place and len(each.place) == 12 for each in kept)
    # Cached functions of tests that ran in this process before keep objects of other kinds.
    assert "numpy.ndarray" in {each.kind for each in kept}


def test_names_of_python_are_not_hashed_in_a_private_run():
    process = Process(private=True)
    stack = contextlib.ExitStack()
    for _ in range(3):
        stack.callback(id, np.zeros(int(MIB) // 8))
    pages = {n: mmap.mmap(-1, int(MIB)) for n in range(3)}
    vars(process.recorder).update(stack=stack, pages=pages)

    process.end_epochs(*[4.0] * 5)

    kept = {(each.kind, each.container) for each in process.counts[0].kept}
    assert {("numpy.ndarray", "ExitStack"), ("mmap.mmap", "dict")} <= kept


def test_an_epoch_in_which_memory_rises_is_counted_at_the_next_step():
    process = Process()

    process.sample(0.0, 4.0, 4.0)
    before = process.fit.is_count_due
    process.sample(4.0)

    assert (before, process.fit.is_count_due, process.fit.clock.due) == (False, True, True)


def test_two_epochs_are_not_compared_within():
    process = Process()

    process.sample(0.0, 4.0, 4.0)
    process.fit.epoch = 1
    process.sample(4.0)

    assert process.fit.is_count_due is False


def test_calls_of_collect_are_units_of_their_own():
    process = Process()

    for _ in range(4):
        process.end_epochs(5.0, -3.0)
        process.counter.unit_ended("collect", None)

    assert [each.fit for each in process.counts] == [0]


def test_thread_that_counts_is_not_joined_by_another():
    process = Process()
    emit = process.sent.append

    def count_again(event: Event) -> None:
        emit(event)
        process.fit.epochs_done += 1
        process.counter.count(process.fit)

    process.hear = count_again
    process.end_epochs(*[4.0] * 4)

    assert len(process.counts) == 1


def test_what_is_kept_is_counted_while_steps_slow_down():
    process = Process()

    process.end_epochs_of_steps(*[0.001] * 9, *[0.00102] * 3)
    assert process.sent == []

    process.end_epochs_of_steps(*[0.0012] * 3)
    assert any(isinstance(event, ObjectsCounted) for event in process.sent)
