"""Memory that rises in teeth, counts that few units have read, and single exceptions."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace as replace_fields

from kmonitor.hub.judge.counters import Counter, CounterKind
from kmonitor.hub.judge.detectors import ALARMED, QUIET, GrowthState, Judgement, next_judgement
from kmonitor.hub.judge.statistics import is_within_tooth
from kmonitor_agent.wire.messages.events import KeptObjects

MIB = 2.0**20
UNITS = np.arange(40.0)
LEVEL = 360.0 * MIB
BUFFER = KeptObjects(
    kind="numpy.ndarray",
    count=8,
    n_bytes=24 * MIB,
    shape="(1024, 768)",
    dtype="float32",
    container="list",
    place="__main__.buffer",
)
FIGURES = replace_fields(
    BUFFER, kind="matplotlib.Figure", n_bytes=None, shape="", place="matplotlib.pyplot"
)


def replay(values: np.ndarray, *counters: Counter) -> list[Judgement]:
    found: list[Judgement] = []
    for n in range(1, len(values) + 1):
        seen = [replace(one, values=one.values[:n]) for one in counters]
        before = found[-1] if found else Judgement()
        found.append(next_judgement(before, values[:n], seen, room=20_000 * MIB))
    return found


def first_alarm(found: list[Judgement]) -> int:
    """Number of units after which it was called growing; more than there are: never."""
    states = [one.state in ALARMED for one in found]
    return states.index(True) + 1 if any(states) else len(states) + 1


def read_each(values: np.ndarray, each: int, since: int = 0) -> np.ndarray:
    """The values as read in some units only."""
    return np.where((since <= UNITS) & (UNITS % each == 0), values, np.nan)


def teeth(a_unit: float, period: int, height: float, phase: int = 0) -> np.ndarray:
    """Memory whose lows rise by a line, and between them faster; it falls after each period."""
    return LEVEL + (a_unit * UNITS + height * ((UNITS + phase) % period) / (period - 1)) * MIB


@pytest.mark.parametrize("period", [3, 4])
@pytest.mark.parametrize("phase", [0, 1, 2])
@pytest.mark.parametrize("a_unit", [1, 2])
def test_objects_that_are_kept_evenly_explain_teeth_whose_lows_rise(
    period: int, phase: int, a_unit: int
):
    figures = read_each(a_unit * UNITS, 2, since=5)
    found = replay(
        teeth(2.0 * a_unit, period, 9.0 * a_unit, phase),
        Counter(CounterKind.KEPT_OBJECTS, figures, kept=FIGURES),
    )

    assert first_alarm(found) <= 15
    named = found[first_alarm(found) - 1].grew_with
    assert [one.kind for one in named] == [CounterKind.KEPT_OBJECTS]
    assert GrowthState.STEADY not in {one.state for one in found[12:]}


def test_a_sure_rise_that_what_is_kept_may_explain_is_not_steady():
    """It pauses for two units, and goes on or not."""
    added = np.where(UNITS < 9, 2.0 + 4.0 * (UNITS % 2), 0.4 * (UNITS % 2) - 0.2)
    memory = LEVEL + np.cumsum(added)[:11] * MIB
    figures = Counter(CounterKind.KEPT_OBJECTS, read_each(UNITS, 3, since=6), kept=FIGURES)

    assert replay(memory)[-1].state is GrowthState.STEADY
    assert replay(memory, figures)[-1].state is GrowthState.MEASURING


@pytest.mark.parametrize("period", [3, 5])
def test_objects_that_are_kept_evenly_explain_no_teeth_that_fall_back(period: int):
    figures = read_each(UNITS, 2, since=5)
    found = replay(
        teeth(0.0, period, 12.0), Counter(CounterKind.KEPT_OBJECTS, figures, kept=FIGURES)
    )

    assert first_alarm(found) > len(UNITS)


@pytest.mark.parametrize("seed", [41, 52, 81, 128, 148])
def test_one_exception_does_not_begin_the_row_of_judgements_again(seed: int):
    """Noise on a line makes one judgement find that it slows down."""
    noise = np.random.default_rng(seed).normal(0.0, 2.0, len(UNITS))
    found = replay(LEVEL + (4.0 * UNITS + noise) * MIB)

    assert first_alarm(found) == 15
    assert [one.growth is not None and one.growth.is_growing for one in found[9:15]].count(
        True
    ) == 5


@pytest.mark.parametrize("seed", range(40))
def test_bytes_that_grow_evenly_are_no_growth_where_memory_may_not_have_grown(seed: int):
    noise = np.random.default_rng(seed).normal(0.0, 8.0, len(UNITS))
    memory = LEVEL + (0.5 * UNITS + noise) * MIB
    held = Counter(CounterKind.NATIVE_BYTES, 0.5 * UNITS * MIB)

    for before, now in pairwise(replay(memory, held)[9:]):
        if now.state in ALARMED and before.state not in ALARMED:
            slope = now.growth.slope if now.growth is not None else None
            assert slope is not None
            assert slope.low > 0.0


@pytest.mark.parametrize("period", [9, 10, 11])
@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize("kind", [CounterKind.KEPT_BYTES, CounterKind.NATIVE_BYTES])
def test_a_buffer_that_was_emptied_before_is_no_growth_until_it_is_larger(
    period: int, each: int, kind: CounterKind
):
    held = 3.0 * ((UNITS + 2) % period) * MIB
    kept = BUFFER if kind is CounterKind.KEPT_BYTES else None
    counter = Counter(kind, read_each(held, each), kept=kept)

    found = replay(LEVEL + held, counter)
    emptied = [one.state for one in found[period + 3 : 2 * period + 5]]
    assert not set(emptied) & ALARMED

    grows_on = 3.0 * (UNITS - period * (period <= UNITS)) * MIB
    larger = Counter(kind, read_each(grows_on, each), kept=kept)
    assert replay(LEVEL + grows_on, larger)[-1].state in ALARMED


def test_what_came_at_once_and_was_given_back_excuses_no_growth():
    at_once = np.array([0.0, 1.0, 2.0, 90.0, 2.0, 5.0, 8.0, 11.0, 14.0])
    by_units = np.array([0.0, 30.0, 60.0, 90.0, 2.0, 5.0, 8.0, 11.0, 14.0])

    assert not is_within_tooth(at_once)
    assert is_within_tooth(by_units)
    assert not is_within_tooth(np.array([1.0, np.nan, 2.0, 3.0]))


@pytest.mark.parametrize("each", [2, 3, 4])
def test_malloc_that_grows_on_a_line_is_named_though_few_units_have_read_it(each: int):
    memory = LEVEL + 4.0 * UNITS * MIB
    found = replay(memory, Counter(CounterKind.NATIVE_BYTES, read_each(memory / 2, each)))
    named = [bool(one.grew_with) for one in found]

    assert named.index(True) + 1 <= 3 * each + 1


def test_few_readings_that_are_not_even_explain_nothing():
    memory = LEVEL + 4.0 * UNITS * MIB
    jumps = np.where(UNITS < 4, 0.0, 40.0) * MIB
    found = replay(memory, Counter(CounterKind.NATIVE_BYTES, read_each(jumps, 2)))

    assert all(not one.grew_with for one in found[:9])


@pytest.mark.parametrize("period", [4, 5])
@pytest.mark.parametrize("height", [6.0, 8.0])
def test_falls_to_ever_higher_lows_do_not_end_a_rise(period: int, height: float):
    states = [one.state for one in replay(teeth(1.0, period, height))]
    since = states.index(GrowthState.RISING, 6)

    assert not set(states[since:]) & QUIET


def test_a_fall_to_where_it_came_from_ends_a_rise():
    memory = np.where(UNITS < 20, teeth(1.0, 5, 8.0), LEVEL)
    states = [one.state for one in replay(memory)]

    assert states[19] is GrowthState.RISING
    assert states[20] in QUIET
