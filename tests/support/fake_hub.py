"""A hub on a real ipc socket that does what a test says; it runs on the test's own thread."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import zmq

from kmonitor_agent.wire.local.hub_address import ipc_endpoint
from kmonitor_agent.wire.local.private_files import make_private_folder
from kmonitor_agent.wire.messages.codec import decode_event, pack, unpack_from_agent
from kmonitor_agent.wire.messages.events import AnyEvent
from kmonitor_agent.wire.messages.unions import (
    Ack,
    Batch,
    Bye,
    FromAgent,
    Hello,
    HelloAgain,
    Nack,
    Ping,
    Pong,
    Welcome,
)
from tests.support.waiting import DEADLINE_S


class FakeHub:
    """Behaves like a hub for one agent by default.

    Attributes:
        id: Its hub id.
        got: Every message in order.
        bodies: Events taken so far, by number.
        acked: Number up to which it says that it has committed.
        ping_ms: Ping interval in its welcome.
        is_silent: Reads nothing, as if stopped.
        refuses: Bodies that it nacks.
        loses: Number of batches that it drops unread.
    """

    def __init__(self, path: Path, *, hub_id: str = "hub1", acked: int = 0) -> None:
        make_private_folder(path.parent)
        path.unlink(missing_ok=True)
        self.id = hub_id
        self.got: list[FromAgent] = []
        self.bodies: dict[int, bytes] = {}
        self.acked = acked
        self.ping_ms = 100
        self.is_silent = False
        self.refuses: Callable[[bytes], bool] = lambda _: False
        self.answers: Callable[[FromAgent], bool] = lambda _: True
        self._known: set[bytes] = set()
        self._agent = b""
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(ipc_endpoint(path))

    @property
    def events(self) -> list[AnyEvent]:
        """Its events, in order."""
        return [decode_event(self.bodies[seq]) for seq in sorted(self.bodies)]

    def kinds(self) -> list[str]:
        """Types of the events that it has, in order."""
        return [type(event).__name__ for event in self.events]

    def serve_until(self, condition: Callable[[], object], deadline_s: float = DEADLINE_S) -> None:
        """Serve until the condition holds.

        Raises:
            AssertionError: It did not in time.
        """
        end_s = time.monotonic() + deadline_s
        while not condition():
            if time.monotonic() > end_s:
                raise AssertionError(f"not within {deadline_s:g} s; got {self.got[-5:]}")
            if self._socket.poll(10) and not self.is_silent:
                self._serve_one()

    def serve_waiting(self) -> None:
        """Serve what has come, and no more."""
        while self._socket.poll(0) and not self.is_silent:
            self._serve_one()

    def send(self, *messages: msgspec.Struct) -> None:
        """Say something to the agent that was heard last."""
        for message in messages:
            self.send_frames(pack(message))

    def send_frames(self, frames: Sequence[bytes]) -> None:
        """Send raw frames to the agent that was heard last."""
        self._socket.send_multipart([self._agent, *frames])

    def close(self) -> None:
        """Go away, as a killed hub does."""
        self._socket.close(linger=0)
        self._context.term()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def count(self, kind: type[msgspec.Struct]) -> int:
        """Number of messages of a type that came."""
        return sum(isinstance(message, kind) for message in self.got)

    def _serve_one(self) -> None:
        self._agent, *frames = self._socket.recv_multipart()
        message = unpack_from_agent(frames)
        self.got.append(message)
        if not self.answers(message):
            return
        match message:
            case Hello():
                self._on_hello(message)
            case Batch():
                self._on_batch(message)
            case Ping():
                self._on_ping(message)
            case Bye() | Pong():
                pass
            case _:
                pass

    def _on_hello(self, hello: Hello) -> None:
        self._known.add(self._agent)
        self.acked = max(self.acked, hello.first - 1)
        self.send(
            Welcome(
                run=hello.run,
                hub=self.id,
                session=hello.session,
                minor_version=1,
                acked=self.acked,
                ping_ms=self.ping_ms,
                max_batch=1024,
            )
        )

    def _on_ping(self, ping: Ping) -> None:
        if self._agent in self._known:
            self.send(Pong(n=ping.n, run=ping.run))
        else:
            self.send(HelloAgain(run=ping.run, acked=self.acked))

    def _on_batch(self, batch: Batch) -> None:
        if self._agent not in self._known or batch.first > self.acked + 1:
            self.send(HelloAgain(run=batch.run, acked=self.acked))
            return
        if any(map(self.refuses, batch.events)):
            refused = Nack(run=batch.run, first=batch.first, n=len(batch.events), why="poison")
            self.send(refused)
            return
        for seq, body in enumerate(batch.events, batch.first):
            if seq == self.acked + 1:
                self.bodies[seq] = body
                self.acked = seq
        self.send(Ack(run=batch.run, acked=self.acked))
