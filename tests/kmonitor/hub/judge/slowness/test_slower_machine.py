"""Slower computing: what is counted outside of it is named, or said to be ruled out."""

from collections.abc import Callable

import pytest

from kmonitor.hub.judge.causes import Cause, Confidence, GrowthExplanation, Remedy
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.slowness.slower_steps import explain_machine
from kmonitor.hub.judge.units import Unit

N = 12


def explained(fill: Callable[[Unit, int], None]) -> GrowthExplanation:
    units = [Unit(number + 1, 10.0 * number, 10.0 * (number + 1)) for number in range(N)]
    for number, unit in enumerate(units):
        fill(unit, number)
    return explain_machine(Growth(None, 0, N - 1), units)


def level(name: str, *values: float) -> Callable[[Unit, int], None]:
    """From the sixth unit on the second value."""
    return lambda unit, number: unit.measured(name, *[values[number >= 6]] * 2)


def test_group_that_is_held_back_more_is_the_cause():
    found = explained(level("throttled", 0.01, 0.4))

    assert (found.cause, found.confidence) == (Cause.THROTTLED, Confidence.FITTING)
    assert found.advice == (Remedy.MORE_CPU,)


def test_slower_clock_is_the_cause():
    assert explained(level("clock", 3.6e9, 2.1e9)).cause is Cause.CLOCK
    assert explained(level("clock", 3.6e9, 3.5e9)).cause is Cause.UNKNOWN


@pytest.mark.parametrize(
    ("waiting", "seconds", "cause", "is_excluded"),
    [
        ((0.02, 0.45), (1.0, 2.0), Cause.BUSY, False),
        ((0.25, 0.5), (1.0, 2.1), Cause.BUSY, False),
        # As large a share as before: most of the time rose for another reason.
        ((0.25, 0.27), (1.0, 2.1), Cause.UNKNOWN, False),
        ((0.02, 0.08), (1.0, 1.1), Cause.UNKNOWN, False),
        # Too little of the additional time to be the cause, and too much to be excluded.
        ((0.02, 0.12), (1.0, 2.0), Cause.UNKNOWN, False),
        ((0.02, 0.02), (1.0, 2.0), Cause.UNKNOWN, True),
        ((0.04, 0.06), (1.0, 2.0), Cause.UNKNOWN, True),
    ],
)
def test_waiting_for_a_processor_is_the_cause_where_it_takes_the_time(
    waiting: tuple[float, float],
    seconds: tuple[float, float],
    cause: Cause,
    *,
    is_excluded: bool,
):
    def fill(unit: Unit, number: int) -> None:
        level("cpu_wait", *waiting)(unit, number)
        unit.wall_s = seconds[number >= 6]

    found = explained(fill)

    assert found.cause is cause
    assert found.ruled_out == (("busy",) if is_excluded else ())


@pytest.mark.parametrize(("work", "is_excluded"), [(1.0, False), (1.1, False), (1.6, True)])
def test_other_processes_are_excluded_where_the_process_itself_works_longer(
    work: float, *, is_excluded: bool
):
    def fill(unit: Unit, number: int) -> None:
        level("cpu_wait", 0.01, 0.01)(unit, number)
        unit.wall_s = (1.0, 2.0)[number >= 6]
        unit.cpu_s = (1.0, work)[number >= 6]

    found = explained(fill)

    assert found.cause is Cause.UNKNOWN
    assert found.ruled_out == (("busy",) if is_excluded else ())


@pytest.mark.parametrize("name", ["throttled", "memory_pressure"])
def test_what_rose_too_little_to_be_the_cause_is_not_excluded(name: str):
    found = {values: explained(level(name, *values)).ruled_out for values in RISES}

    assert [len(each) for each in found.values()] == [1, 1, 0]


RISES = ((0.0, 0.0), (0.3, 0.3), (0.3, 0.6))
"""Fractions of the time before, and after, of which the last one rose."""


def test_collections_of_more_and_more_objects_are_the_cause():
    def fill(unit: Unit, number: int) -> None:
        unit.full_collections = 5.0 * number
        unit.python_blocks = 1e6 + 1e5 * number

    found = explained(fill)

    assert found.cause is Cause.GARBAGE
    assert found.because[0].per_unit.middle == pytest.approx(5.0)


