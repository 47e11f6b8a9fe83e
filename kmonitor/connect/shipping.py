"""Sends the spools of a folder to a hub as their agents would have: in order, once each.

The hub says what it has of each run, and takes only what follows: shipping again sends nothing
twice. Shipping locks and changes nothing in the folder; `kept_reason` says whether a shipped spool
may go, and `delete_shipped` removes it.
"""

import contextlib
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kmonitor.base.errors import UserError
from kmonitor.connect.hub_client import HubAccessDenied, HubUnreachable
from kmonitor.connect.hub_socket import IngestSocket, NetworkHub
from kmonitor_agent.wire.local.file_system import is_on_network_file_system
from kmonitor_agent.wire.local.private_files import UnsafePath
from kmonitor_agent.wire.messages.codec import ProtocolError, UnsupportedType, decode_event
from kmonitor_agent.wire.messages.events import SessionDied, SessionEnded
from kmonitor_agent.wire.messages.fields import (
    MAX_BATCH_BYTES,
    MAX_BATCH_EVENTS,
    MAX_WINDOW_EVENTS,
    MINOR_VERSIONS,
    is_id,
)
from kmonitor_agent.wire.messages.unions import (
    Ack,
    Batch,
    Bye,
    ErrorMessage,
    Hello,
    HelloAgain,
    Nack,
    ToAgent,
    Welcome,
)
from kmonitor_agent.wire.spool.folder import RunSpool, SpooledEvent, encode_lost_event
from kmonitor_agent.wire.spool.format import (
    SessionFacts,
    parse_segment,
    read_segment,
    read_session_facts,
    segments_in,
)
from kmonitor_agent.wire.spool.reader import SpoolChunk, SpoolReader, is_left, lateness_s

_ANSWER_S: Final = 1.0
_POLL_S: Final = 0.2
"""How often to check if the tunnel has ended, or the hub refuses this device."""

_LONG_MS: Final = 5000
"""A hub that asks for a longer pause than this refuses for now."""

_STALLS: Final = 3
"""After so many answers in a row that confirm nothing a run is given up for now."""

_BATCH_BYTES: Final = MAX_BATCH_BYTES - 16 * 1024
"""Leaves room for the frame around the events."""


def _do_nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class IngestEndpoint:
    """A hub's socket for trainings.

    Attributes:
        hub: ZeroMQ address, or a hub on the network.
        trouble: Why the tunnel there has ended; None while it holds.
    """

    hub: str | NetworkHub
    trouble: Callable[[], UserError | None] = _do_nothing

    @property
    def endpoint(self) -> str:
        """As ZeroMQ takes it."""
        return self.hub.address.endpoint if isinstance(self.hub, NetworkHub) else self.hub


@dataclass(slots=True)
class ShippingProgress:
    """Progress with one run's spool, over however many connections.

    Attributes:
        run: Run id.
        host: Host of the process that wrote last; empty when it cannot be read.
        events: How many were sent and the hub has, each once.
        missing: Numbers up to there that nobody has any more.
        waits: What could not be read yet and may still arrive; else empty.
        refused: Why the hub did not take it; empty when it did.
    """

    run: str
    host: str = ""
    events: int = 0
    missing: int = 0
    waits: str = ""
    refused: str = ""
    _had: int = 0
    _spool_chunk: SpoolChunk | None = None

    def begin(self, chunk: SpoolChunk) -> None:
        """This is being sent; the connection may be lost before the hub confirms it."""
        self._spool_chunk = chunk

    def mark_acked(self, seq: int) -> None:
        """Count what was sent up to this number, and was not counted before."""
        chunk = self._spool_chunk
        had = self._had
        if chunk is not None:
            before = chunk.events[0].seq - 1
            last = min(seq, chunk.events[-1].seq)
            self.events += max(0, last - max(before, had))
            self.missing += sum(had < lost <= last for lost in chunk.lost)
            if seq >= before:
                self.missing += max(0, min(chunk.skipped, before - had))
        self._had = max(had, seq)


