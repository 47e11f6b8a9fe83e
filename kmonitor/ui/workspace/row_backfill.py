"""Backfill of rows from before the window was opened."""

import math
import struct
from collections.abc import Collection

from kmonitor.memory.calibration import MEMORY_EVENT_KINDS as MEMORY_KINDS
from kmonitor.ui.events.event_log import LOG_KINDS
from kmonitor.ui.runs.readings import READING_COLUMNS, RunReadings
from kmonitor.ui.runs.sent_commands import SendRequest
from kmonitor.ui.studies.study_store import STUDY_KINDS
from kmonitor_agent.wire.messages.unions import (
    RowsReply,
    RowsRequest,
    RunSummary,
    SeriesReply,
    SeriesRequest,
    ThinnedColumn,
)

_RECENT_S = 30.0
_MAX_PAGES = 40


class RowBackfill:
    """Requests log lines, sources and the last readings of runs, once each; main thread only."""

    def __init__(self, request: SendRequest) -> None:
        self._send_request = request
        self._pages: dict[int, tuple[str, int]] = {}
        self._readings: dict[int, str] = {}
        self._wanted: set[str] = set()

    def forget(self, runs: Collection[str]) -> None:
        """Drop the state of these runs, so that their rows are requested again."""
        self._pages = {
            request_number: page
            for request_number, page in self._pages.items()
            if page[0] not in runs
        }
        self._readings = {
            request_number: run
            for request_number, run in self._readings.items()
            if run not in runs
        }
        self._wanted.difference_update(runs)

    def want(self, run: RunSummary) -> None:
        """Request a run's history unless that has been done."""
        if run.run in self._wanted:
            return
        self._wanted.add(run.run)
        self._request_page(run.run, 0, 0)
        columns = SeriesRequest(
            request_id=0,
            run=run.run,
            columns=list(READING_COLUMNS),
            from_s=max(0.0, run.duration_s - _RECENT_S),
            buckets=100,
        )
        self._readings[self._send_request(columns)] = run.run

    def apply_rows(self, reply: RowsReply) -> bool:
        """Process a page of rows requested here, and request the next; False if it was not."""
        pending_page = self._pages.pop(reply.request_id, None)
        if pending_page is None:
            return False
        run, page = pending_page
        if reply.more and page < _MAX_PAGES:
            self._request_page(run, reply.cursor, page + 1)
        return True

    def apply_series(self, reply: SeriesReply, readings: RunReadings) -> bool:
        """Store the last readings requested here; False if they were not."""
        if reply.request_id not in self._readings:
            return False
        del self._readings[reply.request_id]
        for column in reply.columns:
            last = _last_value(column)
            if last is not None:
                readings.apply_value(column.name, last[1], last[0])
        return True

    def _request_page(self, run: str, cursor: int, page: int) -> None:
        kinds = [*dict.fromkeys((*LOG_KINDS, "sources", *MEMORY_KINDS, *STUDY_KINDS))]
        number = self._send_request(
            RowsRequest(request_id=0, cursor=cursor, runs=[run], kinds=kinds)
        )
        self._pages[number] = (run, page)


def _last_value(column: ThinnedColumn) -> tuple[float, float] | None:
    """Time and value of a column's last point that is not NaN."""
    size = struct.calcsize("<d")
    for at in range(min(len(column.t_s), len(column.values)) // size - 1, -1, -1):
        (value,) = struct.unpack_from("<d", column.values, at * size)
        if not math.isnan(value):
            return struct.unpack_from("<d", column.t_s, at * size)[0], value
    return None
