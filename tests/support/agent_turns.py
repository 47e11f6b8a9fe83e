"""The agent's thread run by hand: each turn on the test's own thread, under a clock that it moves.

The one place of these tests that knows how a link is made and what a turn of its thread is.
"""

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from kmonitor_agent.link.agent_thread import AgentLoop, AgentThread
from kmonitor_agent.link.delivery import DeliveryPhase
from kmonitor_agent.link.link import Link
from kmonitor_agent.link.run_stream import RunStream
from kmonitor_agent.reclaim.disk_file import BackgroundTask
from kmonitor_agent.recording import process_session, runs
from kmonitor_agent.studies.fold import Fold
from kmonitor_agent.studies.fold_child import StepProgressReporter
from kmonitor_agent.studies.fold_messages import FoldConnection, StudyConnection
from tests.support.clock import MovedClock
from tests.support.global_calls import GlobalCalls
from tests.support.process_state import SLOW, changes, process_state

QUICKEST_S = 0.02
"""Seconds that a turn moves the clock where no one is to be taken for dead."""


class _TurnClock(MovedClock):
    """Moves on its own only while the thread ends, which waits until a time has passed."""

    tick_s = 0.0

    @override
    def monotonic_s(self) -> float:
        self.move(self.tick_s)
        return super().monotonic_s()


class AgentTurns:
    """Runs the turns of the agent's thread, and finds what one of them changes.

    Attributes:
        clock: The agent's.
        heard: Calls that draw or set, of all turns.
        turns: Number of turns.
        found: Changes by a turn, with its number.
    """

    def __init__(self) -> None:
        self.clock = _TurnClock()
        self.heard = GlobalCalls()
        self.turns = 0
        self.found: list[str] = []
        self.agent = _ByHand(self)

    @property
    def is_connected(self) -> bool:
        """True if a hub has welcomed the agent."""
        return any(each.delivery.phase is DeliveryPhase.LIVE for each in self.agent.streams())

    @property
    def degraded(self) -> str:
        """Why the disk is not used."""
        return "".join(each.outbox.degraded for each in self.agent.streams())

    def turn(
        self, seconds: float = QUICKEST_S, beside: Callable[[], object] | None = None
    ) -> None:
        """Move the clock and let the thread do once what it does again and again.

        Args:
            seconds: Seconds that the clock moves.
            beside: Called between two turns: a hub that serves.
        """
        self.clock.move(seconds)
        self.agent.turn()
        if beside is not None:
            beside()

    def turn_until(
        self,
        condition: Callable[[], object],
        seconds: float = QUICKEST_S,
        beside: Callable[[], object] | None = None,
        deadline_s: float = 120.0,
    ) -> None:
        """Turn until the condition holds. Raises: AssertionError, if it never does."""
        end_s = time.monotonic() + deadline_s
        while not condition():
            assert time.monotonic() < end_s, f"not within {deadline_s:g} s and {self.turns} turns"
            self.turn(seconds, beside)

    def run(self, work: Callable[[], object]) -> None:
        """One piece of the thread's work, observed from outside and heard from within."""
        before = process_state(SLOW)
        with self.heard.on_this_thread():
            work()
        self.turns += 1
        after = process_state(SLOW)
        self.found += [f"turn {self.turns}: {each}" for each in changes(before, after)]

    def assert_nothing_touched(self) -> None:
        """No turn changed, drew from or set anything of the script's."""
        assert self.heard.calls > 0
        told = [*self.heard.found, *self.found]
        assert not told, "\n".join(told)


class _ByHand(AgentThread):
    """An agent without a thread: its turns are run by the test."""

    def __init__(self, turns: AgentTurns) -> None:
        super().__init__(turns.clock)
        self._turns = turns
        self._work: AgentLoop | None = None

    def turn(self) -> None:
        """One turn of the work that the thread repeats."""
        work = self._work
        if work is not None:
            self.wakeup.set()  # else it would wait for the clock to go on
            self._turns.run(partial(work.guarded, work.turn))
            self._turns.run(partial(work.guarded, work.rest))

    @override
    def add(self, stream: RunStream) -> None:
        self._work = self._work or AgentLoop(self, self.wakeup)
        self._streams.append(stream)
        self.turn()

    @override
    def end(self, streams: list[RunStream], timeout_s: float) -> None:
        for stream in streams:
            stream.end(timeout_s)
        self._turns.clock.tick_s = QUICKEST_S
        while any(not stream.ended.is_set() for stream in streams):
            self.turn()
        self._turns.clock.tick_s = 0.0
        work = self._work
        if work is not None and not self._streams:
            self._work = None
            self._turns.run(partial(work.guarded, work.close))


@contextmanager
def agent_by_hand(monkeypatch: pytest.MonkeyPatch) -> Generator[AgentTurns]:
    """Every run that begins in the block has its agent's thread run by the test."""
    turns = AgentTurns()
    with monkeypatch.context() as patch:
        patch.setattr(process_session, "Link", partial(Link, agent=turns.agent))
        patch.setattr(runs, "AGENT", turns.agent)
        yield turns


@contextmanager
def beside_by_hand(turns: AgentTurns, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """The work of a thread `kmonitor-beside` is done by whoever waits for it, a turn each."""
    work, start = BackgroundTask.run, threading.Thread.start

    def start_others(thread: threading.Thread) -> None:
        if thread.name == "kmonitor-beside":
            raise RuntimeError("can't start new thread")
        start(thread)

    def run(beside: BackgroundTask[Any]) -> None:
        turns.run(partial(work, beside))

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_others)
        patch.setattr(BackgroundTask, "run", run)
        yield


@contextmanager
def fold_by_hand(fold: Fold, turns: AgentTurns) -> Generator[Callable[[], None]]:
    """One turn of a fold's thread `kmonitor-fold`, to be called; a study hears its messages."""
    ours, theirs = socket.socketpair()
    ear = FoldConnection(ours)
    mouth = StudyConnection(theirs.detach())
    pulse = StepProgressReporter(fold, mouth)
    pulse.end()

    def turn() -> None:
        turns.run(lambda: mouth.send(pulse.read_progress()))
        assert ear.receive()

    yield turn
    ear.close()
    mouth.reader.close()
    mouth.socket.close()


@contextmanager
def refusing_disk(folder: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A disk that takes nothing more below a folder: full (ENOSPC) or read-only (EROFS)."""
    write, opened = os.write, os.open

    def refuses(path: Path) -> bool:
        return path.is_relative_to(folder)

    def failing_write(descriptor: int, data: bytes) -> int:
        if refuses(Path(f"/proc/self/fd/{descriptor}").resolve()):
            raise OSError(number, os.strerror(number))
        return write(descriptor, data)

    def failing_open(path: Any, flags: int, *more: Any, **named: Any) -> int:
        writes = flags & (os.O_WRONLY | os.O_RDWR)
        if number == errno.EROFS and writes and refuses(Path(os.fsdecode(path))):
            raise OSError(number, os.strerror(number), path)
        return opened(path, flags, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing_write)
        patch.setattr(os, "open", failing_open)
        yield
