"""A run's events become one value of everything an epoch, and a fit."""

import math
from typing import Any

import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.detectors import UnitKind
from kmonitor.hub.judge.units import RunUnits
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    EpochEnded,
    EpochStarted,
    Event,
    FitEnded,
    GraphSize,
    Sample,
    SessionStarted,
)
from tests.support.growing_run import MIB, Growing, events_of


def _units(*events: Event) -> RunUnits:
    units = RunUnits()
    for event in events:
        units.add(event.t_s, event)
    return units


def test_an_epoch_has_its_smallest_and_largest_sample():
    units = _units(*events_of(Growing(ram_mib=5.0), 3))

    first, second, _third = units.completed[UnitKind.EPOCH]
    assert first.low["ram"] == 1000 * MIB
    assert first.high["ram"] == 1004 * MIB
    assert second.low["ram"] == pytest.approx(1005.6 * MIB)
    assert (second.number, second.start_s, second.ended_s) == (2, 10.0, 19.0)


def test_the_count_that_follows_an_epochs_end_is_of_that_epoch():
    units = _units(
        EpochStarted(t_s=0.0, fit=1, epoch=0),
        EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=1.0),
        GraphSize(t_s=1.1, fit=1, epoch=0, operations=700, traces=7, functions=9),
        GraphSize(t_s=1.2, fit=1, epoch=0, operations=100, traces=1, functions=3),
    )

    (epoch,) = units.completed[UnitKind.EPOCH]
    assert (epoch.operations, epoch.traces) == (700.0, 7.0)
    assert math.isnan(epoch.retained)


def test_an_epoch_without_a_count_is_complete_when_the_next_one_begins():
    units = RunUnits()
    units.add(1.0, EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=1.0))
    assert units.pop_n_fresh(UnitKind.EPOCH) == 0

    units.add(1.1, EpochStarted(t_s=1.1, fit=1, epoch=1))

    assert units.pop_n_fresh(UnitKind.EPOCH) == 1
    assert units.pop_n_fresh(UnitKind.EPOCH) == 0


def test_a_fit_is_a_unit_of_its_own():
    units = _units(*events_of(Growing(ram_mib=10.0, retained=1, epochs_a_fit=2), 4))

    fits = units.completed[UnitKind.FIT]
    assert units.fits_ended == len(fits) == 4
    assert [fit.retained for fit in fits] == [0.0, 1.0, 2.0, 3.0]
    assert fits[1].low["ram"] == pytest.approx(1010.6 * MIB)
    assert fits[1].kind == (0, 32)


@pytest.mark.parametrize(
    ("action", "changes", "restarts"),
    [
        ("reload", {}, True),
        ("reload", {"ok": False}, False),
        ("collect", {}, True),
        ("collect", {"unchanged": "nothing to release"}, False),
        ("collect", {"requested_by": "script"}, False),
        ("collect", {"requested_by": "limit ram 80%"}, False),
        ("save", {}, False),
    ],
)
def test_earlier_units_do_not_count_after_a_reload_or_a_persons_collect(
    action: Any, changes: dict[str, Any], *, restarts: bool
):
    units = _units(*events_of(Growing(), 3))
    done = ActionRecord(
        t_s=30.0, action=action, ok=True, requested_by="anna", fit=1, epoch=2, seconds=1
    )

    units.add(30.0, replace(done, **changes))

    assert len(units.completed[UnitKind.EPOCH]) == (0 if restarts else 3)


def test_a_new_process_restarts_and_goes_on_counting():
    units = _units(*events_of(Growing(), 3))
    units.add(
        30.0, SessionStarted(t_s=0.0, session="b", name="n", host="h", pid=1, started_wall_s=1.0)
    )

    for event in events_of(Growing(), 1, first=3):
        units.add(event.t_s, event)

    assert [unit.number for unit in units.completed[UnitKind.EPOCH]] == [4]


def test_an_epoch_too_short_for_a_sample_has_none():
    units = _units(
        Sample(t_s=0.1, ram_bytes=5.0),
        EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=1.0),
        EpochEnded(t_s=1.1, fit=1, epoch=1, seconds=0.1),
        FitEnded(t_s=1.2, fit=1, how="finished"),
    )

    first, second = units.completed[UnitKind.EPOCH]
    assert first.low == {"ram": 5.0}
    assert second.low == {}
