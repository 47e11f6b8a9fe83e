"""Sends the spools of a folder to a hub as their agents would have: in order, once each.

The hub reports the last event that it has of each run, and takes only the following ones, so that
shipping again sends nothing twice. Shipping locks and changes nothing in the folder; `kept_reason`
reports if a shipped spool may be deleted, and `delete_shipped` deletes it.
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
"""Interval of checks for an ended tunnel or a refusal by the hub, seconds."""

_LONG_MS: Final = 5000
"""Longest pause, milliseconds; a hub that requests a longer one refuses for now."""

_STALLS: Final = 3
"""Consecutive replies without any confirmation after which a run is given up for now."""

_BATCH_BYTES: Final = MAX_BATCH_BYTES - 16 * 1024
"""Most bytes of events per batch; leaves room for the frame around them."""


def _do_nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class IngestEndpoint:
    """A hub's socket for trainings.

    Attributes:
        hub: ZeroMQ address, or a hub on the network.
        trouble: Returns the reason why the tunnel to the hub has ended; None while it is open.
    """

    hub: str | NetworkHub
    trouble: Callable[[], UserError | None] = _do_nothing

    @property
    def endpoint(self) -> str:
        """Endpoint of the hub in ZeroMQ's form."""
        return self.hub.address.endpoint if isinstance(self.hub, NetworkHub) else self.hub


@dataclass(slots=True)
class ShippingProgress:
    """Progress with one run's spool, over any number of connections.

    Attributes:
        run: Run id.
        host: Host of the process that wrote last; empty when it cannot be read.
        events: Number of events that were sent and confirmed by the hub, each counted once.
        missing: Number of events up to there that are lost.
        waits: Data that could not be read yet and may still arrive, as text; else empty.
        refused: Reason why the hub did not take the run; empty if it did.
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
        """Note the chunk to send; the connection may be lost before the hub confirms it."""
        self._spool_chunk = chunk

    def mark_acked(self, seq: int) -> None:
        """Count the sent events up to this number that were not counted before."""
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
        """Connect; a missing hub is noticed at the first spool.

        Args:
            endpoint: Ingest endpoint of the hub.
            timeout_s: Longest wait for a reply of the hub, seconds.
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
        self._ingest_socket.close(linger_s=0.2)

    def ship(self, reader: SpoolReader, progress: ShippingProgress) -> None:
        """Send all events that are in the spool now and that the hub does not have.

        Args:
            reader: Reader of the run's spool.
            progress: Progress so far; it is updated, also when this raises.

        Raises:
            HubUnreachable: No hub replies.
            HubAccessDenied: The hub does not let this device in.
            UserError: The tunnel to the hub has ended, with the reason.
            OSError: The spool cannot be read.
        """
        progress.waits = progress.refused = ""
        if not is_id(reader.run):
            progress.refused = "its folder's name is not a run ID"
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
        """Number of the last event that the hub has of a run; None if it refuses the run."""
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
        """Send events and wait; return the number of the last confirmed event."""
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
        """Yield messages that arrive while `hello` is repeated, until the timeout."""
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
    """The event, or one that reports that it cannot be decoded."""
    try:
        decode_event(event.body)
    except UnsupportedType:
        return event  # of a newer agent: kept as it is
    except ProtocolError as exc:
        return event._replace(body=encode_lost_event(event.seq, 0.0, str(exc)))
    return event


def newest_facts(reader: SpoolReader) -> SessionFacts | None:
    """Session that wrote the newest readable segment; None: none. Raises: OSError."""
    for path in reversed(segments_in(reader.folder)):
        facts = read_session_facts(path)
        if facts is not None and facts.run == reader.run:
            return facts
    return None


def kept_reason(path: Path, reader: SpoolReader, progress: ShippingProgress) -> str:
    """Return the reason why a shipped spool must be kept; empty when it may be deleted.

    A lock is only tried where it has a meaning: on a disk of this machine, for a process of
    this machine.

    Args:
        path: The run's folder.
        reader: Reader of the spool, after shipping.

    Raises:
        OSError: The spool cannot be read.
    """
    if progress.refused:
        return progress.refused
    if progress.waits or reader.read(1).events:
        return "more of its data has arrived since then"
    records = parse_segment(read_segment(segments_in(path)[-1])).records
    if records and ends_run(records[-1].body):
        return ""
    is_ours = reader.facts is not None and reader.facts.host == socket.gethostname()
    if not is_ours or is_on_network_file_system(path):
        return f"its process on {progress.host} may still be writing"
    return _in_use_reason(path)


def ends_run(body: bytes) -> bool:
    """True if an event reports the end of the run's process, so that no event follows."""
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
