"""The thread that judges runs, which only reads, and the main thread's dispatch of its results."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import msgspec
import numpy as np

from kmonitor.hub.faults import HubFaults
from kmonitor.hub.ingest.connections import MAX_CONNECTIONS
from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import JUDGED_EVENT_KINDS, SAMPLED
from kmonitor.hub.reader_threads import PendingRequest, PendingRequests, run_reader_thread
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.store.connection import RETRYABLE_ERRORS, StoreConnection, newest_row
from kmonitor.hub.store.pages import PageRequest, read_event_page
from kmonitor.hub.store.sample_blocks import (
    BLOCK_SAMPLES,
    DamagedBlocks,
    PackedSamples,
    read_samples,
)
from kmonitor_agent.wire.messages.codec import ProtocolError, decode_event
from kmonitor_agent.wire.messages.events import Event, Verdict
from kmonitor_agent.wire.messages.unions import (
    ErrorMessage,
    ReplyPending,
    VerdictsReply,
    VerdictsRequest,
)

MAX_WAITING: Final = MAX_CONNECTIONS
"""Maximum number of runs that wait to be judged; further ones are dropped and counted."""

_MAX_REQUESTS: Final = 64
_MAX_JUDGES: Final = MAX_CONNECTIONS
"""Maximum number of judges kept, so that a live run is not read from its beginning at each of its
epochs; each takes some 100 KB."""

_PAUSE_S: Final = 0.2
"""Pause between two rounds of judging: a run with shorter epochs is judged for several at once. A
request is answered without it."""

_JOIN_S: Final = 10.0
_RETRY_MS: Final = 1000
_PARTIAL_AFTER_S: Final = 0.5
"""Time after which stored verdicts answer requests that allow it."""


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """Result of judging a run once.

    Attributes:
        run: Run id.
        verdicts: Verdicts to store; may be empty.
        pending_request: The request that it answers; None: there was no request.
        reply: The reply to that request.
        fault: The exception that occurred; None if there was none.
    """

    run: str
    verdicts: tuple[Verdict, ...] = ()
    pending_request: PendingRequest | None = None
    reply: VerdictsReply | ErrorMessage | None = None
    fault: Exception | None = None


@dataclass(eq=False, slots=True)
class _Job:
    """A run to judge up to its newest row.

    Attributes:
        run: Run id.
        run_key: Key of the run in the database.
        head: Last row to read; None: not begun.
        pending_request: The request that it answers; None: there is none, or stored verdicts
            answered it.
        partial_at_s: Time at which stored verdicts become the reply.
    """

    run: str
    run_key: int
    head: int | None = None
    pending_request: PendingRequest | None = None
    partial_at_s: float = float("inf")


class JudgeThread:
    """Owns the thread `kmonitor-hub-verdicts` and its read-only connection.

    A run that the thread does not know is read from its beginning, later only the rows stored
    since; a long one in parts, between which others get their turn. Everything but `_main` and
    below is for the hub's main thread.

    Attributes:
        dropped: Number of runs that were not judged because too many waited.
    """

    def __init__(
        self,
        open_reader: Callable[[], StoreConnection],
        wake_hub: Callable[[], None],
        *,
        partial_after_s: float = _PARTIAL_AFTER_S,
        part_samples: int = BLOCK_SAMPLES,
    ) -> None:
        """The thread runs from `start` on.

        Args:
            wake_hub: Makes the hub's loop take the results; called from this thread.
            partial_after_s: Time after which stored verdicts answer requests that allow it,
                seconds.
            part_samples: Samples that are read before others get their turn.
        """
        self.dropped = 0
        self._partial_after_s = partial_after_s
        self._part_samples = part_samples
        self._jobs: deque[_Job] = deque()
        self._open_reader = open_reader
        self._wake_hub = wake_hub
        self._news = threading.Condition()
        self._is_stopping = threading.Event()
        self._waiting: OrderedDict[str, int] = OrderedDict()
        self._open = PendingRequests(_MAX_REQUESTS)
        self._requests: deque[tuple[PendingRequest, int]] = deque()
        self._results: deque[JudgeResult] = deque()
        self._judges: OrderedDict[int, RunJudge] = OrderedDict()
        self._thread = threading.Thread(
            target=self._main, name="kmonitor-hub-verdicts", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the page that it is reading."""
        self._is_stopping.set()
        with self._news:
            self._news.notify()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def schedule_run(self, run: str, run_key: int) -> None:
        """Schedule the judgement of a run whose units may have ended; dropped if too many wait."""
        with self._news:
            if run not in self._waiting and len(self._waiting) >= MAX_WAITING:
                self.dropped += 1
                return
            self._waiting[run] = run_key
            self._news.notify()

    def add_request(
        self, identity: bytes, request: VerdictsRequest, run_key: int, n_events: int = 0
    ) -> bool:
        """Add a request, once; False if too many wait."""

        def start(pending: PendingRequest) -> None:
            with self._news:
                self._requests.append((pending, run_key))
                self._news.notify()

        return self._open.take(identity, request, n_events, start)

    def late_replies(self) -> list[tuple[bytes, ReplyPending]]:
        return self._open.late_replies()

    def pop_results(self) -> list[JudgeResult]:
        """Results since the last call."""
        found: list[JudgeResult] = []
        while self._results:
            found.append(self._results.popleft())
            if found[-1].pending_request is not None:
                self._open.end(found[-1].pending_request)
        return found

    def _main(self) -> None:
        run_reader_thread("verdicts", self._open_reader, self._is_stopping, self._run_round)

    def _run_round(self, connection: StoreConnection) -> None:
        self._round(connection)
        if self._jobs:
            return
        with self._news:
            self._news.wait_for(self._has_requests, _PAUSE_S)
            self._news.wait_for(self._has_work)

    def _has_work(self) -> bool:
        return bool(self._waiting) or self._has_requests()

    def _has_requests(self) -> bool:
        return bool(self._requests) or self._is_stopping.is_set()

    def _round(self, connection: StoreConnection) -> None:
        """Begin new jobs, requests first; continue the oldest of the long ones."""
        for job in self._new_jobs():
            if self._is_stopping.is_set():
                return
            if not self._continue_job(connection, job):
                self._jobs.append(job)
        if self._jobs and self._continue_job(connection, self._jobs[0]):
            self._jobs.popleft()
        now_s = time.monotonic()
        for job in self._jobs:
            if now_s >= job.partial_at_s:
                self._answer_partly(connection, job)

    def _new_jobs(self) -> list[_Job]:
        end_s = time.monotonic() + self._partial_after_s
        with self._news:
            jobs = [
                _Job(
                    pending.request.run,
                    run_key,
                    pending_request=pending,
                    partial_at_s=end_s if _takes_part(pending) else float("inf"),
                )
                for pending, run_key in self._requests
            ]
            being_read = {job.run for job in self._jobs if job.pending_request is None}
            jobs += [
                _Job(run, run_key)
                for run, run_key in self._waiting.items()
                if run not in being_read
            ]
            self._requests.clear()
            self._waiting.clear()
        return jobs

    def _put(self, result: JudgeResult) -> None:
        self._results.append(result)
        self._wake_hub()

    def _continue_job(self, connection: StoreConnection, job: _Job) -> bool:
        """Read the next part of a run; True once it is judged and answered."""
        try:
            judge = self._judges.setdefault(job.run_key, RunJudge())
            self._judges.move_to_end(job.run_key)
            while len(self._judges) > _MAX_JUDGES:
                self._judges.popitem(last=False)
            if not self._read(connection, judge, job):
                return False
            found = JudgeResult(job.run, tuple(judge.judge()))
            reply = VerdictsReply(request_id=0, run=job.run, verdicts=judge.newest_verdicts())
        except Exception as exc:  # noqa: BLE001 - a thread's main: one run must not end all
            self._judges.pop(job.run_key, None)
            found = JudgeResult(job.run, fault=exc)
            retry_ms = _RETRY_MS if isinstance(exc, RETRYABLE_ERRORS) else 0
            text = f"the verdicts on the run could not be computed: {exc}"
            reply = ErrorMessage(code="busy", text=text, retry_ms=retry_ms)
        if job.pending_request is not None:
            self._put(_answered(found, job.pending_request, reply))
        elif found.verdicts or found.fault is not None:
            self._put(found)
        return True

    def _read(self, connection: StoreConnection, judge: RunJudge, job: _Job) -> bool:
        """Give a judge the next part of its run; False if more is to be read."""
        if job.head is None:
            job.head = newest_row(connection, job.run_key)
        n_samples = 0
        if not judge.row:
            n_samples = read_packed(connection, job.run_key, judge)
        if judge.row < job.head:
            n_samples += read_part(connection, job.run_key, judge, job.head, self._part_samples)
        self._open.beat += 1
        if job.pending_request is not None:
            job.pending_request.n_read += n_samples
        return judge.row >= job.head

    def _answer_partly(self, connection: StoreConnection, job: _Job) -> None:
        """Answer with the stored verdicts; reading continues for later requests."""
        pending, job.pending_request = job.pending_request, None
        job.partial_at_s = float("inf")
        if pending is None:
            return
        stored: dict[str, Verdict] = {}
        for _t_s, event in _events(connection, job.run_key, 0, job.head or 0, ("verdict",)):
            if isinstance(event, Verdict):
                stored[event.metric] = event
        unread = max(1, pending.n_events - pending.n_read)
        reply = VerdictsReply(
            request_id=0, run=job.run, verdicts=list(stored.values()), unread=unread
        )
        self._put(_answered(JudgeResult(job.run), pending, reply))