def test_collections_of_as_many_objects_as_before_are_not():
    def fill(unit: Unit, number: int) -> None:
        unit.full_collections = 5.0 * number
        unit.python_blocks = 1e6

    assert explained(fill).cause is Cause.UNKNOWN


def test_what_was_measured_is_ruled_out_and_nothing_else():
    def fill(unit: Unit, number: int) -> None:
        del number
        unit.traces = 3.0
        unit.measured("throttled", 0.0, 0.0)

    found = explained(fill)

    assert (found.cause, found.confidence) == (Cause.UNKNOWN, Confidence.OPEN)
    assert found.ruled_out == ("traces", "throttled")
    assert explained(lambda unit, number: None).ruled_out == ()


def twice_as_long(**values: tuple[float, float]) -> Callable[[Unit, int], None]:
    """Units of one second, and from the sixth on of two, with levels before and after."""

    def fill(unit: Unit, number: int) -> None:
        unit.wall_s = (1.0, 2.0)[number >= 6]
        for name, each in values.items():
            level(name, *each)(unit, number)

    return fill


@pytest.mark.parametrize("name", ["throttled", "memory_pressure", "cpu_wait"])
def test_wait_that_takes_as_large_a_share_of_longer_units_is_not_excluded(name: str):
    assert explained(twice_as_long(**{name: (0.3, 0.3)})).ruled_out == ()
    assert explained(twice_as_long(**{name: (0.02, 0.03)})).ruled_out != ()


@pytest.mark.parametrize(("later_s", "is_excluded"), [(2.0, True), (1.1, False)])
def test_clock_is_excluded_by_its_part_in_the_slowdown(later_s: float, *, is_excluded: bool):
    def fill(unit: Unit, number: int) -> None:
        level("clock", 3.6e9, 3.4e9)(unit, number)
        unit.wall_s = (1.0, later_s)[number >= 6]

    assert explained(fill).ruled_out == (("clock",) if is_excluded else ())


@pytest.mark.parametrize(
    ("per_unit", "blocks", "is_excluded"),
    [
        ((0.0, 0.0), (1e6, 9e6), True),
        ((5.0, 5.0), (1e6, 1.02e6), True),
        ((5.0, 5.0), (1e6, 1.19e6), False),
        ((5.0, 9.0), (1e6, 1e6), False),
        ((0.0, 5.0), (1e6, 1e6), False),
    ],
)
def test_collections_are_excluded_where_they_have_no_more_to_look_through(
    per_unit: tuple[float, float], blocks: tuple[float, float], *, is_excluded: bool
):
    def fill(unit: Unit, number: int) -> None:
        twice_as_long()(unit, number)
        early, late = per_unit
        unit.full_collections = early * min(number, 5) + late * max(0, number - 5)
        unit.python_blocks = blocks[number >= 6]

    assert explained(fill).ruled_out == (("garbage",) if is_excluded else ())


@pytest.mark.parametrize(("faults", "is_excluded"), [(2.0, True), (40.0, False)])
def test_pressure_is_excluded_by_faults_where_nothing_else_was_read(
    faults: float, *, is_excluded: bool
):
    def fill(unit: Unit, number: int) -> None:
        twice_as_long()(unit, number)
        unit.measured("major_faults", *[faults * max(0, number - 5)] * 2)

    assert explained(fill).ruled_out == (("pressure",) if is_excluded else ())


def test_traces_are_excluded_where_none_was_added_in_all_these_units():
    def fill(unit: Unit, number: int) -> None:
        unit.traces = 2.0 if number < 7 else 3.0

    assert explained(fill).ruled_out == ()


def test_one_reading_excludes_nothing():
    def fill(unit: Unit, number: int) -> None:
        if number == N - 1:
            for name in ("clock", "throttled", "memory_pressure", "major_faults"):
                unit.measured(name, 0.0, 0.0)
            unit.full_collections = 3.0

    assert explained(fill).ruled_out == ()
