"""All numbers of a memory map have one basis, whatever was measured and however it is found."""

import pytest

from kmonitor.memory.calibration import PeakMeasurement
from kmonitor.memory.estimate import Plan
from kmonitor.memory.map_result import MapQuestion, MapResult
from kmonitor_agent.wire.messages.model_layout import ModelLayout
from tests.support.made_up_layouts import chain, layer, tensor, two_dense, variable
from tests.support.made_up_maps import convolutions, whole_map

MIB = 2**20


def narrow(depth: int = 40) -> ModelLayout:
    """A deep model whose tensors are all below 256 KiB at a batch of 32."""
    return chain(
        [layer(f"dense{n}", "Dense", n, activation="relu") for n in range(depth)],
        [tensor(1000)] * (depth + 1),
        [variable(f"dense{n}/kernel", 1000, 60) for n in range(depth)],
    )


def check_agrees(result: MapResult, limit_bytes: int) -> None:
    """Rows, curve, largest batch and advice are those of the headline."""
    found = result.found
    assert found is not None
    assert sum(row.total_bytes for row in found.layers) == found.peak_bytes
    assert all(
        min(row.gradient_bytes, row.kept_bytes, row.workspace_bytes) >= 0 for row in found.layers
    )
    curve = {each.batch: each.peak_bytes for each in result.points}
    assert curve[found.batch] == found.peak_bytes
    assert all(
        each.peak_bytes == found.peak_bytes - each.saved_bytes >= 0 for each in result.advice
    )
    assert {curve[found.batch // 2]} >= {
        each.peak_bytes for each in result.advice if each.change == "batch"
    }
    assert result.fit is not None
    likely = result.fit.likely or 0
    assert (likely >= found.batch) == (found.peak_bytes <= limit_bytes)


def answer(layout: ModelLayout, batch: int, measured: list[PeakMeasurement]) -> MapResult:
    first = whole_map(MapQuestion(layout, Plan(batch), measured)).found
    assert first is not None
    question = MapQuestion(
        layout,
        Plan(batch),
        measured,
        first.peak_bytes,
        batches=(batch // 2, 2 * batch),
    )
    return whole_map(question)


def test_a_meter_that_does_not_see_the_models_tensors_corrects_nothing_and_says_why():
    seen = PeakMeasurement(32, int(2.7 * MIB), 5, 2 * MIB, "CPU")

    result = answer(narrow(), 32, [seen])

    found = result.found
    assert found is not None
    assert found.tier == 3
    assert result.measured == ()
    assert "256 KiB" in result.uncorrected
    assert "0.7 MiB of the" in result.uncorrected
    assert found.peak_bytes > 20 * MIB
    check_agrees(result, found.peak_bytes)


def pictures() -> ModelLayout:
    """Convolutions with hardly any weights, whose feature maps are 1 MiB each at a batch of 32."""
    return chain(
        [layer(f"conv{n}", "Conv2D", n, activation="relu") for n in range(8)],
        [tensor(32, 32, 8)] * 9,
        [variable(f"conv{n}/kernel", 3, 3, 8, 8) for n in range(8)],
    )


def test_a_factor_that_is_no_correction_leaves_the_map_as_it_is():
    plain = answer(pictures(), 32, []).found
    assert plain is not None
    seen = PeakMeasurement(32, plain.transient_bytes // 30, 5, 0, "CPU")

    result = answer(pictures(), 32, [seen])

    assert result.found == plain
    assert "256 KiB" in result.uncorrected
    check_agrees(result, plain.peak_bytes)


@pytest.mark.parametrize("device", ["CPU", "NVIDIA A100"])
@pytest.mark.parametrize("factor", [0.6, 1.0, 1.7])
def test_what_can_be_compared_corrects_all_numbers(device: str, factor: float):
    plain = answer(convolutions(), 32, []).found
    assert plain is not None
    took = int(factor * plain.transient_bytes)
    seen = PeakMeasurement(32, plain.resident_bytes + took, 5, plain.resident_bytes, device)

    result = answer(convolutions(), 32, [seen])

    found = result.found
    assert found is not None
    assert found.tier == 2
    assert found.transient_bytes == pytest.approx(took, rel=0.02)
    assert [each.peak_bytes for each in result.measured] == [found.peak_bytes]
    check_agrees(result, found.peak_bytes)


def test_weights_that_a_meter_does_not_count_are_resident_all_the_same():
    layout = two_dense()  # its weights are 400 KiB and 40 KiB, and as much twice again
    plain = answer(layout, 4096, []).found
    assert plain is not None
    counted = 3 * 4 * 100 * 1000
    seen = PeakMeasurement(4096, counted + plain.transient_bytes, 5, counted, "CPU")

    result = answer(layout, 4096, [seen])

    found = result.found
    assert found is not None
    assert found.resident_bytes == plain.resident_bytes
    check_agrees(result, found.peak_bytes)


def test_data_on_the_device_have_a_row():
    seen = PeakMeasurement(1000, 130 * MIB, 5, 100 * MIB, "GPU")

    result = answer(two_dense(), 1000, [seen])

    assert result.found is not None
    beside = {row.path: row.total_bytes for row in result.found.layers}
    assert beside["(other resident memory)"] > 95 * MIB
    check_agrees(result, result.found.peak_bytes)
