"""Memory map: its requests, results and displayed state."""

import sys
from dataclasses import replace

import msgspec
import pytest

from kmonitor.memory.calibration import PeakMeasurement
from kmonitor.memory.estimate import MemoryMap, Plan, estimate
from kmonitor.memory.what_if import BatchFit
from kmonitor.ui.memory.batch_curve import batch_curve, batch_fit_summary, peak_reduction_rows
from kmonitor.ui.memory.layers import MAP_COLUMNS, PARTS, map_rows, map_tiles, parts_legend
from kmonitor.ui.memory.map_estimator import MapEstimator, map_page_state
from kmonitor.ui.memory.subjects import MapSubject, MeasuredPeak, SizedLayout
from kmonitor.ui.memory.totals import map_totals_state
from kmonitor.ui.memory.what_if import GIB, batch_choices, what_if_controls_state
from kmonitor_agent.wire.messages.model_layout import ModelLayout
from tests.support.made_up_maps import convolutions, file_subject

MIB = 2**20


def desk_of(subject: MapSubject) -> MapEstimator:
    desk = MapEstimator()
    desk.show(subject)
    desk.finish()
    return desk


def bare(layout: ModelLayout) -> MapSubject:
    return MapSubject(key="m", title="m", kind="run", sizes=(SizedLayout("", layout),))


def test_the_map_is_there_at_once_and_the_rest_a_little_later():
    desk = MapEstimator()

    desk.show(file_subject(limit_bytes=8 * GIB))

    assert desk.map_estimate.found == estimate(convolutions(128), Plan(batch=32))
    assert not desk.map_estimate.is_whole
    desk.finish()
    assert desk.map_estimate.is_whole
    assert desk.map_estimate.fit is not None
    assert [p.batch for p in desk.map_estimate.points] == sorted(
        {p.batch for p in desk.map_estimate.points}
    )
    assert desk.map_estimate.advice


def test_a_choice_waits_for_one_estimate_and_a_step_for_two_at_most(
    monkeypatch: pytest.MonkeyPatch,
):
    estimates = counted_estimates(monkeypatch)
    desk = MapEstimator()
    desk.show(bare(convolutions(64, blocks=5, repeats=13)))

    for batch in (16, 48, 96):
        estimates.clear()
        desk.choose(batch=batch)
        assert len(estimates) == 1
        assert desk.map_estimate.found is not None
        assert not desk.map_estimate.is_whole

    while estimates.clear() or desk.step():
        assert len(estimates) <= 2
    assert desk.map_estimate.is_whole


