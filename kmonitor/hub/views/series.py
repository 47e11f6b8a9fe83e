"""The series thread: it answers charts' requests, and packs samples."""

import math
import queue
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from kmonitor.base.thinning import Floats, thin_series, with_gaps
from kmonitor.hub.log import LOG
from kmonitor.hub.reader_threads import PendingRequest, PendingRequests, run_reader_thread
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.store.connection import RETRYABLE_ERRORS, StoreConnection, newest_row
from kmonitor.hub.store.sample_blocks import (
    BLOCK_SAMPLES,
    DamagedBlocks,
    SampleBlock,
    next_block,
)
from kmonitor.hub.views.run_columns import RunColumns
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.events import FieldSource
from kmonitor_agent.wire.messages.fields import MAX_EPOCH_BYTES, MAX_TEXT
from kmonitor_agent.wire.messages.unions import (
    MOST_COLUMNS,
    ErrorMessage,
    ReplyPending,
    SeriesReply,
    SeriesRequest,
    ThinnedColumn,
)

_MAX_WAITING = 64
_MAX_CACHE_BYTES = 256 * 1024 * 1024
_JOIN_S = 10.0
_RETRY_MS = 1000
_MOST_EPOCHS = MAX_EPOCH_BYTES // 8
_OUTLINE_OVER = 100_000
"""Number of events to read, half a second's worth, above which an outline comes first."""

_OUTLINE_SAMPLES = 4_000
"""Samples of an outline: as many points as a chart of the window requests."""

_LARGEST_ORDINAL = 2**31 - 1


@dataclass(eq=False, slots=True)
class _Job:
    """A request, and its progress in the thread.

    Attributes:
        pending_request: The request, as the main thread knows it.
        series_request: Its contents.
        run_key: Key of the run in the database.
        head: Last row of the answer; None: not begun.
        columns: Columns of the run, from then on.
    """

    pending_request: PendingRequest
    series_request: SeriesRequest
    run_key: int
    sources: list[FieldSource]
    head: int | None = None
    columns: RunColumns | None = None


@dataclass(frozen=True, slots=True)
class _Packing:
    run_keys: list[int]


