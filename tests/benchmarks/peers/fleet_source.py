"""A fleet of simulated trainings in one process: an hour as fast as it is taken, then live.

`python -m tests.benchmarks.peers.fleet_source SIZE HOUR_S`, with KMONITOR_HOME set. Each training
has its own socket and run, as a real agent has; all share one thread and the hour's events.
Answers each line of its input with a line of JSON: `greet` (all are welcomed), `hour` (all have
sent `HOUR_S` seconds), `live HZ SECONDS` (each sends this many samples a second, evenly spread, as
real ones do). Ends with its input, and keeps sending while it waits for a line.
"""

import json
import os
import queue
import random
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable
from statistics import median

import zmq

from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path, ipc_endpoint
from kmonitor_agent.wire.messages.codec import encode_event, pack, unpack_to_agent
from kmonitor_agent.wire.messages.events import EpochEnded, FitStarted, Sample, SessionStarted
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.messages.unions import Ack, Batch, Hello, HelloAgain, Ping, Welcome

EPOCH_S = 60
_BATCH = 512
_WINDOW = 4096
_PING_S = 1.0
_HELLO_S = 2.0
_GIB = 2.0**30


class Training:
    """One run's socket, and its progress in sending events.

    Attributes:
        sock: Its own connection to the hub.
        acked: Confirmed by the hub.
        is_welcome: True if the hub has answered its hello.
        again: Times that the hub requested a restart of the stream.
    """

    def __init__(
        self, context: "zmq.Context[zmq.Socket[bytes]]", number: int, hour_s: int
    ) -> None:
        self.run, self.session = new_id(), new_id()
        self.acked = self.again = 0
        self.is_welcome = False
        self.own: list[bytes] = []
        self.due: list[tuple[int, float]] = []
        self._sent = 0
        self._hello_s = self._ping_s = 0.0
        self._number = number
        self._began_s = time.time()
        self._hour_s = hour_s
        # Each at its own moment, as trainings that began apart.
        self._epoch_ends_s = hour_s + number * 0.618 % 1 * EPOCH_S
        self.sock = context.socket(zmq.DEALER)
        self.sock.linger = 0
        self.sock.connect(ipc_endpoint(ingest_socket_path(find_folders())))
        self._first = self._told_first()

    def last(self, shared: list[bytes], n_shared: int) -> int:
        """The newest sequence number."""
        return len(self._first) + min(n_shared, len(shared)) + len(self.own)

    def sample(self, shared: list[bytes], level: float) -> None:
        """Send a sample of this moment; and once a minute an epoch's end."""
        t_s = self._hour_s + time.time() - self._began_s
        self.own.append(sample_at(t_s, level))
        if t_s >= self._epoch_ends_s:
            self.own.append(epoch_at(t_s, int(t_s) // EPOCH_S, level))
            self._epoch_ends_s += EPOCH_S
        self.due.append((self.last(shared, len(shared)), time.monotonic()))

    def speak(self, shared: list[bytes], n_shared: int, now_s: float) -> None:
        """Send what is due."""
        last = self.last(shared, n_shared)
        if not self.is_welcome:
            if now_s >= self._hello_s:
                self._hello_s = now_s + _HELLO_S
                self._send(self._hello(last))
            return
        if now_s >= self._ping_s:
            self._ping_s = now_s + _PING_S
            self._send(Ping(n=1, run=self.run, last=last))
        while self._sent < last and self._sent - self.acked < _WINDOW:
            batch = self._events(shared, self._sent, min(last, self._sent + _BATCH))
            if not self._send(
                Batch(run=self.run, session=self.session, first=self._sent + 1, events=batch)
            ):
                return
            self._sent += len(batch)

    def hear(self, now_s: float) -> list[float]:
        """Read what came; seconds from sample to confirmation of what was confirmed."""
        took: list[float] = []
        while True:
            try:
                frames = self.sock.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return took
            match unpack_to_agent(frames):
                case Welcome() as welcome:
                    self.is_welcome = True
                    self._sent = self.acked = welcome.acked
                    self._ping_s = now_s + _PING_S * random.random()  # noqa: S311
                case Ack() as ack:
                    self.acked = max(self.acked, ack.acked)
                case HelloAgain():
                    self.is_welcome = False
                    self.again += 1
                case _:
                    pass
            while self.due and self.due[0][0] <= self.acked:
                took.append(now_s - self.due.pop(0)[1])

    def _events(self, shared: list[bytes], begin: int, end: int) -> list[bytes]:
        n_first = len(self._first)
        found = self._first[begin:end]
        found += shared[max(0, begin - n_first) : max(0, end - n_first)]
        n_both = n_first + len(shared)
        return found + self.own[max(0, begin - n_both) : max(0, end - n_both)]

    def _send(self, message: object) -> bool:
        try:
            self.sock.send_multipart(pack(message), zmq.DONTWAIT)  # pyright: ignore[reportArgumentType]
        except zmq.Again:
            return False
        return True

    def _told_first(self) -> list[bytes]:
        begun = SessionStarted(
            t_s=0.0,
            session=self.session,
            name=f"training {self._number:04d}",
            host=socket.gethostname(),
            pid=os.getpid(),
            started_wall_s=self._began_s,
            backend="tensorflow",
            actions=["save", "collect", "reload", "set_limits", "stop"],
        )
        fit = FitStarted(t_s=0.0, fit=1, model="net", epochs=90, steps=1200, batch_size=32)
        return [encode_event(begun), encode_event(fit)]

    def _hello(self, last: int) -> Hello:
        return Hello(
            run=self.run,
            session=self.session,
            minor_versions=(1, 1),
            first=1,
            last=last,
            pid=os.getpid(),
            host=socket.gethostname(),
            started_wall_s=self._began_s,
            monotonic_s=self._hour_s + time.time() - self._began_s,
        )


class Fleet:
    """All trainings, and the loop in which they speak."""

    def __init__(self, size: int, hour_s: int) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * size + 100)), hard))
        self._context = zmq.Context()
        self._context.set(zmq.MAX_SOCKETS, size + 10)
        self._shared = hour(hour_s)
        self._n_shared = 0
        self._took: list[float] = []
        self.trainings = [Training(self._context, number, hour_s) for number in range(size)]
        self._poller = zmq.Poller()
        self._by_sock = {training.sock: training for training in self.trainings}
        for training in self.trainings:
            self._poller.register(training.sock, zmq.POLLIN)

    def until(self, is_done: Callable[[], bool]) -> float:
        """Speak until this holds; seconds."""
        began_s = time.monotonic()
        while not is_done():
            self.turn()
        return time.monotonic() - began_s

    def turn(self) -> None:
        """Everyone speaks, and hears what came within 20 ms."""
        now_s = time.monotonic()
        for training in self.trainings:
            training.speak(self._shared, self._n_shared, now_s)
        for sock, _ in self._poller.poll(20):
            self._took += self._by_sock[sock].hear(time.monotonic())

    def greet(self) -> dict[str, float]:
        """Until the hub has welcomed all."""
        took_s = self.until(lambda: all(each.is_welcome for each in self.trainings))
        return {"seconds": took_s}

    def hour(self) -> dict[str, float]:
        """Send the hour, and wait until all of it is confirmed."""
        self._n_shared = len(self._shared)
        last = self.trainings[0].last(self._shared, self._n_shared)
        took_s = self.until(lambda: all(each.acked >= last for each in self.trainings))
        return {"seconds": took_s, "events": float(last * len(self.trainings))}

    def live(self, hz: float, is_done: Callable[[], bool]) -> dict[str, float]:
        """Samples at an even rate, spread over the fleet; how long until they were confirmed."""
        self._took.clear()
        began_s, told, again = time.monotonic(), 0, sum(each.again for each in self.trainings)
        size = len(self.trainings)
        while not is_done():
            wanted = int((time.monotonic() - began_s) * hz * size)
            for number in range(told, wanted):
                level = 1.0 + 0.1 * (number * 0.37 % 1)
                self.trainings[number % size].sample(self._shared, level)
            told = wanted
            self.turn()
        took = sorted(self._took) or [0.0]
        return {
            "confirmed": float(len(self._took)),
            "events": float(told),
            "seconds": time.monotonic() - began_s,
            "median_s": median(took),
            "p99_s": took[int(0.99 * (len(took) - 1))],
            "behind": float(sum(len(each.due) for each in self.trainings)),
            "again": float(sum(each.again for each in self.trainings) - again),
        }

    def close(self) -> None:
        """Leave without a word."""
        self._context.destroy(0)


