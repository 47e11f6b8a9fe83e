"""Time until a hub in trouble is left, a cut network is used again, and an event is confirmed.

Run alone: `python tests/benchmarks/bench_recovery.py [kill hung cut lone handshakes exporter]`.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from kmonitor.hub.metrics.otlp import OtlpSender
from kmonitor.hub.metrics.snapshot import RunMetricsStore
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.host_identity import own_keys
from kmonitor_agent.wire.local.hub_address import ingest_socket_path, parse_direct_address
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import EpochEnded, Notice, Sample
from tests.benchmarks.judging import Judge, Measured
from tests.support.agent_process import start_agent
from tests.support.cut_link import Cable, why_no_cable
from tests.support.direct_hub import ListeningHub, listening
from tests.support.fake_hub import FakeHub
from tests.support.hub_figures import shelf
from tests.support.hub_parts import HubParts
from tests.support.links import LinkUnderTest, sample, spooled_events
from tests.support.live_hub import LiveHub
from tests.support.raw_zmtp import GREETING, connect_raw
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_S, wait_until

LEFT_S = 3.0
RESUMED_S = 2.0
CUTS_S = {"down": 6.0, "drop": 6.0, "reset": 30.0, "loss": 10.0}
"""Long enough for pauses between tries to have grown."""
PER_S = 50.0

EMIT_FOREVER = """
link.emit(epoch(0)); spooled(2)
n = 1
while True:
    link.emit(epoch(n))
    now = time.process_time()
    sys.stdout.write(f"{n} {now} {link.status().last_seq}\\n"); sys.stdout.flush()
    n += 1
    while time.process_time() < now + 0.001:
        zlib.crc32(STEP)
"""
"""Prints of each event its number, the process's own time, and how many are said to be spooled."""


def kill(folders: Folders) -> list[Measured]:
    """Events that `kill -9` loses; in the process's own time, in which no neighbour counts."""
    with start_agent(EMIT_FOREVER) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(1000)]
        process.kill()
        lines += process.stdout.read().splitlines()
    told = [line.split() for line in lines if len(line.split()) == 3]
    kept = [e.epoch for e in spooled_events(folders) if isinstance(e, EpochEnded)]
    at_s = float(told[-1][1])
    lost_s = [float(s) for n, s, _ in told if int(n) > kept[-1]]
    drains_s = [float(s) for (_, s, now), (_, _, then) in pairwise(reversed(told)) if now != then]
    between_s = statistics.median(a - b for a, b in pairwise(drains_s))
    return [
        Measured(
            "kill -9: age of the oldest event lost", at_s - min(lost_s, default=at_s), 0.5, "s"
        ),
        Measured("between two writes to the spool", between_s, 0.2, "s"),
    ]


def hung(folders: Folders) -> list[Measured]:
    """Seconds until a silent hub is left."""
    hub, pauses_s = LiveHub(folders), list[float]()
    hub.start()
    with LinkUnderTest(folders, timing=Timing()) as test:
        for number in range(3):
            wait_until(lambda: test.link.status().connected, what="connected")
            hub.process.send_signal(signal.SIGSTOP)
            pauses_s.append(_until_left_s(test))
            test.link.emit(sample(number))
            hub.process.send_signal(signal.SIGCONT)
    hub.kill()
    with (
        FakeHub(ingest_socket_path(folders)) as fake,
        LinkUnderTest(folders, run="run2", timing=Timing()) as test,
    ):
        fake.serve_until(lambda: fake.acked == 1)
        # From here on no one serves; libzmq's own thread answers for the hub all the time.
        hung_s = _until_left_s(test)
    return [
        Measured("a stopped hub is left", max(pauses_s), LEFT_S, "s"),
        Measured("a hub is left whose loop hangs", hung_s, LEFT_S, "s"),
    ]


def _until_left_s(test: LinkUnderTest) -> float:
    began_s = test.link.now_s()
    wait_until(lambda: not test.link.status().connected, what="left")
    return test.link.now_s() - began_s


