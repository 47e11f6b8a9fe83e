"""Questions for series go to a thread of their own, which only reads."""

import queue
import sqlite3
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from kmonitor.hub.logbook import LOG
from kmonitor.hub.run_columns import RunColumns
from kmonitor.hub.store.schema import open_reader
from kmonitor.hub.thinning import Floats, thin, with_gaps
from kmonitor_agent.protocol.facts import SourceOf
from kmonitor_agent.protocol.messages import Column, ErrorMessage, SeriesAsked, SeriesTold

_MAX_WAITING = 64
_MAX_CACHE_BYTES = 256 * 1024 * 1024
_JOIN_S = 10.0
_RETRY_MS = 1000


@dataclass(frozen=True, slots=True)
class _Job:
    identity: bytes
    asked: SeriesAsked
    run_key: int
    sources: list[SourceOf]


class SeriesDesk:
    """Owns the thread `kmonitor-hub-series` and its read-only connection.

    Columns of the runs asked for last are kept in memory, within 256 MiB, and only what was
    stored since is read again. `ask` and `take_answers` are for the hub's main thread.

    Attributes:
        is_working: Whether it computes an answer now, which may take much memory for a while.
    """

    def __init__(self, path: Path, wake: Callable[[], None]) -> None:
        """Nothing runs before `start`.

        Args:
            path: The database.
            wake: Makes the hub's loop take answers; called from this desk's thread.
        """
        self.is_working = False
        self._path = path
        self._wake = wake
        self._jobs: queue.Queue[_Job | None] = queue.Queue()
        self._answers: deque[tuple[bytes, msgspec.Struct]] = deque()
        self._cache: OrderedDict[int, RunColumns] = OrderedDict()
        self._thread = threading.Thread(target=self._main, name="kmonitor-hub-series", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the question it is at."""
        self._jobs.put(None)
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def ask(
        self, identity: bytes, asked: SeriesAsked, run_key: int, sources: list[SourceOf]
    ) -> bool:
        """Take a question; False when too many wait."""
        if self._jobs.qsize() >= _MAX_WAITING:
            return False
        self._jobs.put(_Job(identity, asked, run_key, sources))
        return True

    def take_answers(self) -> list[tuple[bytes, msgspec.Struct]]:
        """(routing id, answer) of questions that are done."""
        answers: list[tuple[bytes, msgspec.Struct]] = []
        while self._answers:
            answers.append(self._answers.popleft())
        return answers

    def _main(self) -> None:
        connection = open_reader(self._path)
        try:
            while (job := self._jobs.get()) is not None:
                self.is_working = True
                self._answers.append((job.identity, self._answer(connection, job)))
                self.is_working = False
                self._wake()
        finally:
            connection.close()

    def _answer(self, connection: sqlite3.Connection, job: _Job) -> msgspec.Struct:
        try:
            columns = self._columns_of(connection, job.run_key)
            return _told(columns, job)
        except Exception as exc:  # noqa: BLE001 - a thread's main: one chart must not end all
            LOG.exception("series of %s", job.asked.run)
            self._cache.pop(job.run_key, None)
            text = f"the series could not be read: {exc}"
            retry_ms = _RETRY_MS if isinstance(exc, sqlite3.OperationalError) else 0
            return ErrorMessage(code="busy", text=text, retry_ms=retry_ms, ask=job.asked.ask)

    def _columns_of(self, connection: sqlite3.Connection, run_key: int) -> RunColumns:
        columns = self._cache.setdefault(run_key, RunColumns(run_key))
        self._cache.move_to_end(run_key)
        # One read transaction, so that all kinds of events end at the same row.
        connection.execute("BEGIN")
        try:
            head = connection.execute("SELECT max(row) FROM events").fetchone()[0] or 0
            columns.update(connection, head)
        finally:
            connection.execute("COMMIT")
        while len(self._cache) > 1 and self._cache_bytes() > _MAX_CACHE_BYTES:
            self._cache.popitem(last=False)
        return columns

    def _cache_bytes(self) -> int:
        return sum(columns.n_bytes for columns in self._cache.values())


def _told(columns: RunColumns, job: _Job) -> SeriesTold:
    epochs = columns.epochs
    return SeriesTold(
        ask=job.asked.ask,
        run=job.asked.run,
        row=columns.row,
        columns=[_column(columns, job.asked, name) for name in job.asked.columns],
        sources=job.sources,
        epoch_t_s=_floats(np.array(epochs.starts)),
        epoch_end_t_s=_floats(np.array(epochs.ends)),
        fit_of_epoch=np.array(epochs.fits, dtype="<i4").tobytes(),
    )


def _column(columns: RunColumns, asked: SeriesAsked, name: str) -> Column:
    t_s, values = columns.points(name)
    first = int(np.searchsorted(t_s, asked.from_s))
    last = len(t_s) if asked.to_s is None else int(np.searchsorted(t_s, asked.to_s, "right"))
    t_s, values = t_s[first:last], values[first:last]
    thinned = thin(t_s, values, asked.buckets)
    if len(thinned[0]):
        thinned = with_gaps(*thinned, np.array(columns.gaps_t_s, dtype=np.float64))
    return Column(
        name=name, t_s=_floats(thinned[0]), values=_floats(thinned[1]), n_raw=last - first
    )


def _floats(values: Floats) -> bytes:
    return values.astype("<f8", copy=False).tobytes()
