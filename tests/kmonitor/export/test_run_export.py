"""A stored run, written out and read back, in each format."""

import csv
import importlib
import io
import json
import math
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kmonitor.base.errors import UserError
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.run_export import (
    ExportCancelled,
    ExportFormat,
    NamedExport,
    RunExport,
    RunsExport,
)
from kmonitor.hub.store.database import DATABASE_NAME
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import MIB, SimulatedAgent

HOSTILE = '=HYPERLINK("x")</script>\x1b[2J\u202e'


@pytest.fixture
def export(live_hub: LiveHub, client: HubClient) -> Iterator[RunExport]:
    """The export of a run with three samples and two epochs."""
    with SimulatedAgent(live_hub.folders, name=HOSTILE) as agent:
        agent.start_fit()
        agent.start_epoch()
        agent.sample(t_s=1.0, ram_bytes=500 * MIB)
        agent.end_epoch(loss=0.5)
        agent.start_epoch()
        agent.sample(t_s=2.0, ram_bytes=501 * MIB)
        agent.end_epoch(loss=math.nan)
        agent.sample(t_s=3.0, ram_bytes=502 * MIB)
        agent.wait_acked()
        (run,) = client.runs()
        yield RunExport(client, run)


def read_csv(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_bytes().decode(), newline="")))


def read_parquet(file: Path) -> tuple[list[dict[str, Any]], Any]:
    table: Any = importlib.import_module("pyarrow.parquet").read_table(file)
    return table.to_pylist(), table.schema


def test_csv_comes_back_as_it_was_stored(export: RunExport, tmp_path: Path):
    told = export.into_file(tmp_path / "run.csv", "csv")

    rows = read_csv(tmp_path / "run.csv")
    assert told.lines == len(rows) == 5
    samples = [row for row in rows if row["type"] == "sample"]
    assert [float(row["ram_bytes"]) / MIB for row in samples] == [500, 501, 502]
    assert {row["device_total_bytes"] for row in rows} == {""}
    assert [row["log:loss"] for row in rows if row["type"] == "epoch_end"] == ["0.5", "nan"]


def test_json_has_every_event_with_the_sources(export: RunExport, tmp_path: Path):
    export.into_file(tmp_path / "run.json", "json")

    events = [json.loads(line) for line in (tmp_path / "run.json").read_text().splitlines()]
    assert events[0]["name"] == HOSTILE
    (sources,) = (event["sources"] for event in events if event["type"] == "sources")
    assert {"no NVIDIA driver on this host", ""} == {source["absent"] for source in sources}


@pytest.mark.parametrize(("format_", "lines"), [("csv", 4), ("json", None)])
def test_an_export_goes_on_past_a_damaged_event_and_names_it(
    live_hub: LiveHub,
    export: RunExport,
    tmp_path: Path,
    format_: ExportFormat,
    lines: int | None,
):
    before = export.into_file(tmp_path / "before", "json").lines
    with closing(sqlite3.connect(live_hub.folders.database / DATABASE_NAME)) as file, file:
        (row,) = file.execute("SELECT max(row) FROM events WHERE kind = 'sample'").fetchone()
        file.execute("UPDATE events SET body = zeroblob(60) WHERE row = ?", (row,))

    told = export.into_file(tmp_path / "run", format_)

    assert told.lines == (before if lines is None else lines)
    assert [each.split(":")[0] for each in told.unreadable] == [f"row {row}"]


@pytest.mark.parquet
def test_parquet_comes_back_with_types_units_and_sources(export: RunExport, tmp_path: Path):
    told = export.into_file(tmp_path / "run.parquet", "parquet")

    rows, schema = read_parquet(tmp_path / "run.parquet")
    assert told.lines == len(rows) == 5
    assert [row["ram_bytes"] for row in rows if row["type"] == "sample"] == [
        500 * MIB,
        501 * MIB,
        502 * MIB,
    ]
    assert {row["device_total_bytes"] for row in rows} == {None}
    losses = [row["log:loss"] for row in rows if row["type"] == "epoch_end"]
    assert losses[0] == 0.5
    assert math.isnan(losses[1])
    assert schema.field("ram_bytes").metadata == {
        b"unit": b"bytes",
        b"source": b"process: /proc/self/statm",
    }
    absent = schema.field("device_total_bytes").metadata[b"absent"]
    assert absent == b"no NVIDIA driver on this host"
    assert schema.metadata[b"name"].decode() == HOSTILE
    assert str(schema.field("step").type) == "int64"


def test_parquet_without_pyarrow_says_the_line_that_installs_it(
    export: RunExport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(UserError) as failure:
        export.into_file(tmp_path / "run.parquet", "parquet")

    assert 'pip install ".[parquet]"' in failure.value.remedy
    assert list(tmp_path.glob("run*")) == []


def test_an_export_that_nobody_wants_any_more_leaves_nothing(
    client: HubClient, export: RunExport, tmp_path: Path
):
    (run,) = client.runs()

    with pytest.raises(ExportCancelled):
        RunExport(client, run, is_cancelled=lambda: True).into_file(tmp_path / "run.csv", "csv")

    assert list(tmp_path.glob("run*")) == []


def test_a_part_of_the_time_is_written_alone(client: HubClient, export: RunExport, tmp_path: Path):
    (run,) = client.runs()

    RunExport(client, run, between=(1.5, 2.5)).into_file(tmp_path / "run.csv", "csv")

    rows = read_csv(tmp_path / "run.csv")
    assert [row["t_s"] for row in rows if row["type"] == "sample"] == ["2.0"]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_several_runs_are_one_file_that_says_whose_each_line_is(
    live_hub: LiveHub, client: HubClient, tmp_path: Path, ending: ExportFormat
):
    with (
        SimulatedAgent(live_hub.folders, name="one") as one,
        SimulatedAgent(live_hub.folders, name="two") as two,
    ):
        for agent in (one, two):
            agent.start_fit()
            agent.start_epoch()
            agent.sample(t_s=1.0)
            agent.sample(t_s=9.0)
            agent.end_epoch(loss=0.5)
            agent.wait_acked()
        first, second = sorted(client.runs(), key=lambda run: run.name)
        everything = NamedExport(first, RunExport(client, first))
        part = NamedExport(second, RunExport(client, second, between=(0.5, 2.0)))
        file = tmp_path / f"runs.{ending}"
        told = RunsExport([everything, part]).into_file(file, ending)

    match ending:
        case "csv":
            rows: list[dict[str, Any]] = list(read_csv(file))
        case "json":
            rows = [json.loads(line) for line in file.read_text().splitlines()]
        case "parquet":
            rows, _ = read_parquet(file)
    samples = [(row["run"], float(row["t_s"])) for row in rows if row["type"] == "sample"]
    assert told.lines == len(rows)
    assert samples == [(first.run, 1.0), (first.run, 9.0), (second.run, 1.0)]