def cut(folders: Folders) -> list[Measured]:
    """Seconds from the restored network to the first event."""
    why = why_no_cable()
    if why:
        print(f"cut networks: NOT RUN ({why})")
        return []
    with Cable() as cable, _hub_at(cable, folders) as hub:
        found_s = {how: _resumed_s(cable, hub, how, seconds) for how, seconds in CUTS_S.items()}
    return [
        Measured(f"first event after {CUTS_S[how]:g} s of {how}", seconds, RESUMED_S, "s")
        for how, seconds in found_s.items()
    ]


@contextmanager
def _hub_at(cable: Cable, folders: Folders) -> Iterator[ListeningHub]:
    live = LiveHub(folders)
    live.start("--bind", f"{cable.here}:0")
    with live.client() as client:
        yield ListeningHub(live, client, parse_direct_address(client.keys().address))
    live.kill()


def _resumed_s(cable: Cable, hub: ListeningHub, how: str, seconds: float) -> float:
    with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as far:
        environ = {**os.environ, "KMONITOR_HOME": far}
        hub.device("agent", own_keys(find_folders(environ), "agent"))
        words = [sys.executable, "-m", "tests.support.steady_source", hub.address.url, str(PER_S)]
        known = hub.client.hub().rows
        source = subprocess.Popen(
            cable.command(*words),
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: hub.client.hub().rows > known + PER_S, what="it reports")
        cable.cut(how)
        time.sleep(seconds)
        cable.mend()
        rows, began_s = hub.client.hub().rows, time.monotonic()
        wait_until(lambda: hub.client.hub().rows > rows, what="an event")
        resumed_s = time.monotonic() - began_s
        source.communicate("end\n", timeout=DEADLINE_S)
    return resumed_s


def lone(folders: Folders) -> list[Measured]:
    """An event that comes alone."""
    hub = LiveHub(folders)
    hub.start()
    body = encode_event(Notice(t_s=1.0, level="info", code="x", text="y"))
    took_s: list[float] = []
    with SimulatedAgent(folders) as agent:
        agent.wait_acked()
        for _ in range(20):
            began_s = time.monotonic()
            agent.emit_bytes(body)
            agent.wait_acked()
            took_s.append(time.monotonic() - began_s)
    hub.kill()
    return [Measured("a lone event is confirmed", statistics.median(took_s), 0.1, "s")]


def handshakes(folders: Folders) -> list[Measured]:
    """An agent beside connections that never finish their handshake."""
    (measured,) = (_beside_handshakes(hub) for hub in listening(folders))
    return [measured]


def _beside_handshakes(hub: ListeningHub) -> Measured:
    place = (hub.address.host, hub.address.port)
    waiting = [connect_raw(place) for _ in range(200)]
    for peer in waiting:
        peer.sendall(GREETING[:10])
    began_s = time.monotonic()
    with SimulatedAgent(hub.live.folders) as agent:
        agent.sample()
        agent.wait_acked()
    hub.device("viewer")
    took_s = time.monotonic() - began_s
    for peer in waiting:
        peer.close()
    return Measured("an agent beside 200 unfinished handshakes", took_s, 10.0, "s")


def exporter(folders: Folders) -> list[Measured]:
    """The end of a hub whose collector is away."""
    parts, book = HubParts(folders.state), RunMetricsStore()
    parts.event_log.listeners.append(book.on_event)
    record = parts.started_run(pid=1)
    parts.take(record, Sample(t_s=1.0, ram_process_bytes=5.0))
    laid = shelf(book, [record])
    sender = OtlpSender(
        "http://127.0.0.1:9/v1/metrics", laid, hub="hub1", host="here", every_s=0.02
    )
    wait_until(lambda: sender.trouble, what="it has tried")
    began_s = time.monotonic()
    sender.close()
    took_s = time.monotonic() - began_s
    parts.database.close()
    return [Measured("ending with a collector away", took_s, 3.0, "s")]


PARTS = {
    "kill": kill,
    "hung": hung,
    "cut": cut,
    "lone": lone,
    "handshakes": handshakes,
    "exporter": exporter,
}


def main(words: list[str]) -> int:
    """Print a line for each; 1 if a bound is missed on a quiet machine."""
    with Judge() as judge:
        for name, measure in PARTS.items():
            if words and name not in words:
                continue
            with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
                os.environ["KMONITOR_HOME"] = home
                judge.take(*measure(find_folders()))
    return judge.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
