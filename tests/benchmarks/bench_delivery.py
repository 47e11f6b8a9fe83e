"""Delivery's figures: cost of a hub in trouble for a training, and throughput of one hub.

Others on the machine make each figure an upper bound; the load is printed first. Run alone:
`python tests/benchmarks/bench_delivery.py [emit training exit flood follower million]`.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from kmonitor.connect.hub_client import HubClient
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.log import LOG
from kmonitor.hub.runs.hub_event_log import HubEventLog, TakenEvent, read_event_body
from kmonitor.hub.store.database import SqliteDatabase
from kmonitor.hub.store.sample_blocks import BLOCK_SAMPLES, TIMES
from kmonitor.hub.store.schema import open_reader
from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.agent_thread import AgentThread
from kmonitor_agent.link.link import Link
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.host_identity import own_keys
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import EpochEnded, Sample
from kmonitor_agent.wire.messages.unions import Ack
from tests.support.direct_hub import listening
from tests.support.fake_hub import FakeHub
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.steady_source import new_link
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
TROUBLES = ("absent", "hung", "stopped", "flooding")
EMITS = 40_000
FLOOD_EVENTS = 60_000
FLOODERS = 4
EVENT_BYTES = 200
RUNS = 50
FOLLOW_S = 15.0
MILLION = 1_000_000
COMMIT_SAMPLES = 10_000
FIT_ROUNDS = 30
FIT_STEPS = 3000
FIRST_STEP = 1000

TRAINING = """
import os, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from statistics import median
import keras
from tests.benchmarks.bench_hooks import Empty, data, small_model
from kmonitor_agent import MonitorCallback
from kmonitor_agent.recording.runs import RUNS

