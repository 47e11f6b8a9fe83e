"""How the hub grows: fleets of simulated agents tell an hour of telemetry as fast as it is taken.

An hour of a run is a sample a second and an epoch a minute, as real runs tell at most.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from kmonitor_agent.local.folders import find_folders
from kmonitor_agent.protocol.facts import EpochEnded, Sample
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent

FLEETS = (10, 100, 1000)
_HOUR_S = 3600
_EPOCH_S = 60
_STEP_S = 600
"""Each agent tells so much of its hour, then the next one: none keeps all of it unconfirmed."""


def rows() -> Iterator[Sequence[str]]:
    """The table's lines, one for each size of fleet."""
    for size in FLEETS:
        with tempfile.TemporaryDirectory(prefix="kmonitor-peers-") as home:
            os.environ["KMONITOR_HOME"] = home
            yield _fleet(size, Path(home))


def _fleet(size: int, home: Path) -> Sequence[str]:
    folders = find_folders()
    live = LiveHub(folders)
    live.start()
    hub = psutil.Process(live.process.pid)
    agents = [SimulatedAgent(folders, name=f"run {number}") for number in range(size)]
    try:
        began_s, used_s = time.monotonic(), _cpu_s(hub)
        for agent in agents:
            agent.__enter__()
        for begin in range(0, _HOUR_S, _STEP_S):
            for agent in agents:
                _tell(agent, begin)
            for agent in agents:
                agent.wait_acked()
        took_s, used_s = time.monotonic() - began_s, _cpu_s(hub) - used_s
        events = sum(len(agent.bodies) for agent in agents)
        held = hub.memory_info().rss
        on_disk = sum(one.stat().st_size for one in folders.database.rglob("*") if one.is_file())
        with live.client() as client:
            asked_s = time.monotonic()
            told = client.runs()
            listed_s = time.monotonic() - asked_s
            asked_s = time.monotonic()
            client.series(agents[0].run, ["ram_bytes"])
            chart_s = time.monotonic() - asked_s
        assert len(told) == size
    finally:
        with ThreadPoolExecutor(32) as pool:
            list(pool.map(lambda agent: agent.close(), agents))
        live.kill()
    return (
        f"{size}",
        f"{events:,}",
        f"{took_s:.0f}",
        f"{events / took_s:,.0f}",
        f"{1e6 * used_s / events:.0f}",
        f"{100 * used_s / _HOUR_S:.1f}",
        f"{on_disk / size * 24 / 2**20:.1f}",
        f"{held / 2**20:.0f}",
        f"{1000 * listed_s:.0f}",
        f"{1000 * chart_s:.0f}",
    )


def _tell(agent: SimulatedAgent, begin_s: int) -> None:
    for second in range(begin_s, begin_s + _STEP_S):
        agent.emit(
            Sample(
                t_s=float(second),
                fit=1,
                step=second * 20,
                ram_bytes=2e9 + second * 1000,
                vram_bytes=4e9,
                step_time_s=0.05,
            )
        )
        if second % _EPOCH_S == _EPOCH_S - 1:
            epoch = second // _EPOCH_S
            logs = {"loss": 1 / (1 + epoch), "accuracy": 0.5}
            agent.emit(EpochEnded(t_s=float(second), fit=1, epoch=epoch, seconds=60.0, logs=logs))


def _cpu_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system
