"""The one thread of the agent, for all runs of a process: their events, tasks and hubs.

Each run has a `RunStream` (its events on their way to the disk) and a delivery (its side of the
protocol); all runs that report to the same hub share a `HubConnection`, and all connections one
libzmq context. So a search over a thousand named runs costs a training the same three threads
(libzmq has two) and the same few descriptors as a single run does.
"""

import os
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from kmonitor_agent.exit_hooks import EXIT_HOOKS
from kmonitor_agent.link.delivery import HubChannel
from kmonitor_agent.link.hub_connection import (
    ConnectionContext,
    HubConnection,
    HubDialer,
    SocketIdentity,
    find_hub_socket,
)
from kmonitor_agent.link.run_stream import RunStream
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.link.transport import Transport
from kmonitor_agent.wire.local.clock import Clock, SystemClock
from kmonitor_agent.wire.local.host_identity import own_keys
from kmonitor_agent.wire.local.hub_address import DirectAddress
from kmonitor_agent.wire.local.own_descriptor import AgentWakeup

THREAD_NAME: Final = "kmonitor-agent"

FLUSH_S: Final = 0.1
"""Time for ZeroMQ to pass the last messages to the hub, seconds."""

WAIT_LIMIT_S: Final = 60.0
_AFTER_FAULT_S: Final = 1.0

EXIT_NETWORK_S: Final = 1.5
"""Maximum time for the hub when a process ends, for all its runs together, seconds."""

JOIN_SLACK_S: Final = 0.4
"""Additional time for a running task or write at exit, seconds.

The exit as a whole is bounded by the sum of both, below two seconds, even if the disk hangs.
"""

_REMOTE_SOCKET: Final = SocketIdentity(0, 0, 0)
"""Identity of a hub on the network, which has no socket file: it is always tried."""

HubAddress = Path | DirectAddress


class AgentThread:
    """Runs of a process and the thread that serves them. Any thread may call any method.

    The thread is started with the first run and ends with the last one.
    """

    def __init__(self, clock: Clock | None = None, timing: Timing | None = None) -> None:
        """No thread and no descriptor is created yet.

        Args:
            clock: Source of time; None: the system's.
            timing: Intervals; None: the defaults.
        """
        self.clock: Final = SystemClock() if clock is None else clock
        self.timing: Final = Timing() if timing is None else timing
        self._lock = threading.Lock()
        self._agent_wakeup: AgentWakeup | None = None
        self._streams: list[RunStream] = []
        self._thread: threading.Thread | None = None

    @property
    def wakeup(self) -> AgentWakeup:
        """Wakeup that ends the thread's sleep."""
        with self._lock:
            if self._agent_wakeup is None:
                self._agent_wakeup = AgentWakeup()
            return self._agent_wakeup

    def add(self, stream: RunStream) -> None:
        """Serve one more run.

        Raises:
            RuntimeError: No thread can be started; the run is not served.
        """
        agent_wakeup = self.wakeup
        with self._lock:
            if self._thread is None:
                work = AgentLoop(self, agent_wakeup)
                thread = threading.Thread(target=work.run, name=THREAD_NAME, daemon=True)
                thread.start()
                self._thread = thread
                _running.add(self)
                EXIT_HOOKS.add(self)
            self._streams.append(stream)
        agent_wakeup.set()

    def streams(self) -> list[RunStream]:
        return list(self._streams)

    def close(self, timeout_s: float = EXIT_NETWORK_S) -> None:
        """End all runs: write everything to the disk, then send it to a connected hub.

        Never raises.
        """
        try:
            self.end(self.streams(), timeout_s)
        except Exception as exc:  # noqa: BLE001 - at exit nobody could catch it
            try:
                self.record("link.close", exc)
                self.end(self.streams(), timeout_s)
            except Exception:  # noqa: BLE001
                return

    def record(self, where: str, exc: Exception) -> None:
        """Count a fault of a shared part with the newest run."""
        for stream in self._streams[-1:]:
            stream.faults.record(where, exc)

    def end(self, streams: list[RunStream], timeout_s: float) -> None:
        """End these runs, and wait until that is done or time is up.

        Args:
            timeout_s: Maximum time for the hub, seconds; almost none is used if no hub was ever
                seen.
        """
        with self._lock:
            thread = self._thread
        if thread is None or not streams:
            return
        # A stream that is ending already does not get the same time once more.
        until_s = max(stream.end(timeout_s) for stream in streams) + JOIN_SLACK_S
        self.wakeup.set()
        if thread is threading.current_thread():
            return
        for stream in streams:
            stream.ended.wait(max(0.0, until_s - self.clock.monotonic_s()))
        if not self._streams:
            thread.join(max(0.0, until_s - self.clock.monotonic_s()))

    def remove(self, stream: RunStream) -> None:
        """Remove a run that has ended; called by the thread."""
        with self._lock:
            self._streams.remove(stream)

    def is_over(self) -> bool:
        """True if the thread has no run left and ends; the next run starts another thread."""
        with self._lock:
            if self._streams:
                return False
            self._thread = None
        _running.discard(self)
        EXIT_HOOKS.remove(self)
        return True

    def forget_in_child(self) -> None:
        """Forget thread, sockets and files: in a forked child they are the parent's."""
        streams, self._streams = self._streams, []
        # A new lock: the parent's may have been held by a thread that does not exist here.
        self._lock = threading.Lock()
        self._thread = None
        # Its descriptor is shared with the parent, whose thread must not be woken by us.
        self._agent_wakeup = None
        for stream in streams:
            stream.forget_in_child()


