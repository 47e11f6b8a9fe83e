"""Questions for series go to a thread of their own, which only reads; it packs samples too."""

import math
import queue
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np

from kmonitor.hub.logbook import LOG
from kmonitor.hub.run_columns import RunColumns
from kmonitor.hub.store.connection import CANNOT_NOW, Connection, newest_row
from kmonitor.hub.store.sample_blocks import DamagedBlocks, SampleBlock, next_block
from kmonitor.hub.thinning import Floats, thin, with_gaps
from kmonitor_agent.protocol.facts import SourceOf
from kmonitor_agent.protocol.messages import (
    MOST_COLUMNS,
    Column,
    ErrorMessage,
    SeriesAsked,
    SeriesTold,
)
from kmonitor_agent.protocol.version import MAX_EPOCH_BYTES, MAX_TEXT

_MAX_WAITING = 64
_MAX_CACHE_BYTES = 256 * 1024 * 1024
_JOIN_S = 10.0
_RETRY_MS = 1000
_MOST_EPOCHS = MAX_EPOCH_BYTES // 8
_LARGEST_ORDINAL = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Job:
    identity: bytes
    asked: SeriesAsked
    run_key: int
    sources: list[SourceOf]


@dataclass(frozen=True, slots=True)
class _Packing:
    run_keys: list[int]


class SeriesDesk:
    """Owns the thread `kmonitor-hub-series` and its read-only connection.

    Columns of the runs asked for last are kept in memory, within 256 MiB, and only what was
    stored since is read again. All methods are for the hub's main thread.

    Attributes:
        is_working: Whether it computes an answer now, which may take much memory for a while.
    """

    def __init__(self, open_reader: Callable[[], Connection], wake: Callable[[], None]) -> None:
        """Nothing runs before `start`.

        Args:
            open_reader: Gives a connection for the thread.
            wake: Makes the hub's loop take answers; called from this desk's thread.
        """
        self.is_working = False
        self._open_reader = open_reader
        self._wake = wake
        self._jobs: queue.Queue[_Job | _Packing | None] = queue.Queue()
        self._packed: deque[tuple[SampleBlock | None, list[int]]] = deque()
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

    def pack(self, run_keys: list[int]) -> None:
        """Have the first of these runs that has enough samples pack a block of them."""
        self._jobs.put(_Packing(run_keys))

    def take_packed(self) -> tuple[SampleBlock | None, list[int]] | None:
        """A block, if there was one to pack, and the runs that had too few; None: not yet."""
        return self._packed.popleft() if self._packed else None

    def _main(self) -> None:
        connection = self._open_reader()
        try:
            while (job := self._jobs.get()) is not None:
                if isinstance(job, _Packing):
                    self._packed.append(_pack(connection, job.run_keys))
                    self._wake()
                    continue
                self.is_working = True
                self._answers.append((job.identity, self._answer(connection, job)))
                self.is_working = False
                self._wake()
        finally:
            connection.close()

    def _answer(self, connection: Connection, job: _Job) -> msgspec.Struct:
        try:
            return _told(self._columns_of(connection, job), job)
        except Exception as exc:  # noqa: BLE001 - a thread's main: one chart must not end all
            is_fault = not isinstance(exc, CANNOT_NOW)
            LOG.warning("series of %s: %s", job.asked.run, exc, exc_info=is_fault)
            self._cache.pop(job.run_key, None)
            text = f"the series could not be read: {exc}"[:MAX_TEXT]
            retry_ms = _RETRY_MS if isinstance(exc, CANNOT_NOW) else 0
            return ErrorMessage(code="busy", text=text, retry_ms=retry_ms, ask=job.asked.ask)

    def _columns_of(self, connection: Connection, job: _Job) -> RunColumns:
        columns = self._cache.setdefault(job.run_key, RunColumns(job.run_key))
        self._cache.move_to_end(job.run_key)
        try:
            self._update(connection, columns, job.asked.columns)
        except DamagedBlocks as exc:
            LOG.warning(
                "packed samples of %s are damaged (%s): read as events", job.asked.run, exc
            )
            columns = RunColumns(job.run_key, is_packed_wanted=False)
            self._cache[job.run_key] = columns
            self._update(connection, columns, job.asked.columns)
        while len(self._cache) > 1 and self._cache_bytes() > _MAX_CACHE_BYTES:
            self._cache.popitem(last=False)
        return columns

    @staticmethod
    def _update(connection: Connection, columns: RunColumns, wanted: list[str]) -> None:
        # One read transaction, so that all kinds of events end at the same row.
        connection.execute("BEGIN")
        try:
            columns.update(connection, newest_row(connection, columns.run_key), wanted)
        finally:
            connection.execute("COMMIT")

    def _cache_bytes(self) -> int:
        return sum(columns.n_bytes for columns in self._cache.values())


def _pack(connection: Connection, run_keys: list[int]) -> tuple[SampleBlock | None, list[int]]:
    too_few: list[int] = []
    for run_key in run_keys:
        try:
            block = next_block(connection, run_key)
        except CANNOT_NOW as exc:
            LOG.debug("nothing is packed now: %s", exc)
            return None, []
        except Exception:  # noqa: BLE001 - a thread's main: it is charted all the same
            LOG.exception("samples of run %d could not be packed", run_key)
            block = None
        if block is not None:
            return block, too_few
        too_few.append(run_key)
    return None, too_few


def _told(columns: RunColumns, job: _Job) -> SeriesTold:
    epochs = columns.epochs
    return SeriesTold(
        ask=job.asked.ask,
        run=job.asked.run,
        row=columns.row,
        columns=[_column(columns, job.asked, name) for name in job.asked.columns],
        sources=job.sources,
        epoch_t_s=_floats(np.array(epochs.starts[-_MOST_EPOCHS:])),
        epoch_end_t_s=_floats(np.array(epochs.ends[-_MOST_EPOCHS:])),
        fit_of_epoch=_ordinals(epochs.fits[-_MOST_EPOCHS:]),
        have=columns.names()[:MOST_COLUMNS],
    )


def _column(columns: RunColumns, asked: SeriesAsked, name: str) -> Column:
    t_s, values = columns.points(name)
    first = int(np.searchsorted(t_s, asked.from_s))
    last = len(t_s) if asked.to_s is None else int(np.searchsorted(t_s, asked.to_s, "right"))
    t_s, values = t_s[first:last], values[first:last]
    thinned = thin(t_s, values, asked.buckets)
    if len(thinned[0]):
        breaks_t_s = columns.breaks_t_s(name)
        is_asked = breaks_t_s <= (math.inf if asked.to_s is None else asked.to_s)
        thinned = with_gaps(*thinned, breaks_t_s[is_asked])
    return Column(
        name=name, t_s=_floats(thinned[0]), values=_floats(thinned[1]), n_raw=last - first
    )


def _ordinals(fits: list[int]) -> bytes:
    # An ordinal may be any count; those of charts are 32 bits.
    return np.minimum(np.array(fits, dtype=np.int64), _LARGEST_ORDINAL).astype("<i4").tobytes()


def _floats(values: Floats) -> bytes:
    return values.astype("<f8", copy=False).tobytes()