def sample_at(t_s: float, level: float) -> bytes:
    """A sample as a training on a GPU sends it."""
    return encode_event(
        Sample(
            t_s=t_s,
            fit=1,
            epoch=int(t_s) // EPOCH_S,
            step=int(20 * t_s) % 1200,
            ram_bytes=float(int(level * 20 * _GIB)),
            ram_of_bytes=192 * _GIB,
            vram_bytes=float(int(level * 10 * _GIB)),
            allocator_in_use_bytes=float(int(level * 9 * _GIB)),
            graph_operations=9000.0,
            step_time_s=0.05 * level,
        )
    )


def epoch_at(t_s: float, epoch: int, level: float) -> bytes:
    """An epoch's end."""
    logs = {"loss": 1 / (1 + epoch) + 0.01 * level, "accuracy": 0.5}
    return encode_event(EpochEnded(t_s=t_s, fit=1, epoch=epoch, seconds=60.0, logs=logs))


def hour(seconds: int) -> list[bytes]:
    """A sample a second with noise, and an epoch a minute."""
    rng = random.Random(5)  # noqa: S311 - the same samples each time
    found: list[bytes] = []
    for second in range(seconds):
        found.append(sample_at(float(second), 1.0 + 0.1 * rng.random()))
        if second % EPOCH_S == EPOCH_S - 1:
            found.append(epoch_at(float(second), second // EPOCH_S, rng.random()))
    return found


def main() -> None:
    """Do what the lines say."""
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    fleet = Fleet(int(sys.argv[1]), int(sys.argv[2]))
    hz = 0.0
    while True:
        fleet.live(hz, lambda: not lines.empty())
        line = lines.get()
        if line is None:
            break
        told = {}
        match line.split():
            case ["greet"]:
                told = fleet.greet()
            case ["hour"]:
                told = fleet.hour()
            case ["live", rate, seconds]:
                hz, end_s = float(rate), time.monotonic() + float(seconds)
                told = fleet.live(hz, lambda end_s=end_s: time.monotonic() > end_s)
            case _:
                raise SystemExit(f"not understood: {line}")
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
    fleet.close()


def _read(lines: "queue.Queue[str | None]") -> None:
    for line in sys.stdin:
        lines.put(line)
    lines.put(None)


if __name__ == "__main__":
    main()
