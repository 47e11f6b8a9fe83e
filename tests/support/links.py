"""Builds links and their parts for tests, and what they need around them."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from typing_extensions import override

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.agent_thread import AgentThread
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.link.link import Link
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import decode_event, encode_event
from kmonitor_agent.wire.messages.commands import Command
from kmonitor_agent.wire.messages.events import AnyEvent, EpochEnded, Sample, SessionStarted
from kmonitor_agent.wire.spool.folder import RunSpool, SpooledEvent
from kmonitor_agent.wire.spool.format import SessionFacts

QUICK = Timing(
    hello_s=0.1,
    ping_s=0.1,
    dead_s=0.6,
    stall_s=0.5,
    search_s=0.02,
    backoff_s=0.02,
    backoff_limit_s=0.2,
    refused_s=0.2,
    retry_s=0.1,
    mark_s=0.1,
    lock_s=0.2,
)
"""The usual order of the link's intervals, shorter."""

PATIENT = replace(QUICK, hello_s=600.0, dead_s=600.0, stall_s=600.0)
"""The same for tests in which the hub is present all the time.

A `FakeHub` serves on the test's own thread, which a busy machine may keep from running for longer
than a quick link waits: it would take the hub for dead and come back on another socket.
"""

FACTS = SessionFacts(run="run1", session="session1", host="here", pid=1, started_wall_s=1.8e9)


def session_started(session: str = "session1") -> SessionStarted:
    """First event of a session in this process."""
    return SessionStarted(
        t_s=0.0, session=session, name="a run", host="here", pid=os.getpid(), started_wall_s=1.8e9
    )


def sample(step: int = 0, t_s: float = 0.0) -> Sample:
    """A sample that can be distinguished from others by its step."""
    return Sample(t_s=t_s, fit=1, step=step, ram_bytes=1e9 + step)


def epoch(number: int) -> EpochEnded:
    """An epoch's end."""
    return EpochEnded(t_s=float(number), fit=1, epoch=number, seconds=1.0)


def body(step: int = 0, t_s: float = 0.0) -> bytes:
    """An encoded sample."""
    return encode_event(sample(step, t_s))


class LinkUnderTest(AbstractContextManager["LinkUnderTest"]):
    """A started link, closed at the end of its block.

    Attributes:
        link: It.
        agent: Agent's thread that serves it.
        faults: Its fault log.
        commands: Commands that it handed over.
    """

    def __init__(  # noqa: PLR0913 - what tests vary; all by keyword
        self,
        folders: Folders,
        *,
        run: str = "run1",
        session: str = "session1",
        hub: HubChoice | None = None,
        timing: Timing = QUICK,
        agent: AgentThread | None = None,
        on_command: Callable[[Command], None] | None = None,
    ) -> None:
        self.faults = FaultLog()
        self.commands: list[Command] = []
        self.agent = AgentThread(timing=timing) if agent is None else agent
        self.link = Link(
            run=run,
            session_id=session,
            folders=folders,
            started=session_started(session),
            hub=HubChoice() if hub is None else hub,
            on_command=self.commands.append if on_command is None else on_command,
            faults=self.faults,
            agent=self.agent,
        )

    @override
    def __enter__(self) -> Self:
        self.link.start()
        return self

    @override
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.link.close(timeout_s=0.2)


def spooled(folders: Folders, run: str = "run1") -> list[SpooledEvent]:
    """The events that a dead process left, as the hub would find them."""
    spool = RunSpool.acquire(folders.spool / run)
    assert spool is not None, "the lock is still held"
    with spool:
        return list(spool.events())


def spooled_events(folders: Folders, run: str = "run1") -> list[AnyEvent]:
    """The same, decoded."""
    return [decode_event(event.body) for event in spooled(folders, run)]


def flip_byte(path: Path, offset: int) -> None:
    """Damage one byte of a file."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.write_bytes(bytes(data))
