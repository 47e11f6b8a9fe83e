"""Cost of the agent for a training: emitting, its thread while idle, and its import.

Run alone: `python tests/benchmarks/bench_agent.py`.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.agent_thread import THREAD_NAME
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.link.link import Link
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.messages.events import EpochEnded, Sample, SessionStarted
from tests.benchmarks.judging import Judge, Measured
from tests.support.fake_hub import FakeHub

IDLE_S = 20.0
IMPORT_TARGET_S = 0.15
EMIT_TARGET_US = 5.0
THREAD_TARGET_PERCENT = 0.5
FRAMEWORKS = ("tensorflow", "keras", "torch", "jax", "numpy", "zmq")

IMPORT = """
import sys, time
began, cpu = time.perf_counter(), time.process_time()
import kmonitor_agent
kmonitor_agent.MonitorCallback, kmonitor_agent.Limit
took = time.perf_counter() - began, time.process_time() - cpu
print(*took, *(m for m in sys.argv[1:] if m in sys.modules))
"""

TRAINING = """
import threading, time
import keras, numpy as np
from kmonitor_agent import MonitorCallback
from tests.benchmarks.bench_agent import IDLE_S, agent_thread, thread_cpu_s

class Watch(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        now = time.monotonic(), thread_cpu_s(agent_thread())
        if epoch == 2:
            self.began = now
        elif epoch > 2 and now[0] - self.began[0] > IDLE_S:
            print(100 * (now[1] - self.began[1]) / (now[0] - self.began[0]), epoch)
            self.model.stop_training = True

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(256, "relu"), keras.layers.Dense(10)])
model.compile("adam", "mse")
x = np.random.rand(20000, 64).astype("float32")
model.fit(x, x[:, :10], epochs=9999, verbose=0, callbacks=[MonitorCallback(), Watch()])
"""


def new_link(folders: Folders) -> Link:
    """A started link of its own run."""
    started = SessionStarted(
        t_s=0.0, session="bench", name="bench", host="here", pid=1, started_wall_s=time.time()
    )
    link = Link(
        run=f"bench{time.time_ns()}",
        session_id="bench",
        folders=folders,
        started=started,
        hub=HubChoice(),
        on_command=lambda _: None,
        faults=FaultLog(),
    )
    link.start()
    return link


def emit_us(folders: Folders, *, pause_s: float, n: int) -> tuple[list[float], list[float]]:
    """Times of single emits, and of appends to a deque beside them, microseconds, sorted.

    In the pauses this thread works, as a training does.
    """
    link = new_link(folders)
    event = EpochEnded(t_s=1.0, fit=1, epoch=1, seconds=1.0, logs={"loss": 0.5})
    bare: deque[object] = deque(maxlen=1000)
    emits, appends = list[float](), list[float]()
    for _ in range(n):
        end = time.perf_counter() + pause_s
        while time.perf_counter() < end:
            pass
        appends.append(_took_us(bare.append, event))
        emits.append(_took_us(link.emit, event))
    link.close()
    return sorted(emits), sorted(appends)


def _took_us(call: Callable[[EpochEnded], None], event: EpochEnded) -> float:
    began = time.perf_counter_ns()
    call(event)
    return (time.perf_counter_ns() - began) / 1000


def thread_percent(folders: Folders, *, with_hub: bool) -> tuple[float, float]:
    """CPU of the agent's thread, and of the process, at one sample a second, percent of a core.

    The sample here is made of constants: what reading costs is the probes' own benchmark.
    """
    hub = started_hub(folders) if with_hub else None
    link = new_link(folders)
    link.every(1.0, lambda: link.emit(Sample(t_s=link.now_s(), fit=1, ram_bytes=1e9)))
    pause = threading.Event()
    while with_hub and not link.status().connected:
        pause.wait(0.1)
    pause.wait(2.0)
    thread = agent_thread()
    before, began, cpu = thread_cpu_s(thread), time.monotonic(), time.process_time()
    pause.wait(IDLE_S)
    took = time.monotonic() - began
    percent = 100 * (thread_cpu_s(thread) - before) / took
    whole = 100 * (time.process_time() - cpu) / took
    link.close()
    if hub is not None:
        hub.communicate(b"")
    return percent, whole


def started_hub(folders: Folders) -> subprocess.Popen[bytes]:
    """A hub in its own process, until its input closes: `communicate(b"")`."""
    code = f"from tests.benchmarks.bench_agent import serve; serve({str(folders.state)!r})"
    hub = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    hub.wait()  # what it forked serves
    return hub


def agent_thread() -> threading.Thread:
    """The one thread of the agent in this process."""
    return next(t for t in threading.enumerate() if t.name == THREAD_NAME)


def thread_cpu_s(thread: threading.Thread) -> float:
    """CPU time that a thread has used, seconds (Linux: schedstat counts nanoseconds)."""
    text = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
    return int(text.split()[0]) / 1e9


def serve(home: str) -> None:
    """A hub for the benchmark, in its own process, until its input closes."""
    if os.fork():
        os._exit(0)  # as a child of the training it would be read with it, each second
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with FakeHub(ingest_socket_path(find_folders({"KMONITOR_HOME": home}))) as hub:
        hub.ping_ms = 1000
        hub.serve_until(ended.is_set, deadline_s=600)


def import_s() -> tuple[float, float, str]:
    """Importing kmonitor_agent in fresh processes: median time, its CPU, and what came along."""
    times: list[float] = []
    cpu: list[float] = []
    loaded = ""
    for _ in range(9):
        done = subprocess.run(
            [sys.executable, "-c", IMPORT, *FRAMEWORKS], capture_output=True, text=True, check=True
        )
        seconds, cpu_seconds, *found = done.stdout.split()
        times.append(float(seconds))
        cpu.append(float(cpu_seconds))
        loaded = " ".join(found)
    return median(times), median(cpu), loaded


def at(times: list[float], fraction: float) -> float:
    """A quantile of sorted times."""
    return times[min(len(times) - 1, int(len(times) * fraction))]


def _with_folders(measure: Callable[[Folders], None]) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["KMONITOR_HOME"] = home
        measure(find_folders())


def _imports(judge: Judge) -> None:
    seconds, cpu, loaded = import_s()
    beside = f"{cpu:.3f} s of CPU; loaded by it: {loaded or 'no framework'}"
    judge.take(Measured("import kmonitor_agent", seconds, IMPORT_TARGET_S, "s", beside=beside))


def _emits(judge: Judge, folders: Folders) -> None:
    for what, pause_s, n in (
        ("emit in a tight loop", 0.0, 100_000),
        ("emit each 1 ms", 0.001, 3000),
        ("emit after 150 ms of silence (wakes the thread)", 0.15, 40),
    ):
        emits, appends = emit_us(folders, pause_s=pause_s, n=n)
        beside = (
            f"p50 {at(emits, 0.5):.2f}; deque.append: {at(appends, 0.5):.2f}, "
            f"{at(appends, 0.99):.2f}"
        )
        bound = EMIT_TARGET_US if pause_s < 0.01 else None  # rare
        judge.take(Measured(f"{what}, p99", at(emits, 0.99), bound, "us", beside=beside))


def _threads(judge: Judge, folders: Folders) -> None:
    for what, with_hub in (("no hub", False), ("with a hub", True)):
        thread, whole = thread_percent(folders, with_hub=with_hub)
        name, beside = f"agent's thread at 1 Hz, {what}", f"whole process {whole:.3f}%"
        judge.take(Measured(name, thread, THREAD_TARGET_PERCENT, "% of a core", beside=beside))


def _training(judge: Judge, _: Folders) -> None:
    name = "agent's thread in a Keras training"
    if find_spec("keras") is None:
        print(f"{name}: no Keras here")
        return
    done = subprocess.run(
        [sys.executable, "-c", TRAINING], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    percent, epochs = done.stdout.split()
    bound, beside = THREAD_TARGET_PERCENT, f"{epochs} epochs reported"
    judge.take(Measured(name, float(percent), bound, "% of a core", beside=beside))


def main() -> int:
    """Print what was measured; 1 if a bound is missed."""
    with Judge() as judge:
        _imports(judge)
        for measure in (_emits, _threads, _training):
            _with_folders(partial(measure, judge))
    return judge.status


if __name__ == "__main__":
    sys.exit(main())
