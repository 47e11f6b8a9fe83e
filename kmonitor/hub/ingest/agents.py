"""The agents' side of the hub: hello, batch, ping, bye; acknowledgements after the commit.

An event that is stored already is compared, and the first one kept.
"""

from typing import assert_never

from kmonitor.hub.access.peers import Send, sender_key
from kmonitor.hub.access.sockets import MessageReader
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.ingest.connections import MAX_RUNS_PER_SOCKET, AgentConnection, AgentConnections
from kmonitor.hub.runs.command_queue import CommandEntry, as_command
from kmonitor.hub.runs.hub_event_log import HubEventLog, Origin, read_event_body
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.codec import (
    ProtocolError,
    unpack_from_agent,
)
from kmonitor_agent.wire.messages.fields import MAX_BATCH_EVENTS, MINOR_VERSIONS
from kmonitor_agent.wire.messages.unions import (
    Ack,
    Batch,
    Bye,
    ErrorMessage,
    Hello,
    HelloAgain,
    Nack,
    Ping,
    Pong,
    Welcome,
)

PING_MS = 500
"""Interval of pings that an agent is to send."""

MAX_RUNS_PER_KEY = 2000
"""Maximum number of runs that one key from the network may send."""

_ALIVE_S = 3.0
"""A session heard within this time keeps its run against a process that started earlier."""


