"""The desktops' side of the hub: runs, rows, series, commands, edits; one reply per request."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, assert_never

import msgspec
from msgspec.structs import replace

from kmonitor.hub.access.peers import Peer, Send, sender_key
from kmonitor.hub.access.sockets import MessageReader
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.runs.command_queue import MAX_OPEN_PER_RUN, CommandEntry
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.store.connection import READ_ERRORS
from kmonitor.hub.store.pages import PageRequest
from kmonitor.hub.store.row_checks import DAMAGED
from kmonitor.hub.views.edits import OF_ANOTHER, EditService
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.codec import unpack_from_desktop
from kmonitor_agent.wire.messages.events import FieldSource
from kmonitor_agent.wire.messages.fields import MAX_ANSWER_ROWS_BYTES
from kmonitor_agent.wire.messages.unions import (
    AuditRequest,
    ChangeHint,
    CommandReply,
    CommandRequest,
    EditRequest,
    ErrorMessage,
    EventRow,
    FromDesktop,
    HubRequest,
    KeysRequest,
    Ping,
    Pong,
    RowsReply,
    RowsRequest,
    RunsReply,
    RunsRequest,
    RunSummary,
    SeriesReply,
    SeriesRequest,
    VerdictsRequest,
    troubles_checksum,
)
from kmonitor_agent.wire.release import VERSION
from kmonitor_agent.wire.spool.folder import encode_lost_event

if TYPE_CHECKING:
    from kmonitor.hub.runs.run_record import RunRecord


TURN_S: Final = 0.02
"""Time for which pages are answered before others have a turn, seconds; one takes up to 5 ms."""

MOST_OF_ONE: Final = 8
"""Maximum number of waiting requests of one desktop; above it the oldest is dropped, and the
desktop repeats it."""

_PAGE_ROWS: Final = 1000
_LEAST_ROWS: Final = 50


class RowsQueue:
    """Answers desktops in turn, with shorter pages the more of them wait.

    Owned by the hub's main thread.
    """

    def __init__(self, answer: Callable[[bytes, RowsRequest], None], clock: Clock) -> None:
        """Args: `answer`: reads and sends one page. `clock`: ends a turn."""
        self._answer = answer
        self._clock = clock
        self._waiting: dict[bytes, deque[RowsRequest]] = {}
        self._end_s = clock.monotonic_s() + TURN_S

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, identity: bytes, request: RowsRequest) -> None:
        """Answer a request, now if no other waits and the turn is not over."""
        if not self._waiting and self._clock.monotonic_s() < self._end_s:
            self._answer(identity, request)
            return
        requests = self._waiting.setdefault(identity, deque(maxlen=MOST_OF_ONE))
        if request not in requests:
            requests.append(request)

    def serve(self) -> None:
        """Begin a turn: answer waiting desktops, each once before any of them twice."""
        self._end_s = self._clock.monotonic_s() + TURN_S
        while self._waiting and self._clock.monotonic_s() < self._end_s:
            most = max(_LEAST_ROWS, _PAGE_ROWS // len(self._waiting))
            identity, requests = next(iter(self._waiting.items()))
            request = requests.popleft()
            del self._waiting[identity]
            if requests:
                self._waiting[identity] = requests  # behind all others
            self._answer(identity, replace(request, limit=min(request.limit, most)))

    def forget(self, identity: bytes) -> None:
        """Drop the requests of a desktop that is gone."""
        self._waiting.pop(identity, None)


_encode = msgspec.msgpack.Encoder().encode

MAX_VIEWERS = 256
_VIEWER_EXPIRES_S = 10.0
_HINT_INTERVAL_S = 0.2


class SeriesProvider(Protocol):
    """Answers requests for series, on a thread of its own."""

    def add_request(
        self,
        identity: bytes,
        request: SeriesRequest,
        run_key: int,
        sources: list[FieldSource],
        n_events: int,
    ) -> bool:
        """Add a request, once; False if too many wait."""
        ...


class VerdictProvider(Protocol):
    """Judges runs, on a thread of its own."""

    def add_request(
        self, identity: bytes, request: VerdictsRequest, run_key: int, n_events: int
    ) -> bool:
        """Add a request, once; False if too many wait."""
        ...


@dataclass(frozen=True, slots=True)
class ViewerContext:
    """Collaborators of `ViewerService`.

    Attributes:
        host: Name of this host.
        series: Answers requests for series.
        verdicts: Judges runs.
        commands: Checks and queues commands.
        edits: Checks and makes edits.
        peer_of: Returns the peer behind an identity.
        troubles: Returns the hub problems.
        on_hub_request: Answers `HubRequest`.
        on_access_request: Answers `KeysRequest` and `AuditRequest`.
    """

    host: str
    series: SeriesProvider
    verdicts: VerdictProvider
    commands: "CommandService"
    edits: EditService
    peer_of: "Callable[[bytes], Peer | None]"
    troubles: "Callable[[], list[str]]"
    on_hub_request: "Callable[[bytes, HubRequest], None]"
    on_access_request: "Callable[[bytes, KeysRequest | AuditRequest], None]"


class ViewerService:
    """Owned by the hub's main thread.

    Attributes:
        rows_queue: Waiting requests for pages.
    """

    def __init__(
        self,
        log: HubEventLog,
        context: ViewerContext,
        faults: HubFaults,
        clock: Clock,
        send: Send,
    ) -> None:
        self._event_log = log
        self._context = context
        self._faults = faults
        self._clock = clock
        self._send = send
        self.rows_queue = RowsQueue(self._answer, clock)
        self._message_reader = MessageReader("view", faults, send)
        self._last_ping_s: dict[bytes, float] = {}
        # Only who stays connected pings.
        self._pinging: set[bytes] = set()
        self._hinted = ChangeHint(head=0, change=0)
        self._hint_after_s = 0.0

    def __len__(self) -> int:
        return len(self._last_ping_s)

    def count_desktops(self) -> int:
        """Number of connected desktops, without clients that ask once, as the command line."""
        hint = self._news()
        for identity in list(self._pinging):
            if not self._send(identity, hint):
                self._forget(identity)
        return len(self._pinging)

    def handle(self, frames: list[bytes]) -> None:
        """Serve one message: routing id and two frames."""
        message = self._message_reader.read(unpack_from_desktop, frames)
        if message is None:
            return
        identity = frames[0]
        self._note_ping(identity)
        if isinstance(message, RowsRequest):
            self.rows_queue.put(identity, message)
        else:
            self._answer(identity, message)

    def _answer(self, identity: bytes, message: FromDesktop) -> None:
        try:
            self._serve(identity, message)
        except READ_ERRORS as exc:
            self._faults.record("view: store", exc)
            text = f"the database could not be read: {exc}"
            request_number = getattr(message, "request_id", 0)
            self._send(
                identity,
                ErrorMessage(code="busy", text=text, retry_ms=1000, request_id=request_number),
            )

    def hint(self) -> None:
        """Notify every desktop of changes, at most five times a second."""
        now_s = self._clock.monotonic_s()
        hint = self._news()
        if hint == self._hinted or now_s < self._hint_after_s:
            return
        self._hinted = hint
        self._hint_after_s = now_s + _HINT_INTERVAL_S
        for identity in list(self._last_ping_s):
            if not self._send(identity, hint):
                self._forget(identity)

    def _news(self) -> ChangeHint:
        event_log = self._event_log
        return ChangeHint(
            head=event_log.head,
            change=event_log.registry.change,
            is_troubled=bool(event_log.trouble),
            troubles=troubles_checksum(self._context.troubles()),
        )

    def expire(self) -> None:
        """Forget desktops that were silent for ten seconds."""
        oldest_s = self._clock.monotonic_s() - _VIEWER_EXPIRES_S
        gone = [who for who, last_ping_s in self._last_ping_s.items() if last_ping_s < oldest_s]
        for identity in gone:
            self._forget(identity)

    def end_sessions(self, keys: set[str]) -> None:
        """Forget the desktops with these keys."""
        for identity in [who for who in self._last_ping_s if sender_key(who) in keys]:
            self._forget(identity)

    def _note_ping(self, identity: bytes) -> None:
        if identity not in self._last_ping_s and len(self._last_ping_s) >= MAX_VIEWERS:
            self._forget(min(self._last_ping_s, key=lambda who: self._last_ping_s[who]))
        self._last_ping_s[identity] = self._clock.monotonic_s()

    def _forget(self, identity: bytes) -> None:
        del self._last_ping_s[identity]
        self._pinging.discard(identity)
        self.rows_queue.forget(identity)

    def _serve(self, identity: bytes, message: FromDesktop) -> None:
        match message:
            case RunsRequest() | RowsRequest() | SeriesRequest() | VerdictsRequest():
                self._handle_query(identity, message)
            case CommandRequest():
                self._command(identity, message)
            case EditRequest():
                self._edit(identity, message)
            case HubRequest():
                self._context.on_hub_request(identity, message)
            case KeysRequest() | AuditRequest():
                self._context.on_access_request(identity, message)
            case Ping() | Pong():
                self._pong(identity, message)
            case _:
                assert_never(message)

    def _handle_query(
        self, identity: bytes, message: RunsRequest | RowsRequest | SeriesRequest | VerdictsRequest
    ) -> None:
        match message:
            case RunsRequest():
                self._send(identity, self._runs(message))
            case RowsRequest():
                self._send(identity, self._rows(message))
            case SeriesRequest():
                self._request_series(identity, message)
            case VerdictsRequest():
                self._request_verdicts(identity, message)

    def _pong(self, identity: bytes, message: Ping | Pong) -> None:
        if isinstance(message, Ping):
            self._pinging.add(identity)
            mono = self._clock.monotonic_s()
            wall = self._clock.wall_s()
            self._send(identity, Pong(n=message.n, monotonic_s=mono, wall=wall))

    def _runs(self, request: RunsRequest) -> RunsReply:
        registry = self._event_log.registry
        since = request.since_change
        records, more = registry.changed_since(since)
        summaries, n_sent = self._summaries(records)
        more = more or n_sent < len(records)
        change = records[n_sent - 1].change if more else registry.change
        return RunsReply(
            request_id=request.request_id,
            hub=self._event_log.database.hub,
            change=change,
            head=self._event_log.head,
            version=VERSION,
            host=self._context.host,
            runs=sorted(summaries, key=lambda summary: summary.started_wall_s),
            deleted=registry.deleted_since(since),
            more=more,
        )

    def _summaries(self, records: "Sequence[RunRecord]") -> tuple[list[RunSummary], int]:
        """Summaries that fit into one reply, and the number of records that they cover."""
        found: list[RunSummary] = []
        n_bytes = 0
        for number, record in enumerate(records):
            # A fault in one run must not hide all others.
            with self._faults.guarded("view: run", of=record.run):
                summary = record.summary()
                n_bytes += len(_encode(summary))
                if found and n_bytes > MAX_ANSWER_ROWS_BYTES:
                    return found, number
                found.append(summary)
        return found, len(records)

    def _rows(self, request: RowsRequest) -> RowsReply:
        registry = self._event_log.registry
        head = self._event_log.head
        records = [registry.find(run) for run in request.runs]
        keys = tuple(record.key for record in records if record is not None)
        reply = RowsReply(
            request_id=request.request_id,
            hub=self._event_log.database.hub,
            cursor=max(request.cursor, head) if request.runs else request.cursor,
            rows=[],
            more=False,
            head=head,
        )
        if request.runs and not keys:
            return reply  # none of these runs is known
        page = self._event_log.database.page(
            PageRequest(request.cursor, request.limit, keys, tuple(request.kinds))
        )
        rows: list[EventRow] = []
        for row, key, seq, t_s, body in page.rows:
            run = registry.id_of(key)
            if run is not None:  # else deleted, and not yet swept
                rows.append(self._row(row, run, seq, t_s, body))
        return msgspec.structs.replace(reply, cursor=page.cursor, rows=rows, more=page.more)

    def _row(self, row: int, run: str, seq: int, t_s: float, body: bytes) -> EventRow:
        seq = max(0, seq)
        if not body:
            self._faults.record("store: row", DAMAGED, of=f"row {row} of {run}")
            body = encode_lost_event(seq, t_s, DAMAGED)
        return EventRow(row=row, run=run, seq=seq, t_s=t_s, body=body)

    def _request_series(self, identity: bytes, request: SeriesRequest) -> None:
        record = self._event_log.registry.find(request.run)
        if record is None:
            self._refuse(identity, request.request_id, "not_found", "this hub has no such run")
            return
        if not request.columns:
            have = sorted(record.extra_columns)
            reply = SeriesReply(request_id=request.request_id, run=request.run, row=0, columns=[])
            self._send(identity, msgspec.structs.replace(reply, have=have))
            return
        wanted = {_source_field(column) for column in request.columns}
        # A column of whole epochs has the source of the field that it is of.
        wanted |= {column.removeprefix("epoch:") for column in wanted}
        sources = [source for field, source in record.sources.items() if field in wanted]
        if not self._context.series.add_request(
            identity, request, record.key, sources, record.rows
        ):
            text = "too many charts are being drawn at the same time"
            self._send(
                identity,
                ErrorMessage(code="busy", text=text, retry_ms=200, request_id=request.request_id),
            )

    def _request_verdicts(self, identity: bytes, request: VerdictsRequest) -> None:
        record = self._event_log.registry.find(request.run)
        if record is None:
            self._refuse(identity, request.request_id, "not_found", "this hub has no such run")
        elif not self._context.verdicts.add_request(identity, request, record.key, record.rows):
            text = "too many runs are being evaluated at the same time"
            self._send(
                identity,
                ErrorMessage(code="busy", text=text, retry_ms=200, request_id=request.request_id),
            )

    def _command(self, identity: bytes, request: CommandRequest) -> None:
        peer = self._peer(identity)
        # From this host it is this user's own word; from the network only the key is proven.
        requested_by = peer.who if peer.is_far else request.requested_by or peer.who
        answer = self._context.commands.submit(
            msgspec.structs.replace(request, requested_by=requested_by)
        )
        if self._event_log.flush():
            # A state that a desktop has seen must outlive this process.
            self._send(identity, answer())
            return
        status = answer()
        if not isinstance(status, ErrorMessage):
            text = (
                f"{self._event_log.trouble}; the state of the command will be reported once this"
                " is resolved"
            )
            status = ErrorMessage(
                code="busy", text=text, retry_ms=1000, request_id=request.request_id
            )
        self._send(identity, status)

    def _edit(self, identity: bytes, request: EditRequest) -> None:
        reply = self._context.edits.apply_edit(self._peer(identity).who, request)
        self._send(identity, reply)

    def _peer(self, identity: bytes) -> Peer:
        peer = self._context.peer_of(identity)
        return Peer("viewer", sender_key(identity), "revoked") if peer is None else peer

    def _refuse(
        self,
        identity: bytes,
        request_number: int,
        code: Literal["not_found", "invalid"],
        text: str,
    ) -> None:
        self._send(identity, ErrorMessage(code=code, text=text, request_id=request_number))


def _source_field(column: str) -> str:
    return column.removeprefix("epoch:")


class CommandService:
    """Queues commands that can be carried out, and refuses others at once, with a reason.

    Owned by the hub's main thread.
    """

    def __init__(
        self, log: HubEventLog, clock: Clock, is_gone: "Callable[[RunRecord], bool]"
    ) -> None:
        """Args: `is_gone`: True if the process of a run that is not over is seen to be dead."""
        self._is_gone = is_gone
        self._event_log = log
        self._clock = clock

    def submit(self, request: CommandRequest) -> Callable[[], CommandReply | ErrorMessage]:
        """Add a command, or find one that was requested before; return its status."""
        entry = self._known(request.id)
        if entry is None:
            record = self._event_log.registry.get(request.run)
            if self._event_log.registry.is_of_another(request.run):
                return lambda: _command_error(request, "invalid", OF_ANOTHER)
            if record is None:
                return lambda: _command_error(request, "not_found", "this hub has no such run")
            entry = self._add(request)
            if entry is None:
                return lambda: _command_error(
                    request, "invalid", f"{self._event_log.trouble}; the command was not sent"
                )
        elif (entry.run, entry.name) != (request.run, request.name):
            return lambda: _command_error(request, "invalid", "this ID belongs to another command")
        return lambda: CommandReply(request_id=request.request_id, status=entry.status())

    def _add(self, request: CommandRequest) -> CommandEntry | None:
        """The queued command; None if it cannot be written: it is then not carried out later."""
        queue = self._event_log.command_queue
        refusal = self._refusal(request)
        result = f"refused: {refusal}" if refusal else "queued"
        is_added = self._event_log.attempt(
            lambda: queue.add(request, self._clock.wall_s(), refusal),
            lambda: queue.forget(request.id),
            [(request.requested_by, f"command {request.name}", request.run, request.id, result)],
        )
        return queue.get(request.id) if is_added else None

    def _known(self, command: str) -> CommandEntry | None:
        found = self._event_log.command_queue.get(command)
        if found is not None:
            return found
        body = self._event_log.database.command(command)
        return None if body is None else self._event_log.command_queue.remember(body)

    def _refusal(self, request: CommandRequest) -> str:
        record = self._event_log.registry.get(request.run)
        if record is None or record.is_over:
            return "the run has ended"
        if request.session != record.session:
            return "the run was restarted in a new process after this command was sent"
        if self._is_gone(record):
            return "the training process has ended"
        if record.is_shipped or request.name not in record.actions:
            return _cannot(record, request.name)
        if len(self._event_log.command_queue.open_of(request.run)) >= MAX_OPEN_PER_RUN:
            return f"{MAX_OPEN_PER_RUN} commands are already waiting"
        return ""


def _cannot(record: "RunRecord", name: str) -> str:
    if record.is_shipped:
        return "this run was read from a folder: commands cannot be sent to its process"
    if not record.actions:
        return "this run does not accept commands: it was started with commands=False"
    return f"this run does not support {name}"


def _command_error(
    request: CommandRequest, code: Literal["not_found", "invalid"], text: str
) -> ErrorMessage:
    return ErrorMessage(code=code, text=text, request_id=request.request_id)
