"""An agent that speaks KM1 on a real socket without any training behind it.

It keeps every event until the end, so it can rewind to wherever a hub requests.
"""

import os
import socket
import threading
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Self

import zmq

from kmonitor.hub.runs.hub_event_log import read_event_body
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path, ipc_endpoint
from kmonitor_agent.wire.messages.codec import (
    MalformedMessage,
    encode_event,
    pack,
    unpack_to_agent,
)
from kmonitor_agent.wire.messages.commands import Command, CommandName, LimitSpec, SetLimits
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    CommandProgress,
    EpochEnded,
    EpochStarted,
    Event,
    FieldSource,
    FieldSources,
    FitEnded,
    FitStarted,
    Footprint,
    FunctionTraces,
    GraphSize,
    LimitsInForce,
    LostEvents,
    Sample,
    SessionEnded,
    SessionStarted,
    StepTimes,
)
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.messages.unions import (
    Ack,
    Batch,
    Bye,
    ErrorMessage,
    Hello,
    HelloAgain,
    Nack,
    Ping,
    ToAgent,
    Welcome,
)
from tests.support.waiting import DEADLINE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 2**20
ACTIONS: list[CommandName] = ["save", "collect", "reload", "pause", "resume", "stop", "set_limits"]

_WINDOW = 4096
_BATCH = 512
_HELLO_EVERY_S = 0.2
_PING_EVERY_S = 0.3


