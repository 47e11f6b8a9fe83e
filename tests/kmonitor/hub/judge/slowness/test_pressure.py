"""Slower steps and stalls that a want of memory explains."""

import pytest

from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.slowness.slower_steps import explain_pressure
from kmonitor.hub.judge.units import Unit


def units_of(faults: list[float], waiting: list[float]) -> list[Unit]:
    found: list[Unit] = []
    for number, (count, part) in enumerate(zip(faults, waiting, strict=True), 1):
        unit = Unit(number, 10.0 * number)
        unit.measured("major_faults", count, count)
        unit.measured("memory_pressure", part, part)
        found.append(unit)
    return found


NONE = [0.0] * 12


@pytest.mark.parametrize(
    ("faults", "waiting", "is_named"),
    [
        ([*[10.0] * 6, *(10 + 400.0 * n for n in range(1, 7))], NONE, True),
        (NONE, [*[0.0] * 6, *[0.4] * 6], True),
        (NONE, NONE, False),
        ([5.0 * n for n in range(12)], NONE, False),
        ([900.0 * n for n in range(12)], NONE, False),  # as many from the beginning on
    ],
    ids=["faults", "waiting", "none", "few", "always"],
)
def test_slower_steps_are_explained_by_pressure_that_rose(
    faults: list[float], waiting: list[float], *, is_named: bool
):
    found = explain_pressure(Growth(None, 0, 11), units_of(faults, waiting))

    assert (found is not None) is is_named
    if found is not None:
        assert (found.cause.name, found.advice[0].name) == ("PRESSURE", "FREE_MEMORY")


def test_faults_of_epochs_shorter_than_the_time_between_samples_are_counted():
    """Each third epoch has a sample."""
    units = units_of([*[10.0] * 18, *(10 + 400.0 * n for n in range(1, 13))], [0.0] * 30)
    for unit in units:
        if unit.number % 3:
            unit.high.clear()

    found = explain_pressure(Growth(None, 0, 29), units)

    assert found is not None
    assert found.because[0].per_unit.middle == pytest.approx(400.0)


def test_a_jump_is_compared_with_the_units_before_it():
    units = units_of([*[10.0] * 18, *(10 + 400.0 * n for n in range(1, 7))], [0.0] * 24)

    assert explain_pressure(Growth(None, 18, 23), units) is not None


@pytest.mark.parametrize(("longer_s", "is_named"), [(0.5, True), (3.0, False)])
def test_faults_are_named_where_they_may_explain_the_time(longer_s: float, *, is_named: bool):
    """50 of them in an epoch, of at most 10 ms each."""
    units = units_of([*[10.0] * 6, *(10 + 50.0 * n for n in range(1, 7))], NONE)
    for unit in units:
        unit.wall_s = 1.0 + (longer_s if unit.number > 6 else 0.0)

    assert (explain_pressure(Growth(None, 0, 11), units) is not None) is is_named


@pytest.mark.parametrize(("waits", "is_named"), [(0.7, True), (0.02, False)])
def test_time_in_which_it_waits_for_a_processor_needs_no_faults(waits: float, *, is_named: bool):
    """50 of them in an epoch that takes 3 seconds longer."""
    units = units_of([*[10.0] * 6, *(10 + 50.0 * n for n in range(1, 7))], NONE)
    for unit in units:
        unit.wall_s = 1.0 + (3.0 if unit.number > 6 else 0.0)
        unit.measured("cpu_wait", *[waits if unit.number > 6 else 0.02] * 2)

    assert (explain_pressure(Growth(None, 0, 11), units) is not None) is is_named
