"""The messages between an agent and its hub."""

from typing import Annotated, Literal

import msgspec

from kmonitor_agent.wire.messages.fields import (
    MAX_BATCH_EVENTS,
    MAX_COUNT,
    MAX_EVENT_BYTES,
    Count,
    Id,
    Name,
    Seconds,
    Text,
    Wall,
)

MinorVersion = Annotated[int, msgspec.Meta(ge=0, le=65535)]
OptionalRunId = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z_-]{0,64}\Z")]
"""The run that a message is about; empty: the whole connection."""

EventBytes = Annotated[bytes, msgspec.Meta(max_length=MAX_EVENT_BYTES)]


class Message(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type"):
    """Common part of all messages."""


class Hello(Message, frozen=True, tag="hello"):
    """Agent to hub, on each new socket and each 0.5 s until welcomed.

    Attributes:
        run: Run id.
        session: Process start id.
        minor_versions: Oldest and newest minor version spoken.
        first: Oldest sequence number that the spool still holds (1 when empty).
        last: Newest sequence number spooled, 0 when none.
        pid: Process id.
        pid_namespace: Inode of its PID namespace, 0 if unknown.
        ships: True if the sender is not the process itself, but ships its events from a folder.
        late_s: Maximum delay of these events after they were written, seconds.
        is_left: True if no process holds that folder's spool, and its own process did not close
            it.
        host: Host name.
        started_wall_s: UTC epoch seconds at the session's `t_s == 0`.
        monotonic_s: Current `t_s` of the session.
    """

    run: Id
    session: Id
    minor_versions: tuple[MinorVersion, MinorVersion]
    first: Count
    last: Count
    pid: Count
    host: Name
    started_wall_s: Wall
    monotonic_s: Seconds
    pid_namespace: Count = 0
    ships: bool = False
    late_s: Seconds = 0.0
    is_left: bool = False


class Welcome(Message, frozen=True, tag="welcome"):
    """Hub to agent: session accepted; rewind to `acked` and send what follows.

    Attributes:
        run: Run id.
        hub: The hub's id, kept in its database.
        session: The accepted session.
        minor_version: Minor version spoken from now on.
        acked: Last sequence number that the hub has stored, 0 when none.
        ping_ms: Interval between pings, milliseconds.
        max_batch: Most events in one batch.
    """

    run: Id
    hub: Id
    session: Id
    minor_version: MinorVersion
    acked: Count
    ping_ms: Annotated[int, msgspec.Meta(ge=10, le=60_000)]
    max_batch: Annotated[int, msgspec.Meta(ge=1, le=MAX_BATCH_EVENTS)]


class Batch(Message, frozen=True, tag="batch"):
    """Agent to hub: events with sequence numbers `first`, `first + 1`, ...

    Attributes:
        run: Run id.
        session: Process start id.
        first: Sequence number of the first event.
        events: Encoded events, opaque here.
    """

    run: Id
    session: Id
    first: Annotated[int, msgspec.Meta(ge=1, le=MAX_COUNT)]
    events: Annotated[list[EventBytes], msgspec.Meta(min_length=1, max_length=MAX_BATCH_EVENTS)]

    def __post_init__(self) -> None:
        # Each number within its bound says nothing of their sum, which is stored too.
        if self.first + len(self.events) - 1 > MAX_COUNT:
            raise ValueError(f"the last number is greater than {MAX_COUNT}")


class Ack(Message, frozen=True, tag="ack"):
    """Hub to agent, after COMMIT: all up to `acked` is stored.

    Attributes:
        run: Run id.
        acked: Last sequence number stored.
    """

    run: Id
    acked: Count


class HelloAgain(Message, frozen=True, tag="hello_again"):
    """Hub to agent: unknown session or a gap; say hello again for this run.

    Attributes:
        run: Run id.
        acked: Last sequence number stored, as far as the hub knows the run; else 0.
    """

    run: Id
    acked: Count


class Nack(Message, frozen=True, tag="nack"):
    """Hub to agent: these `n` events from `first` were refused.

    Attributes:
        run: Run id.
        first: Sequence number of the first event refused.
        n: Number of refused events.
        why: Why they were refused.
    """

    run: Id
    first: Count
    n: Count
    why: Text


class Ping(Message, frozen=True, tag="ping"):
    """Either way: check that the other side is alive.

    Attributes:
        n: Number, repeated in the reply.
        run: One of the agent's runs, a different one each time; empty on a desktop's socket.
        last: Newest sequence number or row of the sender.
        monotonic_s: The sender's monotonic clock, seconds.
        wall: The sender's wall clock, UTC epoch seconds.
    """

    n: Count
    run: OptionalRunId = ""
    last: Count = 0
    monotonic_s: Seconds = 0.0
    wall: Wall = 0.0


class Pong(Message, frozen=True, tag="pong"):
    """Reply to a ping, with its number.

    Attributes:
        n: Number of the ping.
        run: Run of the ping.
        last: Newest sequence number or row of the sender.
        monotonic_s: The sender's monotonic clock, seconds.
        wall: The sender's wall clock, UTC epoch seconds.
    """

    n: Count
    run: OptionalRunId = ""
    last: Count = 0
    monotonic_s: Seconds = 0.0
    wall: Wall = 0.0


class Bye(Message, frozen=True, tag="bye"):
    """Agent to hub: the process leaves; `last` is its last sequence number.

    Attributes:
        run: Run id.
        last: Last sequence number of the process.
        why: How the process ends.
    """

    run: Id
    last: Count
    why: Literal["finished", "error", "restart", "stop"]


class ErrorMessage(Message, frozen=True, tag="error"):
    """Any way: a request could not be served.

    Attributes:
        code: Code for programs.
        text: Text for the user: what was wrong and what to do.
        fatal: True if a retry is useless.
        retry_ms: Time until a retry, milliseconds; 0: no advice.
        request_id: Id of the request that failed; 0: none.
        run: The run that could not be served; empty: the whole connection.
    """

    code: Literal[
        "unauthorized", "unsupported", "busy", "quota", "superseded", "not_found", "invalid"
    ]
    text: Text
    fatal: bool = False
    retry_ms: Count = 0
    request_id: Count = 0
    run: OptionalRunId = ""