def counted_estimates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has a batch more for each estimate that is worked out from now on."""
    found: list[int] = []

    def counted(layout: ModelLayout, plan: Plan) -> MemoryMap:
        found.append(plan.batch)
        return estimate(layout, plan)

    for name, module in list(sys.modules.items()):
        if name.startswith("kmonitor.") and getattr(module, "estimate", None) is estimate:
            monkeypatch.setattr(module, "estimate", counted)
    return found


def test_what_is_asked_changes_the_answer_and_can_be_taken_back():
    desk = desk_of(file_subject())
    before = desk.map_estimate.found
    assert before is not None

    desk.choose(batch=64, optimizer="sgd", precision="mixed_float16", backend="torch", size=0)
    changed = desk.map_estimate.found

    assert changed is not None
    assert (changed.batch, changed.optimizer, changed.backend) == (64, "sgd", "torch")
    assert changed.precision == "mixed_float16"
    desk.reset()
    assert desk.map_estimate.found == before


def test_a_run_that_changes_its_batch_is_followed_unless_another_was_asked_about():
    desk = desk_of(file_subject(batch=32))

    desk.show(file_subject(batch=48))
    assert desk.what_if.batch == 48
    desk.choose(batch=8)
    desk.show(file_subject(batch=64))
    assert desk.what_if.batch == 8


def test_sizes_that_come_later_leave_what_was_asked():
    whole = file_subject()
    desk = desk_of(replace(whole, sizes=whole.sizes[1:2], own=0))
    desk.choose(batch=8, optimizer="sgd")

    desk.show(whole)

    assert (desk.what_if.batch, desk.what_if.optimizer, desk.what_if.size) == (8, "sgd", 1)


def test_the_same_subject_again_is_no_work():
    desk = desk_of(file_subject())

    assert not desk.show(file_subject())
    assert not desk.step()


def test_measured_batches_narrow_the_interval_of_this_training_only():
    plain = desk_of(file_subject()).map_estimate.found
    assert plain is not None
    measured = (PeakMeasurement(32, plain.peak_bytes + 100 * MIB),)
    desk = desk_of(file_subject(measured=measured))

    assert desk.map_estimate.found is not None
    assert desk.map_estimate.found.tier == 2
    desk.choose(optimizer="sgd")
    assert desk.map_estimate.found.tier == 3
    assert "a different training" in desk.map_estimate.uncorrected


def test_what_tells_nothing_of_feature_maps_is_said():
    desk = desk_of(file_subject(measured=(PeakMeasurement(32, 100, steps=1),)))

    assert desk.map_estimate.found is not None
    assert desk.map_estimate.found.tier == 3
    assert desk.map_estimate.uncorrected


def test_an_open_length_is_told_instead_of_a_map():
    layout = convolutions(128)
    first = msgspec.structs.replace(layout.tensors[0], shape=(None, None, 128, 3))
    opened = msgspec.structs.replace(layout, tensors=(first, *layout.tensors[1:]))

    desk = desk_of(bare(opened))

    assert desk.map_estimate.found is None
    assert "(?, ?, 128, 3)" in desk.map_estimate.why_not
    assert not map_page_state(desk).is_filled


def test_without_a_model_the_page_says_why():
    none = MapSubject(key="r", title="r", kind="run", why_none="not told", remedy="wait")

    desk = desk_of(none)
    page = map_page_state(desk)

    assert (page.is_filled, page.text, page.remedy, page.has_device) == (
        False, "not told", "wait", True,
    )  # fmt: skip
    assert what_if_controls_state(desk.subject, desk.what_if) is None
    assert map_page_state(MapEstimator()).text == "No run is selected."


def test_a_file_has_no_device_and_a_run_no_file():
    assert not map_page_state(desk_of(file_subject())).has_device
    assert map_page_state(desk_of(file_subject())).has_file
    assert not map_page_state(desk_of(bare(convolutions()))).has_file


def test_totals_tell_resident_transient_tier_interval_and_what_was_measured():
    subject = file_subject(
        measured_peak=MeasuredPeak(700 * MIB, "the allocator"), limit_bytes=8 * GIB
    )
    desk = desk_of(subject)
    assert desk.map_estimate.found is not None

    picture = map_totals_state(desk.map_estimate, subject, 8 * GIB)

    assert "resident" in picture.interval
    assert "transient" in picture.interval
    assert "between" in picture.interval
    assert picture.tier.startswith("Tier 3")
    assert picture.measured.startswith("Measured: 700")
    assert "the allocator" in picture.measured
    assert any("SpatialGate" in note for note in picture.notes)
    whole = sum(part.n_bytes for part in picture.parts)
    assert whole == pytest.approx(desk.map_estimate.found.peak_bytes)
    assert [mark.title for mark in picture.marks] == ["measured", "limit"]
    assert picture.span == (desk.map_estimate.found.low_bytes, desk.map_estimate.found.high_bytes)


def test_only_of_a_file_it_is_said_that_nothing_ran():
    of_file, of_run = file_subject(), replace(file_subject(), kind="run")
    found = desk_of(of_file).map_estimate.found
    assert found is not None

    told = [map_totals_state(desk_of(each).map_estimate, each, None) for each in (of_file, of_run)]

    assert "nothing measured" in told[0].tier
    assert "nothing was run" in told[0].tier_tooltip
    assert told[1].tier == "Tier 3 \u00b7 not corrected by measurements"
    assert "nothing was run" not in told[1].tier_tooltip


def test_a_model_too_small_for_what_counts_has_no_measured_mark():
    source = "tensorflow allocator, CPU:0 peak (tensors of 256 KiB or more)"
    subject = file_subject(measured_peak=MeasuredPeak(0, source, 16))
    desk = desk_of(subject)
    assert desk.map_estimate.found is not None

    picture = map_totals_state(desk.map_estimate, subject, None)

    assert (
        picture.measured == f"Measured: the allocator counted nothing at batch size 16 ({source})"
    )
    assert picture.marks == ()


def test_where_connections_are_not_known_no_peak_is_claimed():
    subject = bare(msgspec.structs.replace(convolutions(), calls=(), why_no_calls="not told"))
    desk = desk_of(subject)
    assert desk.map_estimate.found is not None

    picture = map_totals_state(desk.map_estimate, subject, None)

    assert picture.peak.startswith("\u2265")
    assert "unknown" in picture.interval
    assert "Not told" in picture.notes
    table = map_rows(desk.map_estimate.found, has_calls=False)
    assert any("unknown" in row.cells[-1] for row in table)
    assert batch_curve(desk).line == ()
    assert "not known" in batch_curve(desk).text


def test_tiles_hold_what_is_nested_and_fill_the_width():
    found = desk_of(file_subject()).map_estimate.found
    assert found is not None

    made = map_tiles(found)

    layers = [tile for tile in made if tile.parts]
    assert made[0].label == "the whole model"
    assert (made[0].start, made[0].end) == (0.0, 1.0)
    assert sum(tile.end - tile.start for tile in layers) == pytest.approx(1.0)
    block = next(tile for tile in made if tile.path == "encoder/block1")
    inside = [tile for tile in layers if tile.path.startswith("encoder/block1/")]
    assert all(block.start <= tile.start and tile.end <= block.end + 1e-9 for tile in inside)
    assert all(len(tile.parts) == len(PARTS) for tile in layers)
    assert map_tiles(msgspec.structs.replace(found, layers=())) == ()


def test_what_no_rule_covers_is_hatched():
    layout = convolutions(128)
    layers = tuple(
        msgspec.structs.replace(each, kind="Mystery") if each.path == "classes" else each
        for each in layout.layers
    )

    found = estimate(msgspec.structs.replace(layout, layers=layers), Plan(batch=32))

    hatched = [tile.path for tile in map_tiles(found) if tile.is_hatched]
    assert hatched == ["classes"]


def test_rows_mark_shared_frozen_and_uncovered_layers():
    found = desk_of(file_subject()).map_estimate.found
    assert found is not None

    by_path = {row.path: row for row in map_rows(found, has_calls=True)}

    assert "used 2 times" in by_path["shared"].cells[-1]
    assert by_path["encoder/block1/conv1"].cells[-1] == "frozen"
    assert by_path["gate"].tone == "warn"
    assert "no rule covers" in by_path["gate"].cells[-1]


@pytest.mark.parametrize("by", [key for key in MAP_COLUMNS if key != "layer"])
def test_rows_are_sorted_by_any_column(by: str):
    found = desk_of(file_subject()).map_estimate.found
    assert found is not None
    at = MAP_COLUMNS.index(by)

    made = map_rows(found, has_calls=True, by=by)

    if by in ("kind", "note"):
        assert [row.cells[at] for row in made] == sorted(row.cells[at] for row in made)
    else:
        assert [row.values[at] for row in made] == sorted(
            (row.values[at] for row in made), reverse=True
        )


def test_the_curve_has_the_limit_the_batch_and_what_was_measured():
    subject = file_subject(
        measured=(PeakMeasurement(32, 900 * MIB), PeakMeasurement(4096, 9 * GIB)),
        limit_bytes=2 * GIB,
    )
    curve = batch_curve(desk_of(subject))

    assert curve.limit is not None
    assert 0 < curve.limit < 1
    assert len(curve.line) > 5
    assert len(curve.measured) == 1
    assert curve.batch is not None
    assert curve.text.startswith("With 2")
    assert curve.description.endswith(curve.text)


def test_without_a_device_it_is_asked_for():
    desk = desk_of(file_subject())

    assert batch_curve(desk).limit is None
    assert batch_curve(desk).text.startswith("Choose a device")


@pytest.mark.parametrize(
    ("fit", "words", "tone"),
    [
        (BatchFit(None, None), "Not even", "crit"),
        (BatchFit(None, 7), "none fits according to its upper bound", "warn"),
        (BatchFit(3, 7), "a batch size of 7 fits according to the estimate, and 3", "plain"),
        (None, "", "mute"),
    ],
)
def test_what_fits_is_said(fit: BatchFit | None, words: str, tone: str):
    text, told = batch_fit_summary(fit, GIB)

    assert words in text
    assert told == tone


def test_advice_is_sorted_by_what_it_saves_and_knows_smaller_inputs():
    desk = desk_of(file_subject())

    saved = [each.saved_bytes for each in desk.map_estimate.advice]
    lines = peak_reduction_rows(desk.map_estimate.advice)

    assert saved == sorted(saved, reverse=True)
    assert any(line.text == "inputs of 64 \u00d7 64 \u00d7 3" for line in lines)
    assert lines[0].saved.startswith("\u2212")


def test_the_controls_name_the_trainings_own():
    desk = desk_of(file_subject(batch=20))
    picture = what_if_controls_state(desk.subject, desk.what_if)
    assert picture is not None

    assert picture.batches[picture.batch] == "20 (original)"
    assert picture.sizes[picture.size] == "128 \u00d7 128 \u00d7 3 (original)"
    assert picture.menus["optimizer"][""] == "Adam (original)"
    assert "adam" not in picture.menus["optimizer"]
    assert not picture.can_reset
    desk.choose(precision="bfloat16")
    changed = what_if_controls_state(desk.subject, desk.what_if)
    assert changed is not None
    assert changed.can_reset


def test_one_size_says_why_there_is_no_other():
    subject = replace(bare(convolutions()), why_one_size="told for one size")
    picture = what_if_controls_state(subject, desk_of(subject).what_if)

    assert picture is not None
    assert picture.size_why == "told for one size"
    assert 32 in batch_choices(subject)
    assert len(parts_legend()) == len(PARTS)
