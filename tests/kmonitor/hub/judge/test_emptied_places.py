"""Buffers of the script that are emptied now and then: called once, and then known."""

from collections.abc import Iterator

import numpy as np
import pytest

from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import evidence_lines
from kmonitor_agent.wire.messages.events import Event, KeptObjects, ObjectsCounted, Verdict
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES
from tests.support.growing_run import MIB, epoch_with, ram_verdicts

ITEM_MIB = 4.0

Levels = list[tuple[int, float]]
"""(Number of items, their size in MiB) at the end of each epoch."""


def buffer(
    epochs: int, length: int, *, uneven: float = 0.0, seed: int = 0, ends: int | None = None
) -> Levels:
    """Rows of a callback, which writes and clears them when there are so many.

    Args:
        uneven: Part by which their sizes and numbers differ.
        ends: Epoch from which they are never cleared again; None: there is none.
    """
    random = np.random.default_rng(seed)
    found: Levels = []
    n, mib = 0, 0.0

    def around(value: float) -> float:
        return value * (1.0 + random.uniform(-uneven, uneven))

    most = around(length)
    for epoch in range(epochs):
        n, mib = n + 1, mib + around(ITEM_MIB)
        found.append((n, mib))
        if n >= round(most) and (ends is None or epoch < ends):
            n, mib, most = 0, 0.0, around(length)
    return found


def run(*buffers: Levels, leak_mib: float = 0.0) -> Iterator[Event]:
    random = np.random.default_rng(1)
    for epoch, levels in enumerate(zip(*buffers, strict=True)):
        kept = [
            KeptObjects("numpy.ndarray", n, mib * MIB, "(9,)", "float32", "list", f"Log.rows{k}")
            for k, (n, mib) in enumerate(levels)
        ]
        count = ObjectsCounted(epoch * 10.0 + 8.0, 1, epoch, 0.003, kept)
        ram_mib = 1000.0 + leak_mib * epoch + sum(mib for _, mib in levels)
        yield from epoch_with(epoch, ram_mib + random.normal(0.0, 0.4), count)


def alarms(verdicts: list[Verdict]) -> list[int]:
    """Epochs in which an alarm began."""
    states = [one.state in ALARMED_STATES for one in verdicts]
    return [at for at in range(1, len(states)) if states[at] and not states[at - 1]]


def test_alarm_of_the_first_time_ends_once_the_list_was_emptied_and_says_so():
    verdicts = ram_verdicts(run(buffer(14, 10)))

    (first,) = alarms(verdicts)
    assert first < 10
    ended = next(one for one in verdicts[first:] if one.state not in ALARMED_STATES)
    assert (ended.state, ended.cause, ended.unit) == ("cleared", "buffer", 11)
    lines = [with_plain_spaces(line) for line in evidence_lines(ended)]
    assert "Log.rows0 is a buffer: it was emptied at 10 objects, 40.0 MiB" in lines


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("length", [10, 25, 40])
def test_later_times_of_about_the_same_size_raise_no_alarm(length: int, seed: int):
    verdicts = ram_verdicts(run(buffer(130, length, uneven=0.3, seed=seed)))

    assert len(alarms(verdicts)) <= 1


def test_a_buffer_that_fills_again_is_still_named():
    verdicts = ram_verdicts(run(buffer(50, 25)))

    assert {one.cause for one in verdicts[28:]} == {"buffer"}


def test_two_buffers_are_each_called_once_at_most():
    verdicts = ram_verdicts(run(buffer(130, 10, uneven=0.3), buffer(130, 14, uneven=0.3)))

    assert all(at < 20 for at in alarms(verdicts))


def test_a_list_that_is_no_longer_emptied_is_called():
    verdicts = ram_verdicts(run(buffer(80, 10, ends=35)))

    assert verdicts[-1].state in ALARMED_STATES
    assert verdicts[-1].cause == "kept"


def test_memory_that_rises_from_one_emptying_to_the_next_is_called():
    verdicts = ram_verdicts(run(buffer(90, 6), leak_mib=2.0))

    assert verdicts[-1].state in ALARMED_STATES