class Clock(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == FIRST_STEP:
            self.began, self.used = time.perf_counter(), time.process_time()
        elif batch == STEPS - 1:
            self.took = (time.perf_counter() - self.began) / (STEPS - 1 - FIRST_STEP)
            self.cpu = (time.process_time() - self.used) / (STEPS - 1 - FIRST_STEP)

model, (x, y) = small_model(), data(STEPS)
kinds = {"empty": Empty, "ours": lambda: MonitorCallback("bench delivery")}
ratios, own, steps = [], [], []
for number in range(ROUNDS + 1):
    clocks = {}
    for name in sorted(kinds, reverse=bool(number % 2)):
        clocks[name] = Clock()
        callbacks = [kinds[name](), clocks[name]]
        model.fit(x, y, batch_size=16, epochs=1, verbose=0, callbacks=callbacks)
        RUNS.close()
    if number:
        ratios.append(clocks["ours"].took / clocks["empty"].took)
        own.append(clocks["ours"].cpu / clocks["empty"].cpu)
        steps.append(clocks["ours"].took)
quarter = sorted(ratios)[len(ratios) // 4], sorted(ratios)[-1 - len(ratios) // 4]
print(median(ratios), median(own), median(steps), *quarter)
"""
"""Each fit with us starts a session, so that without us no thread of ours exists either.

The start of a fit is not part of a step: the clock runs from the step in which it is up.
"""


def serve(home: str, trouble: str) -> None:
    """A hub that hangs or floods once it has welcomed an agent, until the input closes."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with FakeHub(ingest_socket_path(find_folders({"KMONITOR_HOME": home}))) as hub:
        hub.serve_until(lambda: hub.acked > 0 or ended.is_set(), deadline_s=600)
        if trouble == "hung":
            ended.wait()
        noise = [Ack(run="nobody", acked=1)] * 100
        while not ended.is_set():
            hub.send(*noise)
            hub.serve_until(lambda: True)


@contextmanager
def hub_in(trouble: str, folders: Folders) -> Iterator[Callable[[], None]]:
    """A hub in this trouble; call what is given once the agent is up."""
    if trouble == "absent":
        yield lambda: None
    elif trouble == "stopped":
        live = LiveHub(folders)
        live.start()
        try:
            yield lambda: live.process.send_signal(signal.SIGSTOP)
        finally:
            live.kill()
    else:
        served = f"serve({str(folders.state)!r}, {trouble!r})"
        code = f"from tests.benchmarks.bench_delivery import serve; {served}"
        hub = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=ROOT)
        wait_until(ingest_socket_path(folders).exists, what="it listens")
        try:
            yield lambda: None
        finally:
            hub.communicate(b"")


def emit(folders: Folders) -> None:
    """Single emits with the hub in each trouble."""
    event = EpochEnded(t_s=1.0, fit=1, epoch=1, seconds=1.0, logs={"loss": 0.5})
    for trouble in TROUBLES:
        with hub_in(trouble, folders) as begin:
            _, link = new_link("bench", "", FaultLog())
            if trouble != "absent":
                wait_until(lambda link=link: link.status().acked, what="welcome")
            begin()
            took_us = sorted(_emit_us(lambda link=link: link.emit(event)) for _ in range(EMITS))
            link.close(timeout_s=0.1)
        p50, p99 = took_us[EMITS // 2], took_us[int(EMITS * 0.99)]
        show(f"emit, hub {trouble}", f"p50 {p50:.2f}, p99 {p99:.2f} us", "<= 0.5, <= 5 us")


def _emit_us(call: Callable[[], None]) -> float:
    # In between the training works: 20 us here, so that the agent's thread keeps up.
    until_ns = time.perf_counter_ns() + 20_000
    while time.perf_counter_ns() < until_ns:
        pass
    began_ns = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - began_ns) / 1000


def training(folders: Folders) -> None:
    """A real training, with and without us in turns in one process."""
    numbers = {"ROUNDS": FIT_ROUNDS, "FIRST_STEP": FIRST_STEP, "STEPS": FIT_STEPS}
    code = TRAINING
    for name, number in numbers.items():
        code = code.replace(name, str(number))
    for trouble in TROUBLES:
        with hub_in(trouble, folders) as begin:
            begin()
            words = [sys.executable, "-c", code]
            done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
        ratio, own, step_s, low, high = map(float, done.stdout.split()[-5:])
        value = (
            f"{100 * (ratio - 1):+.2f}% of {1e6 * step_s:.0f} us, {100 * (own - 1):+.2f}% in "
            f"processor time (medians of {FIT_ROUNDS} pairs; half of them from "
            f"{100 * (low - 1):+.1f} to {100 * (high - 1):+.1f}%)"
        )
        show(f"step of a real training, hub {trouble}", value, "<= 1%")


def exits(folders: Folders) -> None:
    """Time that the end of a process waits, whatever hangs and however many runs it has."""
    for trouble, runs, bound in (
        ("absent", 1, "<= 0.1 s"),
        ("absent", 100, "<= 2 s"),
        ("stopped", 1, "<= 2 s"),
        ("stopped", 100, "<= 2 s"),
    ):
        delays_s: list[float] = []
        for _ in range(3):
            with hub_in(trouble, folders) as begin:
                agent, links = _linked(runs, is_welcomed=trouble != "absent")
                begin()
                delays_s.append(_exit_s(agent, links))
        show(f"delay at the end, {runs} runs, hub {trouble}", f"{median(delays_s):.3f} s", bound)
    delays_s = [_exit_with_a_hung_disk_s() for _ in range(3)]
    show("delay at the end, 100 runs, disk hangs", f"{median(delays_s):.3f} s", "<= 2 s")


def _linked(runs: int, *, is_welcomed: bool) -> tuple[AgentThread, list[Link]]:
    """An agent with this many runs, confirmed by a hub or kept on disk."""
    agent = AgentThread()
    links = [new_link("bench", "", FaultLog(), agent)[1] for _ in range(runs)]
    for link in links:
        wait_until(lambda link=link: link.status().last_seq, what="it is up")
        if is_welcomed:
            wait_until(lambda link=link: link.status().acked, what="welcome")
    return agent, links


def _exit_s(agent: AgentThread, links: list[Link]) -> float:
    for link in links:
        link.emit(Sample(t_s=1.0, fit=1))
    began_s = time.monotonic()
    agent.close()
    return time.monotonic() - began_s


def _exit_with_a_hung_disk_s() -> float:
    hanging, write = threading.Event(), os.write

    def hang(descriptor: int, data: bytes) -> int:
        if len(data) > 8:  # not the wake-up of a thread
            hanging.wait(60.0)
        return write(descriptor, data)

    agent, links = _linked(100, is_welcomed=False)
    os.write = hang
    try:
        return _exit_s(agent, links)
    finally:
        hanging.set()
        os.write = write
        agent.close(60.0)


def flood(folders: Folders) -> None:
    """Events that a hub takes from four agents over the network: CURVE, FULL in the database."""
    folders.state.mkdir(parents=True, exist_ok=True)
    for hub in listening(folders):
        hub.device("agent", own_keys(folders, "agent"))
        words = ["-m", "tests.support.flood_source", hub.address.url]
        sources = [
            subprocess.Popen(
                [sys.executable, *words, str(FLOOD_EVENTS), str(EVENT_BYTES)],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for _ in range(FLOODERS)
        ]  # fmt: skip
        for source in sources:
            assert source.stdout is not None
            assert source.stdout.readline() == "ready\n"
        cpu_s = cpu_of(hub.live.process.pid)
        for source in sources:
            assert source.stdin is not None
            source.stdin.write("go\n")
            source.stdin.flush()
        told = [json.loads(source.communicate(timeout=180)[0]) for source in sources]
        cpu_s = cpu_of(hub.live.process.pid) - cpu_s
        n = FLOODERS * FLOOD_EVENTS
        rate = n / max(one["seconds"] for one in told)
        value = f"{rate:,.0f} a second, {1e6 * cpu_s / n:.1f} us of the hub's cores each"
        show(f"{FLOODERS} agents, {EVENT_BYTES} bytes, CURVE, FULL", value, ">= 50,000 a second")


def follower(folders: Folders) -> None:
    """One desktop's follower on many runs that send a sample once a second."""
    live = LiveHub(folders)
    live.start()
    agents = [SimulatedAgent(folders, name=f"run {number}") for number in range(RUNS)]
    try:
        with HubClient(folders=folders) as client:
            for agent in agents:
                agent.__enter__()
            wait_until(lambda: len(client.runs()) == RUNS, what="all report")
            script = subprocess.Popen(
                [sys.executable, "-c", FOLLOW], cwd=ROOT, stdout=-1, text=True
            )
            end_s = time.monotonic() + FOLLOW_S + 5.0
            while time.monotonic() < end_s and script.poll() is None:
                for agent in agents:
                    agent.sample()
                threading.Event().wait(1.0)
            percent, rows = script.communicate(timeout=60)[0].split()
    finally:
        for agent in agents:
            agent.close()
        live.kill()
    show(f"following {RUNS} runs at 1 Hz", f"{percent}% of a core, {rows} rows", "<= 10%")


FOLLOW = f"""
import resource, time
from kmonitor.connect.hub_client import HubClient
def used():
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime
with HubClient() as client:
    cursor, n = client.hub().rows, 0
    page = client.rows(cursor=cursor)
    began, cpu = time.monotonic(), used()
    while time.monotonic() - began < {FOLLOW_S}:
        page = client.rows(cursor=page.cursor)
        n += len(page.rows)
        time.sleep(0.2)
    print(f"{{100 * (used() - cpu) / (time.monotonic() - began):.1f}}", n)
"""


def million(folders: Folders) -> None:
    """A run of a million samples, stored, to its first complete chart."""
    live = LiveHub(folders)
    live.start()
    with SimulatedAgent(folders) as agent:
        agent.sample()
        agent.wait_acked()
        run = agent.run
    live.stop()
    store_samples(folders, run, MILLION)
    # As for a run that has gone on for days, of which all but the newest samples are packed.
    live.start()
    wait_packed(folders, MILLION)
    live.stop()
    live.start()
    with live.client() as client:
        took_s: list[float] = []
        for _ in range(2):
            began_s = time.perf_counter()
            client.series(run, ["ram_bytes", "vram_bytes"])
            took_s.append(time.perf_counter() - began_s)
    live.kill()
    show(f"{MILLION:,} samples to the first chart, cold", f"{took_s[0]:.2f} s", "<= 1 s")
    show("the same again", f"{took_s[1]:.2f} s", "<= 1 s")


def store_samples(folders: Folders, run: str, n_samples: int) -> None:
    """Have a hub that is not running store this many samples of a run that it knows."""
    database = SqliteDatabase(folders.database / "hub.sqlite3")
    log = HubEventLog(database, HubFaults(LOG), SystemClock())
    record = log.registry.get_or_add(run)
    taken: list[TakenEvent] = []
    first = record.accepted + 1
    for n in range(n_samples):
        sample = Sample(t_s=float(n), fit=1, step=n, ram_bytes=1e9 + n % 1000, vram_bytes=1e8)
        taken.append(read_event_body(first + n, encode_event(sample)))
        if len(taken) == COMMIT_SAMPLES or n == n_samples - 1:
            log.append(record, taken)
            log.commit()
            taken.clear()
    database.close()


def wait_packed(folders: Folders, n_samples: int) -> None:
    """Until the hub has packed all whole blocks of this many samples."""
    reader = open_reader(folders.database / "hub.sqlite3")
    query = "SELECT coalesce(sum(n_samples), 0) FROM sample_blocks WHERE name = ?"
    while reader.execute(query, (TIMES,)).fetchone()[0] + BLOCK_SAMPLES <= n_samples:
        time.sleep(0.5)
    reader.close()


def cpu_of(pid: int) -> float:
    """Processor time that a process has used, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(what: str, value: str, target: str) -> None:
    """One line of the table."""
    print(f"| {what} | {value} | {target} |", flush=True)


PARTS = {
    "emit": emit,
    "training": training,
    "exit": exits,
    "flood": flood,
    "follower": follower,
    "million": million,
}


def main(words: list[str]) -> None:
    """Print the table."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| what | measured | target |\n|---|---|---|")
    for name, measure in PARTS.items():
        if words and name not in words:
            continue
        with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
            os.environ["KMONITOR_HOME"] = home
            measure(find_folders())


if __name__ == "__main__":
    main(sys.argv[1:])
