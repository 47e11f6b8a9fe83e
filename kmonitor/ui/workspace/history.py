"""What happened to a run before the window looked at it: asked from the hub once."""

import math
import struct
from collections.abc import Collection

from kmonitor.memory.telemetry import KINDS as MEMORY_KINDS
from kmonitor.ui.events.event_log import LOG_KINDS
from kmonitor.ui.runs.commands import Ask
from kmonitor.ui.runs.readings import READING_COLUMNS, RunReadings
from kmonitor.ui.studies.study_store import STUDY_KINDS
from kmonitor_agent.wire.messages.unions import (
    Column,
    RowsAsked,
    RowsTold,
    RunSummary,
    SeriesAsked,
    SeriesTold,
)

_RECENT_S = 30.0
_MAX_PAGES = 40


class History:
    """Asks for log lines, sources and the last readings of runs; main thread only."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._pages: dict[int, tuple[str, int]] = {}
        self._readings: dict[int, str] = {}
        self._wanted: set[str] = set()

    def forget(self, runs: Collection[str]) -> None:
        """What was told of these runs is void: ask anew."""
        self._pages = {ask: page for ask, page in self._pages.items() if page[0] not in runs}
        self._readings = {ask: run for ask, run in self._readings.items() if run not in runs}
        self._wanted.difference_update(runs)

    def want(self, run: RunSummary) -> None:
        """Ask for a run's history unless that was done."""
        if run.run in self._wanted:
            return
        self._wanted.add(run.run)
        self._ask_page(run.run, 0, 0)
        columns = SeriesAsked(
            ask=0,
            run=run.run,
            columns=list(READING_COLUMNS),
            from_s=max(0.0, run.duration_s - _RECENT_S),
            buckets=100,
        )
        self._readings[self._ask(columns)] = run.run

    def take(self, told: RowsTold) -> bool:
        """Follow a page that was asked here; False if it was not."""
        asked = self._pages.pop(told.ask, None)
        if asked is None:
            return False
        run, page = asked
        if told.more and page < _MAX_PAGES:
            self._ask_page(run, told.cursor, page + 1)
        return True

    def take_series(self, told: SeriesTold, readings: RunReadings) -> bool:
        """Take the last readings that were asked here; False if they were not."""
        if told.ask not in self._readings:
            return False
        del self._readings[told.ask]
        for column in told.columns:
            last = _last(column)
            if last is not None:
                readings.take_value(column.name, last[1], last[0])
        return True

    def _ask_page(self, run: str, cursor: int, page: int) -> None:
        kinds = [*dict.fromkeys((*LOG_KINDS, "sources", *MEMORY_KINDS, *STUDY_KINDS))]
        number = self._ask(RowsAsked(ask=0, cursor=cursor, runs=[run], kinds=kinds))
        self._pages[number] = (run, page)


def _last(column: Column) -> tuple[float, float] | None:
    """Time and value of a column's last point that is one."""
    size = struct.calcsize("<d")
    for at in range(min(len(column.t_s), len(column.values)) // size - 1, -1, -1):
        (value,) = struct.unpack_from("<d", column.values, at * size)
        if not math.isnan(value):
            return struct.unpack_from("<d", column.t_s, at * size)[0], value
    return None