class AgentLoop:
    """Loop of the agent's thread, which owns everything in it."""

    def __init__(self, agent: AgentThread, wakeup: AgentWakeup) -> None:
        self._agent = agent
        self._agent_wakeup = wakeup
        self._clock = agent.clock
        self._timing = agent.timing
        self._transport = Transport()
        self._prepare_at_s = float("-inf")
        self._has_reported_shortage = False
        self._connections: dict[HubAddress, HubConnection] = {}
        self._connection_by_stream: dict[RunStream, HubConnection] = {}
        self._last_activity_s = float("-inf")
        self._is_over = False
        self._is_closed = False

    def run(self) -> None:
        """Serve runs until none is left; the main function of the thread."""
        while not self._is_closed:
            try:  # noqa: SIM105 - a context manager takes memory
                self._serve()
            except Exception:  # noqa: BLE001, S110 - there was none, not even for a call
                pass

    def _serve(self) -> None:
        while not self._is_over:
            self.guarded(self.turn)
            self.guarded(self._leave_or_rest)
        self._is_closed = True
        self.guarded(self.close)

    def _leave_or_rest(self) -> None:
        self._is_over = self._agent.is_over()
        if not self._is_over:
            self.rest()

    def turn(self) -> None:
        """Serve each run and each connection once."""
        now_s = self._clock.monotonic_s()
        streams = self._agent.streams()
        if self._connections and self._transport.is_lost():
            self._disconnect(streams)
        held: set[str] = set()
        for stream in streams:
            if stream.turn(now_s, is_free=stream.stream_context.run not in held):
                self._last_activity_s = now_s
            held.add(stream.stream_context.run)
            self._connect(stream)
        self._prepare(now_s)
        for connection in self._connections.values():
            if not self._transport.is_short_of_memory():
                self.guarded(connection.step)
        for stream in streams:
            stream.run_upkeep(self._clock.monotonic_s())
            self._end_if_due(stream)

    def guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as exc:  # noqa: BLE001 - thread main: counted, and the thread goes on
            # Where there is no memory, none may be left to count it or to wait either.
            try:  # noqa: SIM105
                self._count_and_wait(work.__name__, exc)
            except Exception:  # noqa: BLE001, S110
                pass

    def _count_and_wait(self, work: str, exc: Exception) -> None:
        self._agent.record(f"link.{work.strip('_')}", exc)
        if not self._is_over:
            self._agent_wakeup.wait(_AFTER_FAULT_S)

    # --- hubs ---

    def _connect(self, stream: RunStream) -> None:
        address = stream.stream_context.socket
        if address is None or stream in self._connection_by_stream or stream.is_ending:
            return
        if self._transport.is_lost():
            return
        if address not in self._connections:
            self._connections[address] = HubConnection(self._context(stream), self._timing)
        self._connections[address].add(stream.delivery)
        self._connection_by_stream[stream] = self._connections[address]

    def _disconnect(self, streams: list[RunStream]) -> None:
        """Drop the connections to hubs without a message: the sockets are no longer ours."""
        self._connections = {}
        self._connection_by_stream = {}
        for stream in streams:
            stream.report_shortage(self._transport.shortage)

    def _context(self, stream: RunStream) -> ConnectionContext:
        address = stream.stream_context.socket
        folders = stream.stream_context.folders

        def look() -> SocketIdentity | None:
            if address is None or not self._transport.has(address):
                return None
            return (
                _REMOTE_SOCKET if isinstance(address, DirectAddress) else find_hub_socket(address)
            )

        def connect() -> HubChannel | None:
            hub_socket = None if address is None else self._transport.socket(address)
            if hub_socket is not None:
                is_far = isinstance(address, DirectAddress)
                hub_socket.connect(own_keys(folders, "agent") if is_far else None)
            return hub_socket

        return ConnectionContext(HubDialer(look, connect), self._clock, self._agent.record)

    def _prepare(self, now_s: float) -> None:
        """Create missing sockets, if the process has the resources for them."""
        missing = [place for place in self._connections if not self._transport.has(place)]
        if not missing or now_s < self._prepare_at_s:
            return
        self._prepare_at_s = now_s + self._timing.retry_s
        for place in missing:
            self._transport.prepare(place)
        if self._transport.shortage and not self._has_reported_shortage:
            self._has_reported_shortage = True
            for stream in self._connection_by_stream:
                stream.report_shortage(self._transport.shortage)

    # --- waiting ---

    def rest(self) -> None:
        """Wait for the next due time, a message or a wake-up; check the queues meanwhile."""
        now_s = self._clock.monotonic_s()
        streams = self._agent.streams()
        wait_s = min([WAIT_LIMIT_S, *(stream.wait_s(now_s) for stream in streams)])
        connections = self._connections.values()
        wait_s = min([wait_s, *(connection.wait_s() for connection in connections)])
        if any(stream.is_ending for stream in streams):
            wait_s = min(wait_s, self._timing.drain_s)
        is_still = now_s - self._last_activity_s > self._timing.still_s
        poll_s = wait_s if is_still and self._fall_asleep(streams) else self._timing.drain_s
        end_s = now_s + wait_s
        is_called = self._sleeper(streams, hears=poll_s > self._timing.drain_s)
        looks = [stream.look for stream in streams]
        # Five times a second, in a processor whose caches the step has filled: each call shows.
        # Measured: 40 us of 90 are the kernel's and Python's share of a thread that wakes up.
        while not is_called(min(poll_s, end_s - now_s)):
            now_s = self._clock.monotonic_s()
            has_events = any([look(now_s) for look in looks])  # noqa: C419 - each
            if not (self._pass_on(streams, now_s) if has_events else self._take_messages()):
                break
            if has_events:
                end_s = min([end_s, *(now_s + each.wait_s() for each in connections)])
            if now_s >= end_s or any(stream.is_ending for stream in streams):
                break
        self._agent_wakeup.clear()
        for stream in streams:
            stream.event_queue.is_sleeping = False

    def _pass_on(self, streams: list[RunStream], now_s: float) -> bool:
        """Pass new events to the disk and to connected hubs; False if a full turn is needed.

        Messages of hubs are taken as well. If only events came, nothing else is due, and a turn
        would double the cost.
        """
        if self._connections and (
            self._transport.is_lost() or self._transport.is_short_of_memory()
        ):
            return False
        # Each of them, as in a turn: one that has to wait for it keeps no other from the disk.
        has_passed = [each.pass_on(now_s) for each in streams if not each.event_queue.is_empty]
        self._last_activity_s = now_s
        has_news = False
        for connection in self._connections.values():
            if connection.hub_channel is not None:
                self.guarded(connection.step)
                has_news |= connection.has_news
        return all(has_passed) and not has_news and not self._awaits_answer()

    def _take_messages(self) -> bool:
        """Take what hubs have sent; False if it is more than acknowledgements and pings."""
        if not self._transport.has_messages():
            return True
        if self._transport.is_lost() or self._transport.is_short_of_memory():
            return False
        for connection in self._connections.values():
            if connection.hub_channel is None:
                return False
            self.guarded(connection.step)
        has_news = any(each.has_news for each in self._connections.values())
        return not has_news and not self._awaits_answer()

    def _awaits_answer(self) -> bool:
        """True if a hub must answer before more can be sent to it."""
        return not all(each.is_settled for each in self._connections.values())

    def _fall_asleep(self, streams: list[RunStream]) -> bool:
        return all([stream.fall_asleep() for stream in streams])  # noqa: C419 - each of them

    def _sleeper(self, streams: list[RunStream], *, hears: bool) -> Callable[[float], bool]:
        """Return a function that sleeps up to the given seconds.

        Its result is True if another thread woke it before. A hub's message ends a sleep if the
        thread `hears` it or an answer is awaited; else it is taken when the queue is checked.
        Waking up for each acknowledgement would cost as much again as passing the events on.
        """
        is_connected = any(each.hub_channel is not None for each in self._connections.values())
        is_ending = any(stream.is_ending for stream in streams)
        if is_connected and (hears or is_ending or self._awaits_answer()):
            return partial(self._transport.wait, descriptor=self._agent_wakeup.fileno())
        return self._agent_wakeup.sleeper()

    # --- end ---

    def _end_if_due(self, stream: RunStream) -> None:
        connection = self._connection_by_stream.get(stream)
        channel = None if connection is None else connection.hub_channel
        if not stream.may_leave(self._clock.monotonic_s(), is_connected=channel is not None):
            return
        if connection is not None:
            if channel is not None:
                with stream.faults.guarded("link.bye"):
                    stream.delivery.send_bye(channel, stream.ended_why)
            connection.remove(stream.delivery)
            del self._connection_by_stream[stream]
        stream.leave()
        self._agent.remove(stream)

    def close(self) -> None:
        is_connected = any(each.hub_channel is not None for each in self._connections.values())
        self._transport.close(linger_s=FLUSH_S if is_connected else 0.0)


AGENT: Final = AgentThread()

_running: "weakref.WeakSet[AgentThread]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for agent in list(_running):
        agent.forget_in_child()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