class SimulatedAgent:
    """One session of one run. `emit` from any thread; the socket belongs to its own thread.

    Attributes:
        run, session: Ids.
        bodies: Every event emitted, encoded; `bodies[0]` has seq 1.
        acked: Confirmed by the hub.
        commands: Every command received, repeats included.
        errors: Every error received.
        hubs: Ids of the hubs that welcomed it, in order.
        on_command: Called with a command that is new to it.
    """

    def __init__(  # noqa: PLR0913 - what a process says of itself
        self,
        folders: Folders,
        *,
        name: str = "simulated",
        run: str | None = None,
        pid: int | None = None,
        actions: list[CommandName] | None = None,
        unavailable: dict[str, str] | None = None,
        host: str | None = None,
        after: "SimulatedAgent | None" = None,
    ) -> None:
        """Args: `after`: an ended session of the same run, whose events it carries on from."""
        self.run = run or (after.run if after else new_id())
        self.session = new_id()
        self.name = name
        self.pid = os.getpid() if pid is None else pid
        self.proto: tuple[int, int] = (1, 1)
        self.host = host or socket.gethostname()
        self.started_wall_s = time.time()
        self.bodies: list[bytes] = list(after.bodies) if after else []
        self.first_kept = 1
        self.acked = 0
        self.commands: list[Command] = []
        self.errors: list[ErrorMessage] = []
        self.hubs: list[str] = []
        self.on_command: Callable[[Command], None] = self._obey
        self.limits: list[LimitSpec] = []
        self.fit = 0
        self.epoch = 0
        self._seen: set[str] = set()
        self._endpoint = ipc_endpoint(ingest_socket_path(folders))
        self._started_s = time.monotonic()
        self._sent = 0
        self._is_welcome = False
        self._next_hello_s = self._next_ping_s = self._heard_s = 0.0
        self._is_stopping = threading.Event()
        self._farewell: deque[Bye] = deque()
        self._thread = threading.Thread(target=self._main, name="kmonitor-simulated-agent")
        self.emit(
            SessionStarted(
                t_s=0.0,
                session=self.session,
                name=name,
                host=self.host,
                pid=self.pid,
                started_wall_s=self.started_wall_s,
                user="tester",
                backend="tensorflow",
                versions={"keras": "3.15.0"},
                actions=ACTIONS if actions is None else actions,
                unavailable=unavailable or {},
            )
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the socket's thread without a word, as SIGKILL would."""
        self._is_stopping.set()
        if self._thread.is_alive():
            self._thread.join(DEADLINE_S)

    # --- what a training would send ---

    def now_s(self) -> float:
        """The session's `t_s` now."""
        return time.monotonic() - self._started_s

    def emit(self, event: Event) -> int:
        """Queue an event for the hub; its sequence number."""
        return self.emit_bytes(encode_event(event))

    def emit_bytes(self, body: bytes) -> int:
        """Queue bytes as an event, whatever they are."""
        self.bodies.append(body)
        return len(self.bodies)

    def start_fit(self, *, epochs: int = 3, steps: int = 10, model: str = "net") -> None:
        """A fit begins, with sources and the first graph size."""
        self.fit += 1
        self.epoch = 0
        t_s = self.now_s()
        absent = "no NVIDIA driver on this host"
        self.emit(
            FieldSources(
                t_s=t_s,
                sources=[
                    FieldSource(
                        field="ram_bytes", unit="bytes", source="process: /proc/self/statm"
                    ),
                    FieldSource(
                        field="vram_bytes",
                        unit="bytes",
                        source="tensorflow allocator, CPU:0 in use",
                    ),
                    FieldSource(field="graph_operations", unit="operations", source="live traces"),
                    FieldSource(field="step_time_s", unit="seconds", source="histogram"),
                    FieldSource(field="device_total_bytes", unit="bytes", absent=absent),
                ],
            )
        )
        self.emit(
            FitStarted(
                t_s=t_s,
                fit=self.fit,
                model=model,
                epochs=epochs,
                steps=steps,
                batch_size=32,
                optimizer="Adam",
                learning_rate=1e-3,
            )
        )

    def start_epoch(self) -> None:
        """The next epoch begins."""
        self.emit(EpochStarted(t_s=self.now_s(), fit=self.fit, epoch=self.epoch))

    def end_epoch(self, *, steps: int = 10, step_s: float = 0.02, loss: float = 0.5) -> None:
        """The running epoch ends."""
        times = StepTimes(
            count=steps,
            mean_s=step_s,
            p50_s=step_s,
            p95_s=1.2 * step_s,
            p99_s=1.5 * step_s,
            max_s=2 * step_s,
        )
        self.emit(
            EpochEnded(
                t_s=self.now_s(),
                fit=self.fit,
                epoch=self.epoch,
                seconds=steps * step_s,
                steps=steps,
                logs={"loss": loss},
                learning_rate=1e-3,
                step_times=times,
            )
        )
        self.epoch += 1

    def train_epochs(self, n: int) -> None:
        """This many epochs, each with a sample and a graph of a model of some size."""
        for _ in range(n):
            self.start_epoch()
            self.sample()
            self.end_epoch()
            self.graph(operations=24_374, functions=700)

    def sample(
        self,
        *,
        t_s: float | None = None,
        ram_bytes: float = 500 * MIB,
        step: int = 1,
        **more: float,
    ) -> int:
        """One sample; `more` are further fields of `Sample`."""
        fields: dict[str, float] = {
            "ram_of_bytes": 16 * 1024 * MIB,
            "vram_bytes": 100 * MIB,
            "graph_operations": 350.0,
            "step_time_s": 0.02,
            **more,
        }
        when_s = self.now_s() if t_s is None else t_s
        return self.emit(
            Sample(
                t_s=when_s,
                fit=self.fit,
                epoch=self.epoch,
                step=step,
                ram_bytes=ram_bytes,
                **fields,  # pyright: ignore[reportArgumentType]
            )
        )

    def graph(self, *, operations: int = 350, functions: int = 28) -> None:
        """Graph size now."""
        by_function = [FunctionTraces(name="one_step", traces=1, operations=operations)]
        self.emit(
            GraphSize(
                t_s=self.now_s(),
                fit=self.fit,
                epoch=self.epoch,
                operations=operations,
                traces=1,
                functions=functions,
                by_function=by_function,
            )
        )

    def set_limits(self, limits: list[LimitSpec]) -> None:
        """Report the limits in force."""
        self.limits = limits
        self.emit(LimitsInForce(t_s=self.now_s(), limits=limits))

    def end_fit(self) -> None:
        """The fit ends well."""
        self.emit(FitEnded(t_s=self.now_s(), fit=self.fit, how="finished", epochs_done=self.epoch))

    def end_boot(self, why: str = "finished") -> None:
        """The process says its last word."""
        end = SessionEnded(t_s=self.now_s(), why=why)  # pyright: ignore[reportArgumentType]
        seq = self.emit(end)
        self._farewell.append(Bye(run=self.run, last=seq, why="finished"))

    def wait_acked(self, deadline_s: float = DEADLINE_S) -> None:
        """Wait until the hub has confirmed everything."""
        wait_until(
            lambda: self.acked == len(self.bodies),
            deadline_s,
            f"acked {self.acked} of {len(self.bodies)}",
        )

    # --- the socket's thread ---

    def _main(self) -> None:
        context = zmq.Context()
        link = context.socket(zmq.DEALER)
        link.linger = 0
        link.reconnect_ivl = 20
        link.connect(self._endpoint)
        try:
            while not self._is_stopping.is_set():
                self._speak(link)
                link.poll(10)
                self._listen(link)
        finally:
            link.close(0)
            context.destroy(0)

    def _speak(self, link: "zmq.Socket[bytes]") -> None:
        now_s = time.monotonic()
        if now_s - self._heard_s > 2.0:
            self._is_welcome = False
        if not self._is_welcome:
            if now_s >= self._next_hello_s:
                self._next_hello_s = now_s + _HELLO_EVERY_S
                self._send(link, self._hello())
            return
        if now_s >= self._next_ping_s:
            self._next_ping_s = now_s + _PING_EVERY_S
            self._send(link, Ping(n=1, run=self.run, last=len(self.bodies)))
        while self._sent < len(self.bodies) and self._sent - self.acked < _WINDOW:
            batch = self.bodies[self._sent : self._sent + _BATCH]
            first = self._sent + 1
            if not self._send(
                link, Batch(run=self.run, session=self.session, first=first, events=batch)
            ):
                return
            self._sent += len(batch)
        if self._farewell and self.acked >= self._farewell[0].last:
            self._send(link, self._farewell.popleft())

    def _hello(self) -> Hello:
        return Hello(
            run=self.run,
            session=self.session,
            minor_versions=self.proto,
            first=self.first_kept,
            last=len(self.bodies),
            pid=self.pid,
            host=self.host,
            started_wall_s=self.started_wall_s,
            monotonic_s=self.now_s(),
        )

    def _send(self, link: "zmq.Socket[bytes]", message: object) -> bool:
        try:
            link.send_multipart(pack(message), zmq.DONTWAIT)  # pyright: ignore[reportArgumentType]
        except zmq.Again:
            return False
        return True

    def _listen(self, link: "zmq.Socket[bytes]") -> None:
        while True:
            try:
                frames = link.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return
            self._heard_s = time.monotonic()
            self._hear(unpack_to_agent(frames))

    def _hear(self, message: ToAgent) -> None:
        match message:
            case Welcome() as welcome:
                self.hubs.append(welcome.hub)
                self._is_welcome = True
                self._sent = self.acked = welcome.acked
            case Ack() as ack:
                self.acked = max(self.acked, ack.acked)
            case HelloAgain():
                self._is_welcome = False
                self._next_hello_s = 0.0
            case Nack() as nack:
                self._replace(nack)
            case ErrorMessage() as error:
                self.errors.append(error)
            case Command() as command:
                self._take_command(command)
            case _:
                pass

    def _replace(self, nack: Nack) -> None:
        """A real agent bisects; this one looks which of them are no events."""
        for seq in range(nack.first, nack.first + nack.n):
            try:
                read_event_body(seq, self.bodies[seq - 1])
            except MalformedMessage:
                lost = LostEvents(t_s=self.now_s(), first=seq, last=seq, why=nack.why[:200])
                self.bodies[seq - 1] = encode_event(lost)
        self._sent = nack.first - 1

    def _take_command(self, command: Command) -> None:
        self.commands.append(command)
        if command.id not in self._seen:
            self._seen.add(command.id)
            self.on_command(command)

    def _obey(self, command: Command) -> None:
        self.progress(command, "received")
        self.progress(command, "started")
        if isinstance(command.args, SetLimits):
            kept = [limit for limit in self.limits if limit.metric not in command.args.metrics]
            self.set_limits([*kept, *command.args.limits])
        else:
            self._record(command)
        self.progress(command, "done")

    def progress(self, command: Command, state: str, why: str = "") -> None:
        """Report the state of a command."""
        self.emit(
            CommandProgress(
                t_s=self.now_s(),
                id=command.id,
                name=command.name,
                state=state,  # pyright: ignore[reportArgumentType]
                why=why,
            )
        )

    def _record(self, command: Command) -> None:
        before = Footprint(ram_process_bytes=731.0 * MIB, graph_operations=9800, functions=700)
        after = Footprint(ram_process_bytes=598.0 * MIB, graph_operations=350, functions=28)
        self.emit(
            ActionRecord(
                t_s=self.now_s(),
                action=command.name,  # pyright: ignore[reportArgumentType]
                ok=True,
                requested_by=command.requested_by or "desktop",
                fit=self.fit,
                epoch=self.epoch,
                seconds=0.4,
                before=before,
                after=after,
                command=command.id,
                variables=12,
                state_bytes=2 * MIB,
                checkpoint="epoch-0001.kmstate" if command.name in {"save", "reload"} else "",
            )
        )
