"""Who is connected: one session per agent's socket, the newest boot of a run wins."""

from dataclasses import dataclass

MAX_SESSIONS = 1024
_EXPIRES_S = 60.0


@dataclass(slots=True)
class Session:
    """An agent that said hello on one socket.

    Attributes:
        identity: ZeroMQ routing id; proves nothing.
        run: Run id.
        boot: Process start id.
        start_wall_s: When that boot started.
        heard_s: When anything last came from it, monotonic.
        acked: Largest sequence number confirmed to it.
        ships: It is no process of the run; it ships what one left in a folder.
    """

    identity: bytes
    run: str
    boot: str
    start_wall_s: float
    heard_s: float
    acked: int = 0
    ships: bool = False


class Sessions:
    """Sessions by socket and by run, bounded and expired. Owned by the hub's main thread."""

    def __init__(self) -> None:
        self._by_identity: dict[bytes, Session] = {}
        self._by_run: dict[str, Session] = {}
        self._heard_s: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._by_identity)

    def add(self, session: Session) -> Session | None:
        """Take a session; returns the one of the same run that it replaces, if any."""
        old = self._by_run.get(session.run)
        if old is not None:
            self._by_identity.pop(old.identity, None)
        moved = self._by_identity.get(session.identity)
        if moved is not None:
            self.drop(moved)
        if len(self._by_identity) >= MAX_SESSIONS:
            self.drop(min(self._by_identity.values(), key=lambda s: s.heard_s))
        self._by_identity[session.identity] = session
        self._by_run[session.run] = session
        self.hear(session, session.heard_s)
        return old

    def hear(self, session: Session, now_s: float) -> None:
        """Note that something came from it."""
        session.heard_s = now_s
        self._heard_s[session.run] = now_s

    def hear_socket(self, identity: bytes, now_s: float) -> Session | None:
        """The session on a socket, from which something just came."""
        session = self._by_identity.get(identity)
        if session is not None:
            self.hear(session, now_s)
        return session

    def of_run(self, run: str) -> Session | None:
        """The session of a run."""
        return self._by_run.get(run)

    def last_heard_s(self, run: str) -> float | None:
        """When the run was last heard since this hub started, monotonic; None: not yet."""
        return self._heard_s.get(run)

    def all(self) -> list[Session]:
        """Every session."""
        return list(self._by_run.values())

    def drop(self, session: Session) -> None:
        """Forget a session."""
        self._by_identity.pop(session.identity, None)
        if self._by_run.get(session.run) is session:
            self._by_run.pop(session.run)

    def expire(self, now_s: float, live: set[str]) -> None:
        """Forget sessions from which nothing came for a minute; they will say hello again.

        Args:
            now_s: Monotonic time.
            live: Runs of which it still matters when they were heard last.
        """
        for session in self.all():
            if now_s - session.heard_s > _EXPIRES_S:
                self.drop(session)
        for run in self._heard_s.keys() - self._by_run.keys() - live:
            del self._heard_s[run]