def _takes_part(pending: PendingRequest) -> bool:
    return isinstance(pending.request, VerdictsRequest) and pending.request.partial


def _answered(
    found: JudgeResult, pending: PendingRequest, reply: VerdictsReply | ErrorMessage
) -> JudgeResult:
    reply = msgspec.structs.replace(reply, request_id=pending.request.request_id)
    return replace(found, pending_request=pending, reply=reply)


class JudgeDispatcher:
    """Schedules runs for the thread, stores and sends its results. Owned by the main thread."""

    def __init__(
        self,
        log: HubEventLog,
        thread: JudgeThread,
        faults: HubFaults,
        send: Callable[[bytes, msgspec.Struct], object],
    ) -> None:
        self._event_log = log
        self._judge_thread = thread
        self._faults = faults
        self._send = send
        self._dropped = 0

    def after_commit(self) -> None:
        """Schedule the runs whose units have ended and are stored."""
        runs, self._event_log.unit_ended = self._event_log.unit_ended, set()
        for run in runs:
            record = self._event_log.registry.get(run)
            if record is not None:
                self._judge_thread.schedule_run(run, record.key)
        if self._judge_thread.dropped > self._dropped:
            self._dropped = self._judge_thread.dropped
            self._faults.record("verdicts: behind", f"{self._dropped} checks skipped")

    def dispatch_results(self) -> None:
        """Store the results and send the replies."""
        for found in self._judge_thread.pop_results():
            self._store(found)
            if found.pending_request is not None and found.reply is not None:
                self._send(found.pending_request.identity, found.reply)

    def _store(self, result: JudgeResult) -> None:
        if result.fault is not None:
            self._faults.record("verdicts", result.fault)
        record = self._event_log.registry.get(result.run)
        if record is None:
            return  # deleted meanwhile
        for verdict in result.verdicts:
            self._event_log.append_verdict(record, verdict)


