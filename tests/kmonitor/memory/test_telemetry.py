"""The memory of a run's fits, from its events."""

import msgspec
import pytest

from kmonitor.memory.calibration import (
    Calibration,
    PeakMeasurement,
    fit_memories,
    measurements_of,
    usable_measurements,
)
from kmonitor.memory.estimate import Plan, estimate
from kmonitor_agent.wire.messages.events import FitStarted, LayoutPart, StepPeak
from kmonitor_agent.wire.messages.model_layout import ModelLayout, encode_layout, join_layout_parts
from tests.support.made_up_layouts import two_dense

LAYOUT = two_dense()
MIB = 2**20


def parts_of(layout: ModelLayout, fit: int, size: int = 100) -> list[LayoutPart]:
    """A layout as events, in small pieces."""
    body = encode_layout(layout)
    pieces = [body[n : n + size] for n in range(0, len(body), size)]
    return [LayoutPart(0.0, fit, n + 1, len(pieces), each) for n, each in enumerate(pieces)]


def peak(fit: int, batch: int, peak_mib: int = 100, device: str = "GPU") -> StepPeak:
    """The first five steps of a fit."""
    return StepPeak(1.0, fit, batch, 5, peak_mib * MIB, 2 * MIB, device)


def started(fit: int, batch: int | None) -> FitStarted:
    """The begin of a fit."""
    return FitStarted(0.0, fit, "model", batch_size=batch)


def test_a_layout_comes_back_from_its_parts_in_any_order():
    parts = parts_of(LAYOUT, 1)

    assert len(parts) > 2
    assert join_layout_parts(reversed(parts)) == LAYOUT


@pytest.mark.parametrize("what", ["missing", "damaged", "none", "cut", "other"])
def test_a_layout_that_is_not_whole_is_none(what: str):
    parts = parts_of(LAYOUT, 1)
    whole = LayoutPart(0.0, 1, 1, 1, encode_layout(LAYOUT))
    given = {
        "missing": parts[1:],
        "damaged": [msgspec.structs.replace(parts[0], body=b"x" * 100), *parts[1:]],
        "none": [],
        "cut": [msgspec.structs.replace(whole, body=whole.body[:-9])],
        "other": [msgspec.structs.replace(whole, body=b"x")],
    }

    assert join_layout_parts(given[what]) is None


def test_a_fit_of_the_same_model_has_the_layout_that_was_told_before():
    events = [started(1, 8), *parts_of(LAYOUT, 1), peak(1, 8), started(2, 16), peak(2, 16)]

    found = fit_memories(events)

    assert [(each.fit, each.batch, each.layout) for each in found] == [
        (1, 8, LAYOUT),
        (2, 16, LAYOUT),
    ]
    assert found[0].peak_measurement == PeakMeasurement(8, 100 * MIB, 5, 2 * MIB, "GPU")


def test_a_fit_without_a_layout_is_none():
    assert fit_memories([started(1, 8), peak(1, 8)]) == ()


def test_measurements_are_found_by_model_and_device_whatever_its_layers_are_called():
    renamed = msgspec.structs.replace(
        LAYOUT,
        layers=tuple(msgspec.structs.replace(e, path=f"{e.path}_7") for e in LAYOUT.layers),
        variables=tuple(msgspec.structs.replace(e, path=f"x/{e.path}") for e in LAYOUT.variables),
    )
    other = two_dense("SGD")
    fits = [
        *fit_memories([*parts_of(LAYOUT, 1), peak(1, 8), peak(2, 16), peak(3, 8, device="CPU")]),
        *fit_memories([*parts_of(other, 1), peak(1, 64)]),
    ]

    known = measurements_of(fits)

    assert [each.batch for each in known.of(renamed, Plan(1))] == [8]
    assert known.of(renamed, Plan(1))[0].device == "CPU"
    assert [each.batch for each in known.of(other, Plan(1))] == [64]
    assert known.of(LAYOUT, Plan(1, precision="mixed_float16")) == ()


def test_what_stays_between_steps_is_taken_as_measured():
    one = PeakMeasurement(4096, 90 * MIB, 5, 30 * MIB, "GPU")

    found = Calibration(LAYOUT, Plan(1), [one]).at(4096)

    assert (found.resident_bytes, found.peak_bytes) == (30 * MIB, 90 * MIB)
    assert "data on the device" in found.notes[-1]
    assert "GPU" in found.method


def test_what_the_meter_of_a_cpu_does_not_see_is_not_foretold():
    # Outputs of a thousand values are below 256 KiB for 65 examples, and above for 66.
    low, high = (estimate(LAYOUT, Plan(n, unseen_bytes=256 * 1024)) for n in (65, 66))

    assert estimate(LAYOUT, Plan(65)).activation_bytes > 65 * 4000
    assert low.activation_bytes == 0
    assert high.activation_bytes == 66 * 4000


def test_a_part_smaller_than_the_rules_say_is_only_half_believed():
    told = [estimate(LAYOUT, Plan(n)).transient_bytes for n in (4096, 16384)]
    resident = estimate(LAYOUT, Plan(1)).resident_bytes

    found = Calibration(LAYOUT, Plan(1), [PeakMeasurement(4096, resident + told[0] // 4)]).at(
        16384
    )

    assert found.transient_bytes == pytest.approx(told[0] / 4 + (told[1] - told[0]) / 2, rel=1e-3)


def test_what_tells_nothing_is_passed_over():
    assert usable_measurements(LAYOUT, Plan(64), [PeakMeasurement(1, 1)]) == ()
    assert usable_measurements(LAYOUT, Plan(64), []) == ()
