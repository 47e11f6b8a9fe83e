"""Agents' connections: one for each run of each socket; that of a run's newest session wins."""

from dataclasses import dataclass

from kmonitor.hub.runs.run_record import RunRecord

MAX_CONNECTIONS = 4096
"""Most runs that are connected at a time."""

MAX_RUNS_PER_SOCKET = 1024
"""Most of them over one socket."""

_EXPIRES_S = 60.0


@dataclass(slots=True)
class AgentConnection:
    """A run whose agent said hello for it on one socket.

    Attributes:
        identity: ZeroMQ routing id; proves nothing.
        run: Run id.
        session: Process start id.
        started_wall_s: When that session started.
        last_heard_s: When anything last came from it, monotonic.
        acked: Largest sequence number confirmed to it.
        ships: It is no process of the run; it ships what one left in a folder.
        late_s: As of `Hello`.
        is_left: Likewise.
    """

    identity: bytes
    run: str
    session: str
    started_wall_s: float
    last_heard_s: float
    acked: int = 0
    ships: bool = False
    late_s: float = 0.0
    is_left: bool = False

    def note_in(self, record: RunRecord) -> None:
        """Have a run's record know how it comes."""
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
        """Take a connection; returns the one of the same run that it replaces, if any."""
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
        """Whether a socket may have one more run, or has this one already."""
        runs = self._by_socket.get(identity, {})
        return run in runs or len(runs) < MAX_RUNS_PER_SOCKET

    def note_message(self, connection: AgentConnection, now_s: float) -> None:
        """Note that something came from it."""
        connection.last_heard_s = now_s
        self._last_heard_s[connection.run] = now_s

    def note_socket_message(self, identity: bytes, now_s: float) -> None:
        """Note that something came from a socket: all its runs' process lives."""
        for connection in self._by_socket.get(identity, {}).values():
            self.note_message(connection, now_s)

    def on_socket(self, identity: bytes, run: str) -> AgentConnection | None:
        """The connection of a run on a socket; None if it said no hello there."""
        return self._by_socket.get(identity, {}).get(run)

    def of_run(self, run: str) -> AgentConnection | None:
        return self._by_run.get(run)

    def last_heard_s(self, run: str) -> float | None:
        """When the run was last heard since this hub started, monotonic; None: not yet."""
        return self._last_heard_s.get(run)

    def all(self) -> list[AgentConnection]:
        return list(self._by_run.values())

    def drop(self, connection: AgentConnection) -> None:
        """Forget a connection."""
        runs = self._by_socket.get(connection.identity, {})
        if runs.get(connection.run) is connection:
            del runs[connection.run]
        if not runs:
            self._by_socket.pop(connection.identity, None)
        if self._by_run.get(connection.run) is connection:
            self._by_run.pop(connection.run)

    def expire(self, now_s: float, live: set[str]) -> None:
        """Forget sessions from which nothing came for a minute; they will say hello again.

        Args:
            now_s: Monotonic time.
            live: Runs of which it still matters when they were heard last.
        """
        for connection in self.all():
            if now_s - connection.last_heard_s > _EXPIRES_S:
                self.drop(connection)
        for run in self._last_heard_s.keys() - self._by_run.keys() - live:
            del self._last_heard_s[run]