class SeriesThread:
    """Owns the thread `kmonitor-hub-series` and its read-only connection.

    Columns of the runs requested last are kept in memory, within 256 MiB, and only rows stored
    since are read again. A run of many samples that are not packed is read a block's worth at a
    time: other requests come in between, and each block is handed on to be stored. Such runs are
    read one after the other, since each takes memory. All methods are for the hub's main thread.
    """

    def __init__(
        self,
        open_reader: Callable[[], StoreConnection],
        wake_hub: Callable[[], None],
        *,
        block_samples: int = BLOCK_SAMPLES,
        outline_over: int = _OUTLINE_OVER,
    ) -> None:
        """The thread runs from `start` on.

        Args:
            wake_hub: Makes the hub's loop take answers; called from this thread.
            outline_over: Number of events to read, above which an outline comes first if
                requested.
        """
        self._open_reader = open_reader
        self._wake_hub = wake_hub
        self._block_samples = block_samples
        self._outline_over = outline_over
        self._open = PendingRequests(_MAX_WAITING)
        self._jobs: queue.Queue[_Job | _Packing | None] = queue.Queue()
        self._long: deque[_Job] = deque()
        self._packed: deque[tuple[SampleBlock | None, list[int]]] = deque()
        self._blocks: deque[SampleBlock] = deque()
        self._answers: deque[tuple[PendingRequest, msgspec.Struct]] = deque()
        self._cache: OrderedDict[int, RunColumns] = OrderedDict()
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._main, name="kmonitor-hub-series", daemon=True)

    @property
    def is_working(self) -> bool:
        """True while it computes an answer, which may take much memory for a while."""
        return len(self._open) > 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the part of a run that it is reading."""
        self._is_stopping.set()
        self._jobs.put(None)
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def add_request(
        self,
        identity: bytes,
        request: SeriesRequest,
        run_key: int,
        sources: list[FieldSource],
        n_events: int = 0,
    ) -> bool:
        """Add a request, once; False if too many wait."""
        return self._open.take(
            identity,
            request,
            n_events,
            lambda pending: self._jobs.put(_Job(pending, request, run_key, sources)),
        )

    def late_replies(self) -> list[tuple[bytes, ReplyPending]]:
        return self._open.late_replies()

    def pop_answers(self) -> list[tuple[bytes, msgspec.Struct]]:
        """(routing id, answer) of requests that are done."""
        answers: list[tuple[bytes, msgspec.Struct]] = []
        while self._answers:
            question, reply = self._answers.popleft()
            if not isinstance(reply, SeriesReply) or reply.one_of == 1:
                self._open.end(question)
            answers.append((question.identity, reply))
        return answers

    def pack(self, run_keys: list[int]) -> None:
        """Pack a block of samples of the first of these runs that has enough."""
        self._jobs.put(_Packing(run_keys))

    def pop_packed(self) -> tuple[SampleBlock | None, list[int]] | None:
        """A block, if there was one to pack, and the runs with too few samples; None: not yet."""
        return self._packed.popleft() if self._packed else None

    def pop_blocks(self) -> list[SampleBlock]:
        """Blocks of samples that were read as events for an answer, so that this is done once."""
        blocks: list[SampleBlock] = []
        while self._blocks:
            blocks.append(self._blocks.popleft())
        return blocks

    def _main(self) -> None:
        run_reader_thread("series", self._open_reader, self._is_stopping, self._run_round)

    def _run_round(self, connection: StoreConnection) -> None:
        job = self._next()
        if self._is_stopping.is_set():
            return
        if isinstance(job, _Packing):
            self._pack(connection, job.run_keys)
        elif (
            job is not None
            and not self._continue_job(connection, job)
            and not self._outline(connection, job)
        ):
            self._long.append(job)
        if self._long and self._continue_job(connection, self._long[0]):
            self._long.popleft()

    def _next(self) -> _Job | _Packing | None:
        """The next new job; wait for one only if no long job is open."""
        try:
            return self._jobs.get(block=not self._long)
        except queue.Empty:
            return None

    def _continue_job(self, connection: StoreConnection, job: _Job) -> bool:
        """Read the next part for a request; True once it is answered."""
        reply = self._answer(connection, job)
        self._open.beat += 1
        if reply is not None:
            self._answers.append((job.pending_request, reply))
        self._wake_hub()
        return reply is not None

    def _answer(self, connection: StoreConnection, job: _Job) -> msgspec.Struct | None:
        try:
            columns = self._columns_of(connection, job)
            return _series_reply(columns, job) if columns.row >= (job.head or 0) else None
        except Exception as exc:  # noqa: BLE001 - a thread's main: one chart must not end all
            is_fault = not isinstance(exc, RETRYABLE_ERRORS)
            LOG.warning("series of %s: %s", job.series_request.run, exc, exc_info=is_fault)
            self._cache.pop(job.run_key, None)
            for other in self._long:
                if other.run_key == job.run_key:
                    other.columns = None
            text = f"the series could not be read: {exc}"[:MAX_TEXT]
            retry_ms = _RETRY_MS if isinstance(exc, RETRYABLE_ERRORS) else 0
            return ErrorMessage(
                code="busy", text=text, retry_ms=retry_ms, request_id=job.series_request.request_id
            )

    def _outline(self, connection: StoreConnection, job: _Job) -> bool:
        """Answer from some of the samples if all take long; True: no more are needed.

        No more are needed if a part of the run's time is requested that has few samples.
        """
        request = job.series_request
        head = job.head or 0
        n_left = job.pending_request.n_events - job.pending_request.n_read
        is_part = request.from_s > 0.0 or request.to_s is not None
        if n_left <= self._outline_over or not (request.outline or is_part):
            return False
        outline = RunColumns(job.run_key)
        between_s = request.from_s, math.inf if request.to_s is None else request.to_s
        connection.execute("BEGIN")
        try:
            one_of = outline.outline(
                connection, head, request.columns, _OUTLINE_SAMPLES, between_s
            )
        except Exception as exc:  # noqa: BLE001 - it is read as a whole anyway
            LOG.warning("no preview of %s: %s", request.run, exc)
            return False
        finally:
            connection.execute("COMMIT")
        if one_of > 1 and not request.outline:
            return False
        self._answers.append((job.pending_request, _series_reply(outline, job, one_of)))
        self._wake_hub()
        return one_of == 1

    def _columns_of(self, connection: StoreConnection, job: _Job) -> RunColumns:
        columns = job.columns or self._cache.get(job.run_key) or RunColumns(job.run_key)
        try:
            self._update(connection, columns, job)
        except DamagedBlocks as exc:
            LOG.warning(
                "packed samples of %s are damaged (%s): reading its events instead",
                job.series_request.run,
                exc,
            )
            columns = RunColumns(job.run_key, is_packed_wanted=False)
            self._update(connection, columns, job)
        job.columns = self._cache[job.run_key] = columns
        self._cache.move_to_end(job.run_key)
        while len(self._cache) > 1 and self._cache_bytes() > _MAX_CACHE_BYTES:
            self._cache.popitem(last=False)
        return columns

    def _update(self, connection: StoreConnection, columns: RunColumns, job: _Job) -> None:
        # One read transaction, so that blocks and the events behind them fit.
        connection.execute("BEGIN")
        try:
            if job.head is None:
                job.head = newest_row(connection, columns.run_key)
            wanted = job.series_request.columns
            n_samples = self._block_samples
            read = columns.update(connection, job.head, wanted, n_samples)
        finally:
            connection.execute("COMMIT")
        job.pending_request.n_read = columns.n_samples
        if read is not None and len(read.t_s) == n_samples and columns.is_packed_wanted:
            self._blocks.append(read.packed())

    def _cache_bytes(self) -> int:
        return sum(columns.n_bytes for columns in self._cache.values())

    def _pack(self, connection: StoreConnection, run_keys: list[int]) -> None:
        # A run that is being read hands on its blocks itself.
        being_read = {job.run_key for job in self._long}
        keys = [key for key in run_keys if key not in being_read]
        self._packed.append(_next_block(connection, keys, self._block_samples))
        self._wake_hub()


def _next_block(
    connection: StoreConnection, run_keys: list[int], n_samples: int
) -> tuple[SampleBlock | None, list[int]]:
    too_few: list[int] = []
    for run_key in run_keys:
        try:
            block = next_block(connection, run_key, n_samples)
        except RETRYABLE_ERRORS as exc:
            LOG.debug("nothing is packed now: %s", exc)
            return None, []
        except Exception:  # noqa: BLE001 - a thread's main: it is charted all the same
            LOG.exception("samples of run %d could not be packed", run_key)
            block = None
        if block is not None:
            return block, too_few
        too_few.append(run_key)
    return None, too_few


def _series_reply(columns: RunColumns, job: _Job, one_of: int = 1) -> SeriesReply:
    epochs = columns.epochs
    return SeriesReply(
        request_id=job.series_request.request_id,
        run=job.series_request.run,
        row=columns.row,
        columns=[
            _column(columns, job.series_request, name) for name in job.series_request.columns
        ],
        sources=job.sources,
        epoch_t_s=_floats(np.array(epochs.starts[-_MOST_EPOCHS:])),
        epoch_end_t_s=_floats(np.array(epochs.ends[-_MOST_EPOCHS:])),
        fit_of_epoch=_ordinals(epochs.fits[-_MOST_EPOCHS:]),
        have=columns.names()[:MOST_COLUMNS],
        one_of=one_of,
    )


def _column(columns: RunColumns, request: SeriesRequest, name: str) -> ThinnedColumn:
    t_s, values = columns.points(name)
    first = int(np.searchsorted(t_s, request.from_s))
    last = len(t_s) if request.to_s is None else int(np.searchsorted(t_s, request.to_s, "right"))
    t_s = t_s[first:last]
    values = values[first:last]
    thinned = thin_series(t_s, values, request.buckets)
    if len(thinned[0]):
        breaks_t_s = columns.breaks_t_s(name)
        is_in_range = breaks_t_s <= (math.inf if request.to_s is None else request.to_s)
        thinned = with_gaps(*thinned, breaks_t_s[is_in_range])
    return ThinnedColumn(
        name=name, t_s=_floats(thinned[0]), values=_floats(thinned[1]), n_raw=last - first
    )


def _ordinals(fits: list[int]) -> bytes:
    # An ordinal may be any count; those of charts are 32 bits.
    return np.minimum(np.array(fits, dtype=np.int64), _LARGEST_ORDINAL).astype("<i4").tobytes()


def _floats(values: Floats) -> bytes:
    return values.astype("<f8", copy=False).tobytes()


PACK_EVERY_S: Final = 0.25
"""Interval of attempts with nothing to pack, seconds; else one block follows the other."""

BUSY_EVERY_S: Final = 1.0
"""Interval of blocks while events arrive, seconds: packing one takes about 35 ms, of which two
thirds hold the interpreter."""


class SamplePacker:
    """Keeps samples packed. Owned by the hub's main thread; the series thread does the work.

    Only one block is in progress at a time, so that none is packed twice.
    """

    def __init__(self, log: HubEventLog, series: SeriesThread, clock: Clock) -> None:
        self._event_log = log
        self._series = series
        self._clock = clock
        self._is_packing = False
        self._rows_tried: dict[int, int] = {}
        self._rows_then: dict[int, int] = {}
        self._rows = 0
        self._not_before_s = 0.0

    def step(self) -> None:
        """Start the next block when it is due; called every `PACK_EVERY_S`."""
        if self._is_packing:
            return
        now_s = self._clock.monotonic_s()
        rows = self._event_log.registry.rows
        if rows != self._rows and now_s < self._not_before_s:
            return
        self._rows = rows
        self._not_before_s = now_s + BUSY_EVERY_S
        candidates = self._candidates()
        if candidates:
            self._is_packing = True
            self._series.pack(candidates)

    def store_packed(self) -> None:
        """Take the packed blocks; called whenever the series thread has results."""
        for block in self._series.pop_blocks():
            if not self._event_log.trouble:  # packed again when it can be written
                self._event_log.add_block(block)
        packed = self._series.pop_packed()
        if packed is None:
            return
        block, too_few = packed
        for run_key in too_few:
            self._rows_tried[run_key] = self._rows_then.get(run_key, 0)
        if block is not None:
            self._event_log.add_block(block)
            # The next look must find it committed; while nothing arrives it follows at once.
            self._event_log.then(self._continue_packing)
        else:
            self._is_packing = False

    def _continue_packing(self) -> None:
        self._is_packing = False
        self.step()

    def _candidates(self) -> list[int]:
        self._rows_then = {
            record.key: record.rows
            for record in self._event_log.registry.all()
            if record.rows - self._rows_tried.get(record.key, 0) >= BLOCK_SAMPLES
        }
        return list(self._rows_then)
