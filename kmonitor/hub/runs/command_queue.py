"""Queue of commands, from their request to their end; states only move forward."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

import msgspec

from kmonitor.hub.runs.run_record import CANNOT_DECODE
from kmonitor_agent.wire.messages.commands import (
    FINAL_STATES,
    Arguments,
    Command,
    CommandName,
    CommandState,
    CommandStatus,
)
from kmonitor_agent.wire.messages.fields import Count, Id, Name, Seconds, Text, Wall
from kmonitor_agent.wire.messages.unions import CommandRequest

MAX_OPEN_PER_RUN = 16
"""Maximum number of open commands per run, as in an agent."""

_KEPT_FINAL = 512
_REPEAT_S = 0.5
_REPEAT_BY_TTL = 0.2
_RANKS: dict[CommandState, int] = {"queued": 0, "received": 1, "started": 2}
_FINAL_RANK = 3
_ANSWER_GRACE_S = 60.0


class CommandEntry(msgspec.Struct, omit_defaults=True):
    """One command; owned by the hub's main thread.

    Attributes:
        requested_wall_s: Time of the request, UTC epoch seconds.
        was_sent: True if it was sent to the agent.

    All others are fields of `Command` or `CommandStatus`.
    """

    id: Id
    run: Id
    session: Id
    name: CommandName
    args: Arguments
    ttl_s: Seconds
    requested_by: Name
    requested_wall_s: Wall
    state: CommandState = "queued"
    why: Text = ""
    row: Count | None = None
    was_sent: bool = False

    @property
    def is_final(self) -> bool:
        """True if its state can no longer change."""
        return self.state in FINAL_STATES

    def status(self) -> CommandStatus:
        return CommandStatus(
            id=self.id, run=self.run, name=self.name, state=self.state, why=self.why, row=self.row
        )


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(CommandEntry).decode


class CommandQueue:
    """Open commands, and the last final ones. Owned by the hub's main thread."""

    def __init__(
        self,
        open_entries: Iterable[bytes] = (),
        on_damaged: Callable[[Exception], object] | None = None,
    ) -> None:
        """Args: `on_damaged`: called with the error of an unreadable entry, which is left out."""
        self._open: dict[str, CommandEntry] = {}
        self._final: OrderedDict[str, CommandEntry] = OrderedDict()
        self._dirty: dict[str, CommandEntry] = {}
        self._next_send_s: dict[str, float] = {}
        self._deadline_s: dict[str, float] = {}
        for body in open_entries:
            try:
                entry = _decode(body)
            except CANNOT_DECODE as exc:
                if on_damaged is not None:
                    on_damaged(exc)
                continue
            self._open[entry.id] = entry

    def get(self, command: str) -> CommandEntry | None:
        """A command that is open, or became final lately."""
        return self._open.get(command) or self._final.get(command)

    def remember(self, body: bytes) -> CommandEntry | None:
        """A final command as the database kept it; None if it cannot be read."""
        try:
            entry = _decode(body)
        except CANNOT_DECODE:
            return None
        self._store_final(entry)
        return entry

    def add(self, request: CommandRequest, wall_s: float, refusal: str = "") -> CommandEntry:
        """Take a command: queued, or refused at once for the reason `refusal`."""
        entry = CommandEntry(
            id=request.id,
            run=request.run,
            session=request.session,
            name=request.name,
            args=request.args,
            ttl_s=request.ttl_s,
            requested_by=request.requested_by,
            requested_wall_s=wall_s,
        )
        self._open[entry.id] = entry
        self._dirty[entry.id] = entry
        if refusal:
            self.advance(entry, "refused", refusal)
        return entry

    def forget(self, command: str) -> None:
        """Take back a command that could not be written."""
        self._open.pop(command, None)
        self._final.pop(command, None)
        self._dirty.pop(command, None)

    def advance(
        self, entry: CommandEntry, state: CommandState, why: str = "", row: int | None = None
    ) -> bool:
        """Move a command to a later state; False if `state` is not later."""
        if entry.is_final or _rank(state) <= _rank(entry.state):
            return False
        entry.state = state
        entry.why = why
        entry.row = row
        self._dirty[entry.id] = entry
        if entry.is_final:
            self._open.pop(entry.id, None)
            self._next_send_s.pop(entry.id, None)
            self._deadline_s.pop(entry.id, None)
            self._store_final(entry)
        return True

    def open_of(self, run: str) -> list[CommandEntry]:
        """A run's open commands, in the order of their requests."""
        return [entry for entry in self._open.values() if entry.run == run]

    def due(self, now_s: float) -> Iterator[tuple[CommandEntry, float]]:
        """Queued commands to send now, with the rest of their time to live, seconds.

        Args:
            now_s: Monotonic time. The time to live counts from when this hub first saw the
                command, so that a jump of the wall clock changes nothing.
        """
        for entry in list(self._open.values()):
            if entry.state != "queued":
                continue
            deadline_s = self._deadline_s.setdefault(entry.id, now_s + entry.ttl_s)
            if now_s < deadline_s and now_s >= self._next_send_s.get(entry.id, 0.0):
                pause_s = min(_REPEAT_S, max(0.05, entry.ttl_s * _REPEAT_BY_TTL))
                self._next_send_s[entry.id] = now_s + pause_s
                yield entry, deadline_s - now_s

    def overdue(self, now_s: float) -> Iterator[tuple[CommandEntry, CommandState, str]]:
        """Queued commands whose time is up, with their new state and the reason."""
        for entry in list(self._open.values()):
            deadline_s = self._deadline_s.get(entry.id)
            if entry.state != "queued" or deadline_s is None or now_s < deadline_s:
                continue
            if not entry.was_sent:
                yield entry, "expired", "the training process could not be reached in time"
            elif now_s > deadline_s + _ANSWER_GRACE_S:
                yield entry, "unknown", "it was sent, but the training process never responded"

    def mark_sent(self, entry: CommandEntry) -> None:
        """Note that it was sent to the agent: from now on only the agent knows its result."""
        if not entry.was_sent:
            entry.was_sent = True
            self._dirty[entry.id] = entry

    def pop_dirty(self) -> list[tuple[str, bytes, bool]]:
        """(id, entry, True if it is open) of commands to write; they count as written."""
        dirty = [(e.id, _encode(e), not e.is_final) for e in self._dirty.values()]
        self._dirty.clear()
        return dirty

    @property
    def is_dirty(self) -> bool:
        """True if there are commands to write."""
        return bool(self._dirty)

    def _store_final(self, entry: CommandEntry) -> None:
        self._final[entry.id] = entry
        while len(self._final) > _KEPT_FINAL:
            self._final.popitem(last=False)


def as_command(entry: CommandEntry, ttl_s: float) -> Command:
    """The message for the agent, with `ttl_s` seconds left to live."""
    return Command(
        id=entry.id,
        run=entry.run,
        session=entry.session,
        name=entry.name,
        args=entry.args,
        ttl_s=ttl_s,
        requested_by=entry.requested_by,
    )


def _rank(state: CommandState) -> int:
    return _RANKS.get(state, _FINAL_RANK)
