"""Model descriptions from the events of runs."""

from dataclasses import replace as replace_subject
from typing import Any

import pytest
from msgspec.structs import replace

from kmonitor.memory.estimate import Plan, estimate
from kmonitor.ui.memory.map_estimator import MapEstimator
from kmonitor.ui.memory.model_store import ModelStore
from kmonitor.ui.memory.run_subject import run_device_split, run_subject, with_measured
from kmonitor.ui.memory.subjects import MapSubject
from kmonitor.ui.memory.what_if import what_if_controls_state
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.messages.events import Event, FitStarted, LayoutPart, Sample, StepPeak
from kmonitor_agent.wire.messages.model_layout import encode_layout
from kmonitor_agent.wire.messages.unions import MetricReading, RowsReply
from tests.support.made_up_layouts import chain, layer, tensor, variable
from tests.support.made_up_maps import file_subject, told_layout, told_model
from tests.support.made_up_runs import GIB, HUB, made_up_row, made_up_run, told_hub, told_runs


def test_weights_and_slots_are_those_that_were_told():
    book = ModelStore()
    facts = told_model()

    book.apply_event("run1", facts)

    layout = book.layout("run1")
    assert layout is not None
    found = estimate(layout, Plan(batch=1))
    assert found.parameter_bytes == sum(each.parameter_bytes for each in facts.layers)
    assert found.slot_bytes == facts.slot_bytes
    assert found.high_bytes is None
    assert [row.path for row in found.layers if row.is_frozen] == ["encoder/conv2"]


def test_a_model_in_parts_is_there_with_the_last_of_them():
    book = ModelStore()
    facts = told_model()

    book.apply_event("run1", replace(facts, part_count=2, layers=facts.layers[:2]))
    assert book.layout("run1") is None
    book.apply_event("run1", replace(facts, part_count=2, part=2, layers=facts.layers[2:]))

    layout = book.layout("run1")
    assert layout is not None
    assert len(layout.layers) == len(facts.layers)


def test_the_newest_fit_counts():
    book = ModelStore()

    book.apply_event("run1", told_model(fit=2))
    book.apply_event("run1", replace(told_model(fit=1), name="older"))
    book.apply_event("run2", replace(told_model(), optimizer="", slots=[]))
    book.apply_event("run3", replace(told_model(), slots=[]))

    layouts = [book.layout(run) for run in ("run1", "run2", "run3", "run4")]
    assert [each.name if each else None for each in layouts] == [
        "resnet50", "resnet50", "resnet50", None,
    ]  # fmt: skip
    assert layouts[1] is not None
    assert layouts[1].optimizer is None
    book.apply_event("run1", replace(told_model(fit=3), name="newer"))
    newest = book.layout("run1")
    assert newest is not None
    assert newest.name == "newer"
    book.forget(["run1"])
    assert book.layout("run1") is None


def desk_with(**changed: Any) -> Workspace:
    desk = Workspace(clock=SystemClock(), user="me")
    desk.attach_hub(lambda _message: 0)
    desk.connected(told_hub())
    desk.apply_message(told_runs(made_up_run(**changed)))
    return desk


def test_a_run_is_the_subject_with_its_batch_limit_and_model():
    desk = desk_with(batch_size=48)
    events = (told_model(), Sample(t_s=2.0, allocator_in_use_bytes=GIB))
    rows = [made_up_row(1001 + n, event) for n, event in enumerate(events)]
    desk.apply_message(RowsReply(request_id=-1, hub=HUB, cursor=1, rows=rows, more=False, head=1))
    run = desk.run_store.current()
    assert run is not None

    subject = run_subject(desk, run)

    assert (subject.batch, subject.limit_bytes) == (48, 80 * GIB)
    assert subject.sizes[0].layout.backend == "tensorflow"
    shown = MapEstimator()
    shown.show(subject)
    assert "from the model's variables" in run_device_split(desk, run, shown).rows[0].source


def test_a_run_without_a_model_says_why():
    living = desk_with(vram=MetricReading())
    ended = desk_with(state="finished")

    for desk, words in ((living, "has not reported its model yet"), (ended, "ended before")):
        run = desk.run_store.current()
        assert run is not None
        subject = run_subject(desk, run)
        assert words in subject.why_none
        assert subject.sizes == ()
    run = living.run_store.current()
    assert run is not None
    assert run_subject(living, run).limit_bytes is None
    rows = run_device_split(living, run, MapEstimator()).rows
    assert all(not row.text for row in rows)


