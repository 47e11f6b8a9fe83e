import math
import struct

from kmonitor.ui.runs.readings import READING_COLUMNS, RunReadings
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.workspace.row_backfill import RowBackfill
from kmonitor_agent.wire.messages.events import FieldSource, FieldSources, Sample
from kmonitor_agent.wire.messages.unions import (
    RowsReply,
    RowsRequest,
    SeriesReply,
    SeriesRequest,
    ThinnedColumn,
)
from kmonitor_agent.wire.messages.view_messages import MOST_SERIES_COLUMNS
from tests.support.made_up_runs import GIB, made_up_run
from tests.support.questions_asked import QuestionsAsked


def shown(readings: RunReadings) -> dict[str, str]:
    return {row.title: with_plain_spaces(row.value) for g in readings.groups() for row in g.rows}


def test_readings_show_the_newest_sample_and_keep_what_is_read_rarely():
    readings = RunReadings()
    readings.apply_sample(
        Sample(t_s=1.0, ram_bytes=2 * GIB, ram_unique_bytes=GIB, functions=5.0), 1.0
    )
    readings.apply_sample(Sample(t_s=2.0, ram_bytes=3 * GIB), 2.0)
    readings.apply_sample(Sample(t_s=0.5, ram_bytes=9 * GIB), 0.5)

    assert shown(readings) == {"With children": "3.0 GiB", "Unique set size (USS)": "1.0 GiB"}


def test_each_reading_names_its_source_and_what_is_missing_says_why_once():
    readings = RunReadings()
    no_driver = "no NVIDIA driver on this host"
    readings.apply_sources(
        FieldSources(
            t_s=0.0,
            sources=[
                FieldSource("ram_bytes", "bytes", "process: /proc/self/statm"),
                FieldSource("device_used_bytes", "bytes", absent=no_driver),
                FieldSource("device_total_bytes", "bytes", absent=no_driver),
            ],
        )
    )
    readings.apply_value("ram_bytes", GIB, 1.0)
    readings.apply_sample(Sample(t_s=2.0, functions=28.0), 2.0)
    readings.apply_value("functions", 1.0, 1.0)

    ram, gpu, graph = (
        readings.groups() if len(readings.groups()) == 3 else (None, *readings.groups())
    )
    assert ram is None
    assert gpu.absent == no_driver
    assert graph.rows[0].value == "28"
    source = readings.source("ram_bytes")
    assert source is not None
    assert source.source == "process: /proc/self/statm"


def _doubles(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def test_history_is_asked_once_page_by_page():
    hub = QuestionsAsked()
    history = RowBackfill(hub.ask)
    history.want(made_up_run())
    history.want(made_up_run())
    ((number, first),) = hub.of_type(RowsRequest)
    told = {"hub": "h", "rows": [], "head": 9}

    assert first.cursor == 0
    assert "sources" in first.kinds
    assert history.apply_rows(RowsReply(request_id=number, cursor=5, more=True, **told))  # type: ignore[arg-type]
    second_number, second = hub.of_type(RowsRequest)[1]
    assert second.cursor == 5
    assert history.apply_rows(RowsReply(request_id=second_number, cursor=9, more=False, **told))  # type: ignore[arg-type]
    assert not history.apply_rows(RowsReply(request_id=999, cursor=9, more=False, **told))  # type: ignore[arg-type]
    assert len(hub.of_type(RowsRequest)) == 2
    history.forget({"run1"})
    history.want(made_up_run())
    assert len(hub.of_type(RowsRequest)) == 3


def test_the_last_readings_of_a_run_that_is_silent_come_from_the_hub():
    hub = QuestionsAsked()
    history, readings = RowBackfill(hub.ask), RunReadings()
    history.want(made_up_run())
    ((number, asked),) = hub.of_type(SeriesRequest)
    columns = [
        ThinnedColumn("ram_bytes", _doubles(1.0, 2.0, 3.0), _doubles(GIB, 2 * GIB, math.nan), 3),
        ThinnedColumn("functions", _doubles(1.0), _doubles(math.nan), 1),
    ]

    told = SeriesReply(request_id=number, run="run1", row=1, columns=columns)

    assert asked.columns == list(READING_COLUMNS)
    assert len(READING_COLUMNS) <= MOST_SERIES_COLUMNS
    assert history.apply_series(told, readings)
    assert not history.apply_series(told, readings)
    assert shown(readings) == {"With children": "2.0 GiB"}
