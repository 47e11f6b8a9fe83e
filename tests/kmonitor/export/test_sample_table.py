import csv
import io
from collections.abc import Sequence

import msgspec

from kmonitor.export.events import decode_row, event_object
from kmonitor.export.table_formats import (
    Line,
    TableColumn,
    TableLines,
    table_columns,
    write_csv,
)
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import (
    DeviceSample,
    EpochEnded,
    Event,
    FieldSource,
    Sample,
    StepTimes,
)
from kmonitor_agent.wire.messages.unions import EventRow
from kmonitor_agent.wire.text import printable


def lines_of(columns: Sequence[TableColumn], *events: Event) -> list[Line]:
    table = TableLines(columns)
    rows = [
        EventRow(row=n, run="r", seq=n, t_s=100.0 + n, body=encode_event(event))
        for n, event in enumerate(events, 1)
    ]
    read = [(row, decode_row(row)) for row in rows]
    return [table.line(row, ev) for row, ev in read if isinstance(ev, Sample | EpochEnded)]


def rows_of(*events: Event, logs: tuple[str, ...] = ()) -> list[dict[str, str]]:
    file = io.StringIO()
    columns = table_columns(logs, [])
    assert write_csv(columns, lines_of(columns, *events), file) == len(events)
    return list(csv.DictReader(io.StringIO(file.getvalue(), newline="")))


def test_samples_and_epochs_share_one_table():
    times = StepTimes(count=3, mean_s=0.1, p50_s=0.1, p95_s=0.1, p99_s=0.1, max_s=0.2)
    sample, epoch = rows_of(
        Sample(t_s=1.0, fit=1, epoch=0, step=2, ram_bytes=5.0),
        EpochEnded(t_s=2.0, fit=1, epoch=0, seconds=3.0, logs={"loss": 0.5}, step_times=times),
        logs=("loss",),
    )

    assert (sample["type"], sample["ram_bytes"], sample["step"]) == ("sample", "5.0", "2")
    assert (epoch["type"], epoch["log:loss"], epoch["step_times.p50_s"]) == (
        "epoch_end",
        "0.5",
        "0.1",
    )


def test_time_is_the_runs_not_the_processes():
    (sample,) = rows_of(Sample(t_s=1.0))

    assert sample["t_s"] == "101.0"


def test_what_was_not_read_is_an_empty_cell():
    (sample,) = rows_of(Sample(t_s=1.0))

    assert sample["device_total_bytes"] == ""
    assert sample["seconds"] == ""


def test_a_zero_that_was_read_is_a_zero():
    (sample,) = rows_of(Sample(t_s=1.0, vram_bytes=0.0))

    assert sample["vram_bytes"] == "0.0"


def test_columns_do_not_depend_on_what_was_read():
    with_value, without = rows_of(Sample(t_s=1.0, ram_bytes=1.0))[0], rows_of(Sample(t_s=1.0))[0]

    assert list(with_value) == list(without)


def test_a_log_of_any_name_keeps_its_own_column():
    name = '=cmd|\n"a",b\r\x1b[2J'
    (epoch,) = rows_of(
        EpochEnded(t_s=2.0, fit=1, epoch=0, seconds=3.0, logs={name: 0.25}), logs=(name,)
    )

    assert epoch[f"log:{printable(name)}"] == "0.25"


def test_a_column_says_its_unit_and_where_it_comes_from_or_why_it_is_empty():
    told = [
        FieldSource(field="ram_bytes", unit="bytes", source="process: old"),
        FieldSource(field="ram_bytes", unit="bytes", source="process: /proc/self/statm"),
        FieldSource(field="device_total_bytes", unit="bytes", absent="no NVIDIA driver"),
    ]
    columns = {column.name: column for column in table_columns(["loss"], told)}

    assert columns["ram_bytes"].source == "process: /proc/self/statm"
    assert columns["device_total_bytes"].absent == "no NVIDIA driver"
    units = {"t_s": "seconds", "ram_bytes": "bytes", "graph_operations": "operations"}
    assert {name: columns[name].unit for name in units} == units
    assert columns["step_times.p50_s"].unit == "seconds"
    assert columns["log:loss"].unit == ""


def test_an_event_of_a_type_that_is_not_known_keeps_its_fields():
    body = msgspec.msgpack.encode({"type": "weather", "t_s": 1.0, "sky": "blue"})

    event = event_object(EventRow(row=1, run="r", seq=7, t_s=2.0, body=body))

    assert event == {"seq": 7, "t_s": 2.0, "type": "weather", "sky": "blue"}


def test_logs_within_an_epoch_and_further_devices_have_columns_of_their_own():
    sample = Sample(
        t_s=1.0, logs={"loss": 0.25}, more_devices=[DeviceSample(1, power_w=210.0, used_bytes=0.0)]
    )
    file = io.StringIO()
    names = ["batch:loss", "device1_power_w", "device1_used_bytes", "device1_temperature_c"]
    columns = table_columns(["loss"], [], extras=names)
    write_csv(columns, lines_of(columns, sample), file)
    (read,) = csv.DictReader(io.StringIO(file.getvalue(), newline=""))

    assert [read[name] for name in names] == ["0.25", "210.0", "0.0", ""]
    assert read["log:loss"] == ""
    assert {c.name: c.unit for c in columns}["device1_temperature_c"] == "degrees C"
