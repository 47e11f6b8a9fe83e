"""Metrics of runs: as they are known, absent where they are not, and bounded."""

import math
import re
from collections.abc import Iterator

import pytest

from kmonitor.base.installation import resource_path
from kmonitor.hub.metrics import metric_table
from kmonitor.hub.metrics.metric_values import STALE_S
from kmonitor.hub.metrics.snapshot import MOST_LOGS, MOST_RUNS, RunMetricsStore
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    EpochEnded,
    FieldSource,
    FieldSources,
    FitStarted,
    Footprint,
    Sample,
    SessionEnded,
)
from tests.support.hub_figures import snapshot, told
from tests.support.hub_parts import HubParts
from tests.support.hub_parts import parts as parts  # noqa: PLC0414 - a fixture

MIB = 2.0**20


@pytest.fixture
def book(parts: HubParts) -> Iterator[RunMetricsStore]:
    """Hears what the log takes."""
    book = RunMetricsStore()
    parts.event_log.listeners.append(book.on_event)
    yield book
    parts.event_log.listeners.clear()


def run_of(parts: HubParts, **sample: float) -> RunRecord:
    record = parts.started_run(pid=1)
    parts.take(record, FitStarted(t_s=0.0, fit=1, model="net", epochs=3))
    if sample:
        parts.take(record, Sample(t_s=1.0, fit=1, **sample))  # type: ignore[arg-type]
    return record


def reclaim(action: str, *, ok: bool = True, freed: float = 0.0) -> ActionRecord:
    return ActionRecord(
        t_s=2.0,
        action=action,  # type: ignore[arg-type]
        ok=ok,
        requested_by="script",
        fit=1,
        epoch=0,
        seconds=0.5,
        before=Footprint(ram_process_bytes=100 * MIB),
        after=Footprint(ram_process_bytes=100 * MIB - freed),
    )


def test_each_reading_is_told_in_its_unit_with_its_source(parts: HubParts, book: RunMetricsStore):
    record = run_of(parts)
    source = FieldSource(field="vram_bytes", unit="bytes", source="TensorFlow allocator, GPU:0")
    parts.take(
        record,
        FieldSources(t_s=1.0, sources=[source]),
        Sample(t_s=1.0, ram_process_bytes=5 * MIB, ram_unique_bytes=4 * MIB, vram_bytes=3 * MIB),
    )

    found = told(snapshot(book, [record]))
    assert found["kmonitor_run_process_bytes", "net"] == 5 * MIB
    assert found["kmonitor_run_unique_bytes", "net"] == 4 * MIB
    assert found["kmonitor_run_vram_bytes", "net", "TensorFlow allocator, GPU:0"] == 3 * MIB
    assert found["kmonitor_run_state", "net", "training"] == 1


def test_what_was_not_read_is_absent_and_never_nothing(parts: HubParts, book: RunMetricsStore):
    found = told(snapshot(book, [run_of(parts, ram_bytes=1.0)]))

    names = {labels[0] for labels in found if labels[0].startswith("kmonitor_run_")}
    assert "kmonitor_run_ram_bytes" in names
    for name in ("resident_bytes", "vram_bytes", "graph_operations", "step_time_seconds", "log"):
        assert f"kmonitor_run_{name}" not in names


def test_a_silent_run_has_no_readings_any_more(parts: HubParts, book: RunMetricsStore):
    record = run_of(parts, ram_bytes=1.0, ram_process_bytes=1.0)
    record.liveness = "silent"

    found = told(snapshot(book, [record]))
    assert found["kmonitor_run_state", "net", "silent"] == 1
    assert not [labels for labels in found if labels[0].endswith("_bytes") and "net" in labels]


def test_a_run_that_ended_leaves_and_its_reclaims_stay_counted(
    parts: HubParts, book: RunMetricsStore
):
    record = run_of(parts, ram_bytes=1.0)
    parts.take(record, reclaim("reload", freed=MIB), SessionEnded(t_s=3.0, why="finished"))

    found = told(snapshot(book, [record]))
    assert not [labels for labels in found if "net" in labels]
    assert found["kmonitor_runs", "finished"] == 1
    assert found["kmonitor_reclaims_total", "reload", "done"] == 1
    assert book.by_run == {}


def test_reclaims_are_counted_from_nothing_on(parts: HubParts, book: RunMetricsStore):
    record = run_of(parts)

    assert (
        told(snapshot(book, [record]))["kmonitor_run_reclaims_total", "net", "reload", "done"] == 0
    )
    parts.take(
        record, reclaim("reload", freed=3 * MIB), reclaim("reload", ok=False), reclaim("save")
    )

    found = told(snapshot(book, [record]))
    assert found["kmonitor_run_reclaims_total", "net", "reload", "done"] == 1
    assert found["kmonitor_run_reclaims_total", "net", "reload", "failed"] == 1
    assert found["kmonitor_run_reclaimed_bytes_total", "net"] == 3 * MIB
    assert found["kmonitor_run_reclaim_seconds_total", "net"] == 1.0
    assert not [labels for labels in found if "save" in labels]


def test_logs_are_those_of_the_last_epoch_up_to_a_number(parts: HubParts, book: RunMetricsStore):
    record = run_of(parts)
    logs = {f"metric{n}": float(n) for n in range(MOST_LOGS + 5)} | {"metric0": math.nan}
    parts.take(record, EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=1.0, logs=logs))

    found = told(snapshot(book, [record]))
    assert len([labels for labels in found if labels[0] == "kmonitor_run_log"]) == MOST_LOGS
    assert found["kmonitor_run_logs_left_out", "net"] == 5
    assert math.isnan(found["kmonitor_run_log", "net", "metric0"])


def test_runs_beyond_the_bound_are_left_out_and_counted(parts: HubParts, book: RunMetricsStore):
    records = [parts.started_run(pid=1, started_wall_s=1.8e9 + n) for n in range(MOST_RUNS + 3)]
    parts.event_log.registry.mark_changed(records[0])  # what changes does not push others out

    found = snapshot(book, parts.event_log.registry.all())
    assert {run.run for run in found.runs} == {record.run for record in records[3:]}
    assert told(found)["kmonitor_runs_left_out",] == 3


def test_what_a_hub_that_hangs_knew_of_its_runs_is_not_told_for_ever(
    parts: HubParts, book: RunMetricsStore
):
    found = snapshot(book, [run_of(parts, ram_bytes=1.0)])

    late = told(found, found.taken_at_s + STALE_S + 1)
    assert late["kmonitor_hub_snapshot_timestamp_seconds",] == found.hub.wall_s
    assert not [labels for labels in late if "net" in labels]


def test_names_are_as_prometheus_wants_them():
    names = [figure.exposed for figure in metric_table.METRICS]

    assert len(set(names)) == len(names) > 40
    for figure in metric_table.METRICS:
        assert re.fullmatch(r"kmonitor_[a-z]+(_[a-z]+)*", figure.exposed)
        assert figure.about
        assert figure.source
        suffix = {"By": "_bytes", "s": "_seconds", "1": "_ratio", "Cel": "_celsius"}.get(
            figure.unit
        )
        assert suffix is None or figure.name.endswith(suffix)


@pytest.mark.parametrize("language", ["", "zh_CN"])
def test_every_figure_is_in_the_guide(language: str):
    page = resource_path("guide", language, "exported-metrics.md").read_text(encoding="utf-8")

    assert [each.exposed for each in metric_table.METRICS if f"`{each.exposed}`" not in page] == []