_OTHERS: Final = tuple(kind for kind in JUDGED_EVENT_KINDS if kind != "sample")
_PAGE_ROWS: Final = 2_000


def read_packed(connection: StoreConnection, run_key: int, judge: RunJudge) -> int:
    """Give a new judge everything up to the newest packed sample, other events too.

    Nothing is given where no sample is packed, or blocks are damaged: events stay the truth.

    Args:
        connection: Any connection on the hub's database.
        judge: Judge of that run; its `row` is set to the last one that was given.

    Returns:
        Number of samples given.
    """
    try:
        packed = PackedSamples(connection, run_key)
        for name in SAMPLED:
            packed.read(connection, name)
    except DamagedBlocks:
        return 0
    if not packed.last_row:
        return 0
    found = ((name, packed.values(name)) for name in SAMPLED)
    columns = {name: values for name, values in found if values is not None}
    _feed_judge(judge, packed.t_s, columns, _events(connection, run_key, 0, packed.last_row))
    judge.row = packed.last_row
    return len(packed.t_s)


def read_part(
    connection: StoreConnection,
    run_key: int,
    judge: RunJudge,
    head: int,
    n_samples: int = BLOCK_SAMPLES,
) -> int:
    """Give a judge the events that follow its row.

    Args:
        connection: Any connection on the hub's database.
        judge: Judge of that run; its `row` is set to the last one that was given.
        head: Last row to give.
        n_samples: Maximum number of samples.

    Returns:
        Number of samples given.
    """
    samples = read_samples(connection, run_key, judge.row, head, n_samples)
    last_row = samples.last_row if len(samples.t_s) == n_samples else head
    columns = {name: samples.columns[name] for name in SAMPLED if name in samples.columns}
    _feed_judge(judge, samples.t_s, columns, _events(connection, run_key, judge.row, last_row))
    judge.row = last_row
    return len(samples.t_s)


def _feed_judge(
    judge: RunJudge,
    t_s: Floats,
    columns: dict[str, Floats],
    events: Iterator[tuple[float, Event]],
) -> None:
    t_s = np.maximum.accumulate(t_s)
    n_fed = 0
    for event_s, event in events:
        # At equal times the event comes first, as the agent sends sources before samples.
        reached = int(np.searchsorted(t_s, event_s))
        if reached > n_fed:
            judge.read_samples(t_s[n_fed:reached], _part(columns, n_fed, reached))
            n_fed = reached
        judge.read(event_s, event)
    if n_fed < len(t_s):
        judge.read_samples(t_s[n_fed:], _part(columns, n_fed, len(t_s)))


def _part(columns: dict[str, Floats], first: int, last: int) -> dict[str, Floats]:
    return {name: values[first:last] for name, values in columns.items()}


def _events(
    connection: StoreConnection,
    run_key: int,
    after_row: int,
    last_row: int,
    kinds: tuple[str, ...] = _OTHERS,
) -> Iterator[tuple[float, Event]]:
    cursor = after_row
    more = True
    while more:
        page = read_event_page(
            connection, PageRequest(cursor, _PAGE_ROWS, (run_key,), kinds), last_row
        )
        for _row, _key, _seq, t_s, body in page.rows:
            try:
                yield t_s, decode_event(body)
            except ProtocolError:
                continue  # of a newer agent
        cursor = page.cursor
        more = page.more
