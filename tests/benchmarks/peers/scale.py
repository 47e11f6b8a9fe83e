"""Growth of hub and window with fleets of simulated agents, catching up and live.

An hour of a run is a sample a second and an epoch a minute, the most that real runs send.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import psutil

from kmonitor_agent.wire.local.folders import find_folders
from tests.support.live_hub import LiveHub

FLEETS = (10, 100, 1000)
HUB = (
    "runs",
    "catching up, events a second",
    "hub's CPU, us an event",
    "live: hub's CPU, % of a core",
    "live: sample stored after, s (99 of 100)",
    "hub's RSS, MiB",
    "list of runs, ms",
    "a chart, ms",
)
WINDOW = (
    "runs",
    "list shown after, s",
    "CPU, % of a core",
    "of it the main thread, %",
    "a refresh, ms (worst)",
    "RSS, MiB",
)
_ROOT = Path(__file__).parents[3]
_HOUR_S = 3600
_DAY_S = 86_400
_LIVE_S = 20
_MOST_WHILES = 8
_LATE_S = 1.0
_CHARTED = ["ram_bytes"]


class Source:
    """The process that plays the fleet, and the hub that it sends to."""

    def __init__(self, size: int, seconds: int, home: str) -> None:
        os.environ["KMONITOR_HOME"] = home
        self.live = LiveHub(find_folders())
        self.live.start()
        self.hub = psutil.Process(self.live.process.pid)
        words = [sys.executable, "-m", "tests.benchmarks.peers.fleet_source"]
        self.process = subprocess.Popen(
            [*words, str(size), str(seconds)],
            cwd=_ROOT,
            env=os.environ | {"PYTHONPATH": str(_ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, line: str) -> tuple[dict[str, float], float]:
        """The fleet's answer, and the hub's CPU seconds meanwhile."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        used = self.hub.cpu_times()
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        now = self.hub.cpu_times()
        return told, now.user + now.system - used.user - used.system


@contextmanager
def source(size: int, seconds: int) -> Iterator[Source]:
    """A fleet that was welcomed, in its own home; both processes are ended."""
    with tempfile.TemporaryDirectory(prefix="kmonitor-peers-") as home:
        fleet = Source(size, seconds, home)
        try:
            fleet.ask("greet")
            yield fleet
        finally:
            fleet.process.kill()
            fleet.process.communicate()
            fleet.live.kill()


def measure() -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    """The lines of both tables, of hub and of window, one for each size of fleet."""
    hubs: list[Sequence[str]] = []
    windows: list[Sequence[str]] = []
    for size in FLEETS:
        with source(size, _HOUR_S) as fleet:
            hubs.append(_hub(size, fleet))
            windows.append(_window(size))
    return hubs, windows


def day_mib() -> float:
    """Size of a run's day in the hub's database, packed and written back, MiB."""
    with source(1, _DAY_S) as fleet:
        fleet.ask("hour")
        while fleet.hub.cpu_percent(interval=2.0) > 8.0:
            pass
        folder = fleet.live.folders.database
        fleet.process.kill()
        fleet.live.stop()  # its last act is a checkpoint
        return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file()) / 2**20


def _hub(size: int, fleet: Source) -> Sequence[str]:
    hour, hour_cpu_s = fleet.ask("hour")
    live, live_cpu_s = _settled(fleet)
    with fleet.live.client() as client:
        began_s = monotonic()
        runs = client.runs()
        listed_s = monotonic() - began_s
        began_s = monotonic()
        client.series(runs[0].run, _CHARTED)
        chart_s = monotonic() - began_s
    assert len(runs) == size
    return (
        f"{size}",
        f"{hour['events'] / hour['seconds']:,.0f}",
        f"{1e6 * hour_cpu_s / hour['events']:.0f}",
        f"{100 * live_cpu_s / live['seconds']:.1f}",
        f"{live['p99_s']:.2f}" if live["confirmed"] else f"none within {_LIVE_S}",
        f"{fleet.hub.memory_info().rss / 2**20:.0f}",
        f"{1000 * listed_s:.0f}",
        f"{1000 * chart_s:.0f}",
    )


def _settled(fleet: Source) -> tuple[dict[str, float], float]:
    """A live while once the hub has judged all that was caught up, or the last of some."""
    live, used_s = fleet.ask(f"live 1 {_LIVE_S}")
    for _ in range(_MOST_WHILES):
        if live["confirmed"] and live["p99_s"] < _LATE_S:
            break
        live, used_s = fleet.ask(f"live 1 {_LIVE_S}")
    return live, used_s


def _window(size: int) -> Sequence[str]:
    words = [sys.executable, "-m", "tests.benchmarks.peers.following", str(size)]
    environ = os.environ | {"PYTHONPATH": str(_ROOT), "QT_QPA_PLATFORM": "offscreen"}
    ran = subprocess.run(
        words, cwd=_ROOT, env=environ, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        sys.stderr.write(ran.stderr[-2000:])
        return (f"{size}", "not within 120 s", "", "", "", "")
    told = json.loads(ran.stdout.splitlines()[-1])
    return (
        f"{size}",
        f"{told['listed_s']:.1f}",
        f"{told['percent']:.0f}",
        f"{told['main_percent']:.0f}",
        f"{told['refresh_ms']:.0f} ({told['worst_ms']:.0f})",
        f"{told['rss_bytes'] / 2**20:.0f}",
    )