class AgentService:
    """Owned by the hub's main thread."""

    def __init__(self, log: HubEventLog, faults: HubFaults, clock: Clock, send: Send) -> None:
        self.agent_connections = AgentConnections()
        self._event_log = log
        self._faults = faults
        self._clock = clock
        self._send = send
        self._message_reader = MessageReader("ingest", faults, send)
        self._behind: set[str] = set()

    def handle(self, frames: list[bytes]) -> None:
        """Serve one message: routing id and two frames."""
        message = self._message_reader.read(unpack_from_agent, frames)
        if message is None:
            return
        identity = frames[0]
        self.agent_connections.note_socket_message(identity, self._clock.monotonic_s())
        match message:
            case Hello():
                self._on_hello(identity, message)
            case Batch():
                self._batch(identity, message)
            case Ping():
                self._ping(identity, message)
            case Bye():
                self._on_bye(identity, message)
            case ErrorMessage() | Pong():
                if isinstance(message, ErrorMessage):
                    self._faults.record("ingest: agent's error", message.text)
            case _:
                assert_never(message)

    def end_sessions(self, keys: set[str]) -> None:
        """Forget the connections of these keys."""
        for connection in self.agent_connections.all():
            if sender_key(connection.identity) in keys:
                self.agent_connections.drop(connection)

    def acknowledge(self) -> None:
        """After a commit: confirm the stored events, and fetch those refused before it."""
        for connection in self.agent_connections.all():
            record = self._event_log.registry.get(connection.run)
            if record is not None:
                with self._faults.guarded("acknowledge", of=connection.run):
                    self._acknowledge(connection, record)

    def _acknowledge(self, connection: AgentConnection, record: RunRecord) -> None:
        if connection.run in self._behind:
            self._behind.discard(connection.run)
            self._send(connection.identity, HelloAgain(run=connection.run, acked=record.accepted))
        elif record.accepted > connection.acked:
            connection.acked = record.accepted
            self._send(connection.identity, Ack(run=connection.run, acked=record.accepted))

    def send_commands(self) -> None:
        """Send queued commands that are due, and end those whose time is up."""
        now_s = self._clock.monotonic_s()
        for entry, left_s in self._event_log.command_queue.due(now_s):
            connection = self.agent_connections.of_run(entry.run)
            if connection is not None and connection.session == entry.session:
                self._send_command(connection, entry, left_s)
        for entry, state, why in self._event_log.command_queue.overdue(now_s):
            self._event_log.advance_command(entry, state, why)

    def _send_command(
        self, connection: AgentConnection, entry: CommandEntry, left_s: float
    ) -> None:
        if entry.was_sent:
            self._send(connection.identity, as_command(entry, left_s))
            return
        # The next hub must know, too, that the command may have reached the agent.
        self._event_log.command_queue.mark_sent(entry)
        message = as_command(entry, left_s)
        self._event_log.then(lambda: self._send(connection.identity, message))

    def _on_hello(self, identity: bytes, hello: Hello) -> None:
        oldest, newest = MINOR_VERSIONS
        minor = min(newest, hello.minor_versions[1])
        if minor < max(oldest, hello.minor_versions[0]):
            self._faults.record("ingest: version", hello.minor_versions)
            text = (
                f"this hub speaks KM1 minor versions {oldest} to {newest}, and the agent speaks "
                f"{hello.minor_versions[0]} to {hello.minor_versions[1]}: update the older one"
            )
            error = ErrorMessage(code="unsupported", text=text, fatal=True, run=hello.run)
            self._send(identity, error)
            return
        if self._is_refused(identity, hello.run) or not self._accept_session(identity, hello):
            return
        record = self._event_log.registry.get(hello.run)
        # A run is known from its first event on: hellos alone take no memory.
        if hello.first > 1 + (0 if record is None else record.accepted):
            record = self._record(identity, hello.run)
            origin = Origin(
                hello.session, hello.host, hello.pid, hello.pid_namespace, hello.started_wall_s
            )
            self._event_log.append_gap(record, hello.first - 1, origin)
        connection = self.agent_connections.of_run(hello.run)
        # A welcome does not confirm events that were received but not yet committed either.
        if connection is not None:
            if record is not None and hello.ships:
                connection.note_in(record)
            self._event_log.then(lambda: self._send_welcome(connection, minor))

    def _is_refused(self, identity: bytes, run: str) -> bool:
        """True if a key from the network may not send this run; it gets an error then."""
        key = sender_key(identity)
        if not key:
            return False  # all that is here is this user's
        record = self._event_log.registry.get(run)
        connection = self.agent_connections.of_run(run)
        if record is not None:
            is_foreign = record.owner != key
        else:
            is_foreign = connection is not None and sender_key(connection.identity) != key
        if is_foreign:
            self._faults.record("ingest: foreign run", f"{run}, by key {key}")
            text = "this run was started with another key, and only that key may continue it"
            error = ErrorMessage(code="unauthorized", text=text, fatal=True, run=run)
            self._send(identity, error)
        elif record is None and self._event_log.registry.count_of(key) >= MAX_RUNS_PER_KEY:
            is_foreign = True
            text = f"this key has reported {MAX_RUNS_PER_KEY} runs; remove some"
            self._send(identity, ErrorMessage(code="quota", text=text, retry_ms=30_000, run=run))
        return is_foreign

    def _record(self, identity: bytes, run: str) -> RunRecord:
        record = self._event_log.registry.get(run)
        if record is None:
            record = self._event_log.registry.get_or_add(run)
            record.owner = sender_key(identity)
        return record

    def _accept_session(self, identity: bytes, hello: Hello) -> bool:
        now_s = self._clock.monotonic_s()
        current = self.agent_connections.of_run(hello.run)
        if hello.ships and self._may_not_ship(identity, hello.run, current):
            return False
        if not self.agent_connections.has_room(identity, hello.run):
            text = f"{MAX_RUNS_PER_SOCKET} runs of this process are already connected"
            error = ErrorMessage(code="quota", text=text, retry_ms=30_000, run=hello.run)
            self._send(identity, error)
            return False
        if current is not None and current.session != hello.session:
            text = "a newer process of this run is connected"
            error = ErrorMessage(code="superseded", text=text, fatal=True, run=hello.run)
            lives = now_s - current.last_heard_s < _ALIVE_S
            if lives and hello.started_wall_s < current.started_wall_s:
                self._send(identity, error)
                return False
            self._send(current.identity, error)
        connection = AgentConnection(
            identity, hello.run, hello.session, hello.started_wall_s, now_s, hello.last
        )
        connection.ships = hello.ships
        connection.late_s = hello.late_s
        connection.is_left = hello.is_left
        self.agent_connections.add(connection)
        self._behind.discard(hello.run)
        return True

    def _may_not_ship(self, identity: bytes, run: str, current: AgentConnection | None) -> bool:
        """True if a run must not be taken from a folder now; its sender gets an error then."""
        if self._event_log.registry.was_deleted(run):
            text = "it was removed from this hub"
            error = ErrorMessage(code="invalid", text=text, fatal=True, run=run)
            self._send(identity, error)
            return True
        silent_s = 0.0 if current is None else self._clock.monotonic_s() - current.last_heard_s
        if current is None or current.identity == identity or silent_s >= _ALIVE_S:
            return False
        text = "the training process itself reports it to this hub"
        error = ErrorMessage(code="superseded", text=text, fatal=True, run=run)
        if current.ships:
            text = "it is already being shipped"
            error = ErrorMessage(code="busy", text=text, retry_ms=1000, run=run)
        self._send(identity, error)
        return True

    def _send_welcome(self, connection: AgentConnection, minor: int) -> None:
        connection.acked = self._confirmed(self._event_log.registry.get(connection.run))
        welcome = Welcome(
            run=connection.run,
            hub=self._event_log.database.hub,
            session=connection.session,
            minor_version=minor,
            acked=connection.acked,
            ping_ms=PING_MS,
            max_batch=MAX_BATCH_EVENTS,
        )
        self._send(connection.identity, welcome)

    def _batch(self, identity: bytes, batch: Batch) -> None:
        connection = self.agent_connections.on_socket(identity, batch.run)
        if connection is None or connection.session != batch.session:
            record = self._event_log.registry.get(batch.run)
            self._send(identity, HelloAgain(run=batch.run, acked=self._confirmed(record)))
            return
        record = self._record(identity, batch.run)
        if batch.first > record.accepted + 1:
            self._send(identity, HelloAgain(run=batch.run, acked=self._confirmed(record)))
            return
        if self._event_log.is_full:
            # Nothing can be committed now; the agent keeps it and hears of it when it can.
            self._behind.add(batch.run)
            self._faults.record("ingest: full", batch.run)
            return
        n_known = min(record.accepted + 1 - batch.first, len(batch.events))
        if n_known:
            self._compare_known(record, batch, n_known)
        if n_known == len(batch.events):
            self._event_log.then(
                lambda: self._send(identity, Ack(run=batch.run, acked=record.accepted))
            )
            return
        connection.note_in(record)
        self._accept_events(identity, record, batch, n_known)

    def _accept_events(
        self, identity: bytes, record: RunRecord, batch: Batch, n_known: int
    ) -> None:
        new = enumerate(batch.events[n_known:], batch.first + n_known)
        try:
            decoded = [read_event_body(seq, body) for seq, body in new]
        except ProtocolError as exc:
            self._faults.record("ingest: event", exc, of=batch.run)
            nack = Nack(run=batch.run, first=batch.first, n=len(batch.events), why=str(exc)[:1000])
            self._send(identity, nack)
            return
        if record.liveness:
            record.liveness = record.liveness_why = ""
        self._event_log.append(record, decoded)

    def _compare_known(self, record: RunRecord, batch: Batch, n_known: int) -> None:
        stored = self._event_log.database.bodies(
            record.key, batch.first, batch.first + n_known - 1
        )
        for seq, body in enumerate(batch.events[:n_known], batch.first):
            if seq in stored and stored[seq] != body:
                what = f"{seq}: kept the first"
                self._faults.record("ingest: conflict", what, of=record.run)

    def _ping(self, identity: bytes, ping: Ping) -> None:
        connection = self.agent_connections.on_socket(identity, ping.run)
        if connection is None and ping.run:
            self._send(identity, HelloAgain(run=ping.run, acked=0))
            return
        pong = Pong(
            n=ping.n,
            run=ping.run,
            last=0 if connection is None else connection.acked,
            monotonic_s=self._clock.monotonic_s(),
            wall=self._clock.wall_s(),
        )
        self._send(identity, pong)

    def _confirmed(self, record: RunRecord | None) -> int:
        return 0 if record is None else self._event_log.confirmed(record)

    def _on_bye(self, identity: bytes, bye: Bye) -> None:
        connection = self.agent_connections.on_socket(identity, bye.run)
        if connection is not None:
            self.agent_connections.drop(connection)