def tell(desk: Workspace, *events: Event, run: str = "run1") -> None:
    rows = [made_up_row(2001 + n, event, run) for n, event in enumerate(events)]
    desk.apply_message(RowsReply(request_id=-1, hub=HUB, cursor=1, rows=rows, more=False, head=1))


def test_a_run_that_told_its_connections_and_first_steps_is_of_tier_two():
    desk = desk_with(batch_size=32)
    in_use = Sample(t_s=2.0, allocator_in_use_bytes=GIB)
    tell(desk, told_model(), *told_layout(), in_use)
    run = desk.run_store.current()
    assert run is not None

    subject = run_subject(desk, run)

    shown = MapEstimator()
    shown.show(subject)
    assert shown.map_estimate.found is not None
    assert shown.map_estimate.found.tier == 2
    assert "NVIDIA A100" in subject.measured_peak.source
    assert "first 5 steps" in subject.measured_peak.source
    assert "measured between steps" in run_device_split(desk, run, shown).rows[0].source
    assert shown.map_estimate.found.peak_bytes == pytest.approx(
        subject.measured_peak.peak_bytes, rel=0.01
    )


def test_a_second_batch_size_and_another_run_of_the_same_model_make_it_tier_one():
    desk = desk_with(batch_size=32)
    tell(desk, *told_layout())
    tell(desk, *told_layout(batch=64), run="run2")
    run = desk.run_store.current()
    assert run is not None

    subject = run_subject(desk, run)

    assert [each.batch for each in subject.measured] == [32, 64]
    shown = MapEstimator()
    shown.show(subject)
    assert shown.map_estimate.found is not None
    assert shown.map_estimate.found.tier == 1
    desk.models.forget(["run2"])
    assert [each.batch for each in run_subject(desk, run).measured] == [32]


def test_a_file_of_the_same_model_is_corrected_by_the_run():
    desk = desk_with()
    tell(desk, *told_layout())

    subject = with_measured(desk, file_subject())

    assert [each.batch for each in subject.measured] == [32]
    assert with_measured(desk, replace_subject(subject, sizes=())).sizes == ()


def tell_tokens(desk: Workspace, then: str, length: int | None = None) -> MapSubject:
    """A run of a model on sequences of any length, and what five steps of it took."""
    tell(desk, FitStarted(0.0, 1, "m", batch_size=32, sequence_length=length))
    told = chain(
        [layer("embed", "Embedding", 0), layer("then", then)],
        [tensor(None, dtype="int32"), tensor(None, 8), tensor(None, 8)],
        [variable("embed/embeddings", 100, 8)],
    )
    body = encode_layout(told)
    tell(desk, LayoutPart(1.0, 1, 1, 1, body), StepPeak(2.0, 1, 32, 5, 9e9, 1e6, "GPU"))
    run = desk.run_store.current()
    assert run is not None
    return run_subject(desk, run)


def test_a_run_that_leaves_its_length_open_offers_lengths_and_says_what_it_did_not_tell():
    subject = tell_tokens(desk_with(), "Dropout")

    shown = MapEstimator()
    shown.show(subject)
    assert shown.map_estimate.found is not None
    assert shown.map_estimate.found.tier == 3
    assert "length" in shown.map_estimate.uncorrected
    assert subject.measured_peak.peak_bytes == 9e9
    controls = what_if_controls_state(shown.subject, shown.what_if)
    assert controls is not None
    assert controls.size_title == "Sequence length"
    assert controls.sizes[controls.size] == "128"


def test_a_run_that_told_how_long_its_data_were_is_corrected_by_its_steps():
    shown = MapEstimator()

    shown.show(tell_tokens(desk_with(), "Dropout", 48))

    assert shown.map_estimate.found is not None
    assert shown.map_estimate.found.tier == 2


def test_a_layer_that_may_change_an_open_length_needs_the_models_file():
    subject = tell_tokens(desk_with(), "Conv1D")

    assert subject.sizes == ()
    assert "has a variable-length input" in subject.why_none
    assert "file" in subject.remedy


def test_a_batch_that_the_summary_lacks_is_that_of_the_steps():
    desk = desk_with(batch_size=None)
    tell(desk, *told_layout(batch=48))
    run = desk.run_store.current()
    assert run is not None

    assert run_subject(desk, run).batch == 48
