"""Agents' connections: one for each run of each socket; that of a run's newest session wins."""

from dataclasses import dataclass

from kmonitor.hub.runs.run_record import RunRecord

MAX_CONNECTIONS = 4096
"""Maximum number of connected runs."""

MAX_RUNS_PER_SOCKET = 1024
"""Maximum number of them over one socket."""

_EXPIRES_S = 60.0


@dataclass(slots=True)
class AgentConnection:
    """A run whose agent sent `Hello` for it on one socket.

    Attributes:
        identity: ZeroMQ routing id; proves nothing.
        run: Run id.
        session: Process start id.
        started_wall_s: Start of that session, UTC epoch seconds.
        last_heard_s: Time of its last message, monotonic.
        last: Newest sequence number that it had when it connected.
        acked: Largest sequence number confirmed to it.
        ships: See `Hello`.
        late_s: See `Hello`.
        is_left: See `Hello`.
    """

    identity: bytes
    run: str
    session: str
    started_wall_s: float
    last_heard_s: float
    last: int = 0
    acked: int = 0
    ships: bool = False
    late_s: float = 0.0
    is_left: bool = False

    def note_in(self, record: RunRecord) -> None:
        """Copy to a run's record the properties of its delivery."""
        record.is_shipped = self.ships
        record.late_s = self.late_s
        record.is_left = self.ships and self.is_left


class AgentConnections:
    """Connections by socket and by run, bounded and expired. Owned by the hub's main thread."""

    def __init__(self) -> None:
        self._by_socket: dict[bytes, dict[str, AgentConnection]] = {}
        self._by_run: dict[str, AgentConnection] = {}
        self._last_heard_s: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._by_run)

    def add(self, connection: AgentConnection) -> AgentConnection | None:
        """Add a connection; return the one of the same run that it replaces, if any."""
        old = self._by_run.get(connection.run)
        if old is not None:
            self.drop(old)
        elif len(self._by_run) >= MAX_CONNECTIONS:
            self.drop(min(self._by_run.values(), key=lambda s: s.last_heard_s))
        runs = self._by_socket.setdefault(connection.identity, {})
        runs[connection.run] = connection
        self._by_run[connection.run] = connection
        self.note_message(connection, connection.last_heard_s)
        return old

    def has_room(self, identity: bytes, run: str) -> bool:
        """True if a socket may have one more run, or has this one already."""
        runs = self._by_socket.get(identity, {})
        return run in runs or len(runs) < MAX_RUNS_PER_SOCKET

    def note_message(self, connection: AgentConnection, now_s: float) -> None:
        connection.last_heard_s = now_s
        self._last_heard_s[connection.run] = now_s

    def note_socket_message(self, identity: bytes, now_s: float) -> None:
        """Note a message of a socket: the process of all its runs lives."""
        for connection in self._by_socket.get(identity, {}).values():
            self.note_message(connection, now_s)

    def on_socket(self, identity: bytes, run: str) -> AgentConnection | None:
        """The connection of a run on a socket; None if it sent no `Hello` there."""
        return self._by_socket.get(identity, {}).get(run)

    def of_run(self, run: str) -> AgentConnection | None:
        return self._by_run.get(run)

    def last_heard_s(self, run: str) -> float | None:
        """Time of the run's last message since this hub started, monotonic; None: none yet."""
        return self._last_heard_s.get(run)

    def all(self) -> list[AgentConnection]:
        return list(self._by_run.values())

    def drop(self, connection: AgentConnection) -> None:
        runs = self._by_socket.get(connection.identity, {})
        if runs.get(connection.run) is connection:
            del runs[connection.run]
        if not runs:
            self._by_socket.pop(connection.identity, None)
        if self._by_run.get(connection.run) is connection:
            self._by_run.pop(connection.run)

    def expire(self, now_s: float, live: set[str]) -> None:
        """Forget sessions without a message for a minute; they will say hello again.

        Args:
            now_s: Monotonic time.
            live: Runs whose last message still matters.
        """
        for connection in self.all():
            if now_s - connection.last_heard_s > _EXPIRES_S:
                self.drop(connection)
        for run in self._last_heard_s.keys() - self._by_run.keys() - live:
            del self._last_heard_s[run]
