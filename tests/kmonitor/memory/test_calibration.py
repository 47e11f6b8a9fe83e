"""Estimates corrected by measurements of one batch size, and of several."""

from typing import Any

import msgspec
import pytest

from kmonitor.memory.calibration import (
    Calibration,
    Measurements,
    NotIdentifiable,
    PeakMeasurement,
    measurement_key,
)
from kmonitor.memory.estimate import MemoryMap, Plan, estimate
from kmonitor_agent.wire.messages.model_layout import ModelLayout, OptimizerLayout
from tests.support.made_up_layouts import two_dense

LAYOUT = two_dense()
MIB = 2**20


def calibrated(layout: ModelLayout, plan: Plan, peaks: list[PeakMeasurement]) -> MemoryMap:
    return Calibration(layout, plan, peaks).at(plan.batch)


def measured(batch: int, factor: float = 1.0, **fields: Any) -> PeakMeasurement:
    """The transient part of the estimate times a factor, as if it had been measured."""
    found = estimate(LAYOUT, Plan(batch=batch))
    return PeakMeasurement(
        batch, found.resident_bytes + int(factor * found.transient_bytes), **fields
    )


def test_one_batch_scales_the_estimate_at_every_other():
    found = calibrated(LAYOUT, Plan(batch=8192), [measured(4096, 1.5)])

    plain = estimate(LAYOUT, Plan(batch=8192))
    assert found.transient_bytes == pytest.approx(1.5 * plain.transient_bytes, rel=1e-3)
    assert found.resident_bytes == plain.resident_bytes
    assert found.tier == 2
    assert "batch size 4096" in found.method


def test_the_interval_is_wider_far_from_what_was_measured():
    near = calibrated(LAYOUT, Plan(batch=8192), [measured(4096)])
    far = calibrated(LAYOUT, Plan(batch=4096 * 5), [measured(4096)])

    assert near.high_bytes == near.resident_bytes + int(near.transient_bytes * 1.5)
    assert far.high_bytes == far.resident_bytes + int(far.transient_bytes * 1.70)


def test_it_is_wider_where_a_layer_or_the_step_has_no_rule_and_open_without_any_order():
    odd = msgspec.structs.replace(LAYOUT, why_no_calls="it has a step of its own")
    open_one = msgspec.structs.replace(LAYOUT, calls=(), why_no_calls="it computes by itself")
    usual = calibrated(LAYOUT, Plan(batch=8192), [measured(4096)])

    wider = calibrated(odd, Plan(batch=8192), [measured(4096)])

    assert wider.high_bytes == wider.resident_bytes + int(usual.transient_bytes * 2.0)
    assert calibrated(open_one, Plan(batch=8192), [measured(4096)]).high_bytes is None


def test_two_batches_give_the_line_through_them():
    resident = estimate(LAYOUT, Plan(batch=1)).resident_bytes
    points = [
        PeakMeasurement(1000, resident + 30 * MIB),
        PeakMeasurement(3000, resident + 70 * MIB),
    ]

    found = calibrated(LAYOUT, Plan(batch=2000), points)

    assert found.transient_bytes == pytest.approx(50 * MIB, abs=2)
    assert found.tier == 1


def test_data_that_the_allocator_of_a_cpu_holds_are_said_beside_what_it_leaves_out():
    seen = [PeakMeasurement(1000, 130 * MIB, between_bytes=100 * MIB, device="CPU")]

    notes = calibrated(LAYOUT, Plan(batch=1000), seen).notes

    assert any(each.startswith("98.9 MiB of resident memory is neither") for each in notes), notes
    assert any("the estimate adds them" in each for each in notes)


def test_what_stays_between_steps_grows_with_the_batch_as_it_was_seen_to():
    points = [
        PeakMeasurement(1000, 130 * MIB, between_bytes=100 * MIB),
        PeakMeasurement(3000, 190 * MIB, between_bytes=120 * MIB),
    ]

    told = {b: calibrated(LAYOUT, Plan(batch=b), points) for b in (500, 2000, 4000)}

    assert {b: each.resident_bytes // MIB for b, each in told.items()} == {
        500: 95, 2000: 110, 4000: 130,
    }  # fmt: skip


def test_the_peak_never_goes_below_that_of_the_update():
    resident = estimate(LAYOUT, Plan(batch=1)).resident_bytes
    points = [
        PeakMeasurement(1000, resident + 30 * MIB),
        PeakMeasurement(2000, resident + 90 * MIB),
    ]
    bare = msgspec.structs.replace(LAYOUT, calls=())

    found = calibrated(LAYOUT, Plan(batch=1), points)

    assert found.transient_bytes == estimate(bare, Plan(batch=1)).transient_bytes > 0


def test_a_peak_that_is_only_the_updates_tells_nothing():
    resident = estimate(LAYOUT, Plan(batch=1)).resident_bytes

    with pytest.raises(NotIdentifiable, match="larger batch"):
        calibrated(LAYOUT, Plan(batch=64), [PeakMeasurement(1, resident + 1000)])


def test_too_few_steps_are_no_measurement():
    with pytest.raises(NotIdentifiable, match="5 or more steps"):
        calibrated(LAYOUT, Plan(batch=64), [measured(4096, steps=4)])


def test_of_one_batch_size_the_highest_peak_is_kept_and_steps_add_up():
    held = Measurements()
    for one in (
        PeakMeasurement(8, 100),
        PeakMeasurement(8, 300),
        PeakMeasurement(8, 200),
        PeakMeasurement(16, 50),
    ):
        held = held.with_one("key", one)

    assert held.by_key["key"] == (PeakMeasurement(8, 300, 15), PeakMeasurement(16, 50, 5))
    again = msgspec.json.decode(msgspec.json.encode(held), type=Measurements)
    assert again.by_key == held.by_key


def test_a_key_tells_trainings_apart_that_have_another_law():
    plan = Plan(batch=8)
    other = OptimizerLayout("sgd")
    keys = [
        measurement_key(LAYOUT, plan, "CPU"),
        measurement_key(LAYOUT, plan, "GPU"),
        measurement_key(LAYOUT, Plan(batch=8, optimizer=other), "CPU"),
        measurement_key(LAYOUT, Plan(batch=8, precision="mixed_float16"), "CPU"),
        measurement_key(two_dense(first_is_trained=False), plan, "CPU"),
    ]

    assert len(set(keys)) == len(keys)
    assert measurement_key(LAYOUT, Plan(batch=64), "CPU") == keys[0]
