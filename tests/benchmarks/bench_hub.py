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
from pathlib import Path

from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.local_hub import ensure_hub, stop_hub
from kmonitor_agent.local.folders import Folders, find_folders
from kmonitor_agent.protocol.codec import decode_event
from kmonitor_agent.protocol.facts import Sample

AGENTS = 4
PER_S = 10_000
SECONDS = 5
KILLS = 5
KILLED_EVENTS = 20_000
COLUMNS = ["ram_bytes", "vram_bytes", "graph_operations", "step_time_s"]

_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Print the table; 1 when a figure is missed."""
    rows: list[tuple[str, str, str, bool]] = []
    for measure in (throughput, _kills, charts):
        with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
            os.environ["KMONITOR_HOME"] = home
            folders = find_folders()
            ensure_hub(folders)
            try:
                rows += measure(folders)
            finally:
                stop_hub(folders)
    print("| figure | measured | target | met |")
    print("|---|---|---|---|")
    for figure, measured, target, met in rows:
        print(f"| {figure} | {measured} | {target} | {'yes' if met else 'NO'} |")
    return 0 if all(met for *_, met in rows) else 1


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


def throughput(folders: Folders) -> list[tuple[str, str, str, bool]]:
    """Figures of four agents that tell 10 000 events a second together, to the hub that runs."""
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
        (f"{what}: confirmed a second", f"{rate:,.0f}", f"{PER_S:,} offered", rate > 0.9 * PER_S),
        (f"{what}: p50 to confirmation", f"{p50_s * 1000:.0f} ms", "-", True),
        (f"{what}: p99 to confirmation", f"{p99_s * 1000:.0f} ms", "300 ms", p99_s <= 0.3),
        ("rows stored", f"{rows:,}", f"{AGENTS * (count + 1):,}", rows >= AGENTS * (count + 1)),
    ]


def _kills(folders: Folders) -> list[tuple[str, str, str, bool]]:
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
        (f"{what}: lost", str(lost), "0", lost == 0),
        (f"{what}: stored twice", str(twice), "0", twice == 0),
        (f"{what}: in order", str(steps == sorted(steps)), "True", steps == sorted(steps)),
    ]


def charts(folders: Folders) -> list[tuple[str, str, str, bool]]:
    """How long the first chart of a long run takes, by a hub that just started, and the next."""
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
        (f"{what}, cold", f"{cold_s * 1000:.0f} ms", "1000 ms", cold_s <= 1.0),
        (f"{what}, warm", f"{warm_s * 1000:.0f} ms", "100 ms", warm_s <= 0.1),
    ]


if __name__ == "__main__":
    sys.exit(main())