class Shipper:
    """One connection to a hub's ingest socket, for one thread. Use as a context manager."""

    def __init__(self, endpoint: IngestEndpoint, *, timeout_s: float = 10.0) -> None:
        """Connect; that no hub is there is noticed at the first spool.

        Args:
            endpoint: The hub's.
            timeout_s: How long the hub may take for an answer, seconds.
        """
        self._ingest_endpoint = endpoint
        self._timeout_s = timeout_s
        self._ingest_socket = IngestSocket(endpoint.hub)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._ingest_socket.close(linger_s=0.2)

    def ship(self, reader: SpoolReader, progress: ShippingProgress) -> None:
        """Send all that is there now and that the hub has not.

        Args:
            progress: What was done with it before; goes on counting, also when this raises.

        Raises:
            HubUnreachable: No hub answers.
            HubAccessDenied: It does not let this device in.
            UserError: The tunnel there has ended, and why.
            OSError: The spool cannot be read.
        """
        progress.waits = progress.refused = ""
        if not is_id(reader.run):
            progress.refused = "its folder's name is not a run id"
            return
        facts = newest_facts(reader)
        if facts is None:
            progress.refused = "it has no readable file of this run"
            return
        progress.host = facts.host
        welcomed = self._send_hello(facts, 1, progress, reader.folder)
        if welcomed is None:
            return
        reader.resume_after(welcomed)
        self._send_all(reader, facts, progress)
        progress.waits = reader.why_waiting
        self._ingest_socket.send(Bye(run=reader.run, last=reader.seq, why="finished"))

    def _send_all(
        self, reader: SpoolReader, facts: SessionFacts, progress: ShippingProgress
    ) -> None:
        stalls = 0
        while stalls < _STALLS:
            chunk = reader.read(MAX_WINDOW_EVENTS)
            if not chunk.events:
                return
            progress.begin(chunk)
            # So that the hub writes the gap down.
            begin = chunk.events[0].seq
            folder = reader.folder
            if chunk.skipped and self._send_hello(facts, begin, progress, folder) is None:
                return
            acked = self._send(reader.run, facts, [checked(event) for event in chunk.events])
            first = chunk.events[0].seq
            last = chunk.events[-1].seq
            progress.mark_acked(acked)
            if acked != last:
                # The hub was started again, and forgot what it had not confirmed or more.
                stalls = 0 if acked >= first else stalls + 1
                welcomed = self._send_hello(facts, first, progress, reader.folder)
                if welcomed is None:
                    return
                reader.resume_after(welcomed)
        progress.refused = f"the hub rejects event {reader.seq + 1}"

    def _send_hello(
        self, facts: SessionFacts, first: int, progress: ShippingProgress, folder: Path
    ) -> int | None:
        """The last number that the hub has of a run; None if it does not take the run from us."""
        hello = Hello(
            run=progress.run,
            session=facts.session,
            minor_versions=MINOR_VERSIONS,
            first=first,
            last=first,
            pid=facts.pid,
            host=facts.host,
            started_wall_s=facts.started_wall_s,
            monotonic_s=0.0,
            pid_namespace=facts.pid_namespace,
            ships=True,
            late_s=lateness_s(folder),
            is_left=is_left(folder),
        )
        busy = ""
        for reply in self._replies_to_hello(hello):
            match reply:
                case Welcome(session=facts.session):
                    progress.mark_acked(reply.acked)
                    return reply.acked
                case ErrorMessage(fatal=True):
                    progress.refused = reply.text
                    return None
                case ErrorMessage(code="busy"):
                    # Perhaps by us, over a lost connection: the hub gives it up in a moment.
                    busy = reply.text
                case ErrorMessage(retry_ms=retry_ms) if retry_ms > _LONG_MS:
                    progress.refused = reply.text
                    return None
                case _:
                    continue
        if busy:
            progress.refused = busy
            return None
        raise HubUnreachable(self._ingest_endpoint.endpoint, self._timeout_s)

    def _send(self, run: str, facts: SessionFacts, events: list[SpooledEvent]) -> int:
        """Send events and wait; up to where the hub has confirmed then."""
        last = events[-1].seq
        acked = events[0].seq - 1
        for batch in _batches(events):
            message = Batch(
                run=run, session=facts.session, first=batch[0].seq, events=[e.body for e in batch]
            )
            if not self._ingest_socket.send(message):
                break
        end_s = time.monotonic() + self._timeout_s
        while (
            acked < last and time.monotonic() < end_s and self._ingest_endpoint.trouble() is None
        ):
            match self._ingest_socket.receive(_ANSWER_S):
                case Ack(run=acked_run, acked=seq) if acked_run == run:
                    acked = seq
                case Nack() | HelloAgain() | ErrorMessage() | None:
                    break
                case _:
                    continue
        return acked

    def _replies_to_hello(self, hello: Hello) -> Iterator[ToAgent]:
        """Messages that come while `hello` is repeated; ends when time is up."""
        end_s = time.monotonic() + self._timeout_s
        send_s = 0.0
        while (now_s := time.monotonic()) < end_s:
            trouble = self._ingest_endpoint.trouble()
            if trouble is not None:
                raise trouble
            if self._ingest_socket.refusal:
                raise HubAccessDenied(self._ingest_socket.refusal)
            if now_s >= send_s:
                self._ingest_socket.send(hello)
                send_s = now_s + _ANSWER_S
            reply = self._ingest_socket.receive(min(send_s - now_s, end_s - now_s, _POLL_S))
            if reply is not None:
                yield reply


