"""The hub's figures: rate and latency of commits, kills without loss, charts of 100 000 points."""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.hub_socket import ViewSocket
from kmonitor.connect.local_hub import ensure_hub, stop_hub
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import ipc_endpoint, view_socket_path
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import Sample
from kmonitor_agent.wire.messages.unions import SeriesReply, SeriesRequest
from tests.benchmarks.judging import Judge, Measured
from tests.support.stored_runs import store_runs

AGENTS = 4
PER_S = 10_000
SECONDS = 5
KILLS = 5
KILLED_EVENTS = 20_000
LONG_SAMPLES = 3_000_000
COLUMNS = ["ram_bytes", "vram_bytes", "graph_operations", "step_time_s"]

_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Print each figure beside its bound; 1 if one is missed on a quiet machine."""
    with Judge() as judge:
        for measure in (throughput, _kills, charts, long_run):
            with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
                os.environ["KMONITOR_HOME"] = home
                folders = find_folders()
                ensure_hub(folders)
                try:
                    judge.take(*measure(folders))
                finally:
                    stop_hub(folders)
    return judge.status


def _source(count: int, per_s: float) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.event_source", str(count), str(per_s)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def _figures_of(source: "subprocess.Popen[str]") -> dict[str, float]:
    out, _ = source.communicate(timeout=180)
    return json.loads(out)


def throughput(folders: Folders) -> list[Measured]:
    """Figures of four agents that together send 10 000 events a second to the running hub."""
    count = PER_S * SECONDS // AGENTS
    sources = [_source(count, PER_S / AGENTS) for _ in range(AGENTS)]
    told = [_figures_of(source) for source in sources]
    rate = AGENTS * count / max(one["seconds"] for one in told)
    p50_s = statistics.median(one["p50_s"] for one in told)
    p99_s = max(one["p99_s"] for one in told)
    with HubClient(folders=folders) as client:
        rows = client.hub().rows
    what = f"{AGENTS} agents x {PER_S // AGENTS} events/s, {SECONDS} s"
    return [
        Measured(f"{what}: confirmed", rate, 0.9 * PER_S, "a second", at_least=True),
        Measured(f"{what}: p50 to confirmation", p50_s * 1000, None, "ms"),
        Measured(f"{what}: p99 to confirmation", p99_s * 1000, 300.0, "ms"),
        Measured("stored", rows, AGENTS * (count + 1), "rows", at_least=True),
    ]


def _kills(folders: Folders) -> list[Measured]:
    source = _source(KILLED_EVENTS, KILLED_EVENTS / 8)
    for _ in range(KILLS):
        with HubClient(folders=folders, timeout_s=20) as client:
            before = client.hub().rows
            while client.hub().rows < before + 1000:
                threading.Event().wait(0.02)
            pid = client.hub().pid
        os.kill(pid, signal.SIGKILL)
        ensure_hub(folders)
    run = str(_figures_of(source)["run"])
    with HubClient(folders=folders, timeout_s=20) as client:
        events = [decode_event(row.body) for row in client.all_rows(run)]
    steps = [event.step for event in events if isinstance(event, Sample)]
    lost = KILLED_EVENTS - len(set(steps))
    twice = len(steps) - len(set(steps))
    what = f"{KILLS} x kill -9 during {KILLED_EVENTS:,} events"
    return [
        Measured(f"{what}: lost", lost, 0, "events"),
        Measured(f"{what}: stored twice", twice, 0, "events"),
        Measured(f"{what}: out of order", sum(a > b for a, b in pairwise(steps)), 0, "events"),
    ]


def charts(folders: Folders) -> list[Measured]:
    """Time to the first chart of a long run, by a hub that just started, and to the next."""
    run = str(_figures_of(_source(100_000, 25_000))["run"])

    def ask(client: HubClient) -> float:
        begin_s = time.perf_counter()
        client.series(run, COLUMNS)
        return time.perf_counter() - begin_s

    stop_hub(folders)
    ensure_hub(folders)
    with HubClient(folders=folders, timeout_s=20) as client:
        cold_s = ask(client)
        warm_s = statistics.median(ask(client) for _ in range(9))
    what = "4 columns of 100,000 points"
    return [
        Measured(f"{what}, cold", cold_s * 1000, 1000.0, "ms"),
        Measured(f"{what}, warm", warm_s * 1000, 100.0, "ms"),
    ]


def long_run(folders: Folders) -> list[Measured]:
    """Time to the first chart of a long run that is not packed yet, and to its verdicts."""
    stop_hub(folders)
    (run,) = store_runs(folders, 1, LONG_SAMPLES, are_ended=True, are_packed=False)
    ensure_hub(folders)
    link = ViewSocket(ipc_endpoint(view_socket_path(folders)))
    begin_s = time.perf_counter()
    link.send(SeriesRequest(request_id=1, run=run, columns=COLUMNS, outline=True))
    took_s: dict[bool, float] = {}
    while True not in took_s and link.wait(60.0):
        told = link.receive()
        if isinstance(told, SeriesReply):
            took_s[told.one_of == 1] = time.perf_counter() - begin_s
    link.close()
    with HubClient(folders=folders) as client:
        begin_s = time.perf_counter()
        client.verdicts(run)
        judged_s = time.perf_counter() - begin_s
    what = f"{len(COLUMNS)} columns of {LONG_SAMPLES:,} points, none packed"
    return [
        Measured(f"{what}: outline", took_s[False] * 1000, 1000.0, "ms"),
        Measured(f"{what}: whole", took_s[True], 30.0, "s"),
        Measured(f"{what}: verdicts after it", judged_s, 15.0, "s"),
    ]


if __name__ == "__main__":
    sys.exit(main())