def _batches(events: list[SpooledEvent]) -> Iterator[list[SpooledEvent]]:
    batch: list[SpooledEvent] = []
    n_bytes = 0
    for event in events:
        size = len(event.body) + 8
        if batch and (len(batch) >= MAX_BATCH_EVENTS or n_bytes + size > _BATCH_BYTES):
            yield batch
            batch = []
            n_bytes = 0
        batch.append(event)
        n_bytes += size
    if batch:
        yield batch


def checked(event: SpooledEvent) -> SpooledEvent:
    """The event, or one that says that it cannot be decoded."""
    try:
        decode_event(event.body)
    except UnsupportedType:
        return event  # of a newer agent: kept as it is
    except ProtocolError as exc:
        return event._replace(body=encode_lost_event(event.seq, 0.0, str(exc)))
    return event


def newest_facts(reader: SpoolReader) -> SessionFacts | None:
    """The session that wrote the newest segment that can be read. Raises: OSError."""
    for path in reversed(segments_in(reader.folder)):
        facts = read_session_facts(path)
        if facts is not None and facts.run == reader.run:
            return facts
    return None


def kept_reason(path: Path, reader: SpoolReader, progress: ShippingProgress) -> str:
    """Why a spool that was shipped has to stay; empty when it may go.

    A lock is only tried where it means something: on a disk of this machine, of a process of
    this machine.

    Args:
        path: The run's folder.
        reader: As far as it was read.
        progress: What was shipped of it.

    Raises:
        OSError: It cannot be read.
    """
    if progress.refused:
        return progress.refused
    if progress.waits or reader.read(1).events:
        return "more of it has arrived since"
    records = parse_segment(read_segment(segments_in(path)[-1])).records
    if records and ends_run(records[-1].body):
        return ""
    is_ours = reader.facts is not None and reader.facts.host == socket.gethostname()
    if not is_ours or is_on_network_file_system(path):
        return f"its process on {progress.host} may still be writing"
    return _in_use_reason(path)


def ends_run(body: bytes) -> bool:
    """True if an event says that the run's process ended, and none follows."""
    try:
        event = decode_event(body)
    except ProtocolError:
        return False
    if isinstance(event, SessionDied):
        return not event.supervisor
    return isinstance(event, SessionEnded) and event.why != "restart"


def _in_use_reason(path: Path) -> str:
    try:
        spool = RunSpool.acquire(path)
    except UnsafePath as exc:
        return str(exc)
    if spool is None:
        return "its process is alive"
    spool.close()
    return ""


def delete_shipped(path: Path) -> bool:
    """Remove a run's folder with everything in it. Raises: OSError."""
    if not segments_in(path):
        return False
    shutil.rmtree(path)
    with contextlib.suppress(OSError):
        path.parent.rmdir()  # that host's, job's and rank's, if nothing else is left
    return True
