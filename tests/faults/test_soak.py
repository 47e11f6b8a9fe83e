"""A soak: many agents at ten times the usual rate, and a hub that is killed and stopped at random.

`KMONITOR_SOAK_S=600 make test-full ARGS="-k soak -s"` runs it for ten minutes and prints figures:
there each agent is a separate process, as trainings are, and every emit of each is timed on the
clock from the first fault to the last (`tests/support/many_agents.py`). The time is printed, not
judged, since whoever else is on the machine is in it; `tests/benchmarks/bench_delivery.py` judges.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import Sample
from tests.support.direct_hub import rss_bytes
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S, wait_until

PER_S = 10.0
"""Ten times the rate of a usual run."""

SOAK_S = float(os.environ.get("KMONITOR_SOAK_S", "120"))
MOST_GROWTH_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Soak:
    """Duration and number of agents."""

    seconds: float
    processes: int
    per_process: int

    @property
    def agents(self) -> int:
        """All of them."""
        return self.processes * self.per_process


@pytest.mark.slow
@pytest.mark.parametrize(
    "soak",
    [Soak(2.0, 1, 10), pytest.param(Soak(SOAK_S, 50, 1), marks=pytest.mark.full)],
    ids=["short", "long"],
)
def test_a_soak_with_random_faults_loses_nothing_and_the_hub_stays_small(
    live_hub: LiveHub, soak: Soak
):
    words = [sys.executable, "-m", "tests.support.many_agents", str(soak.per_process)]
    words.append(str(PER_S))
    sources = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(soak.processes)
    ]
    with live_hub.client() as client:
        wait_until(lambda: len(client.runs()) == soak.agents, what="all report")
    for source in sources:
        assert source.stdin is not None
        source.stdin.write("go\n")
        source.stdin.flush()
    # Kills first, so that one process ages then; its caches are full after a third of the time.
    third_s = soak.seconds / 3
    n_faults = disturb(live_hub, third_s, may_kill=True)
    n_faults += disturb(live_hub, third_s, may_kill=False)
    young_bytes = rss_bytes(live_hub.process.pid)
    n_faults += disturb(live_hub, third_s, may_kill=False)
    told = [json.loads(source.communicate(timeout=2 * DEADLINE_S)[0]) for source in sources]
    grown_bytes = rss_bytes(live_hub.process.pid) - young_bytes
    with live_hub.client() as client:
        lost = {run: count for each in told for run, count in missing(client, each).items()}
    tell_figures(told, n_faults, grown_bytes)

    assert lost == {}
    assert n_faults > 0
    assert [each["faults"] for each in told] == [{}] * len(told)
    assert grown_bytes < MOST_GROWTH_BYTES


def tell_figures(told: list[dict[str, Any]], n_faults: int, grown_bytes: int) -> None:
    """Print the measurements, for whoever runs it with `-s`."""
    took_us = sorted(us for each in told for us in each["us"])
    at = {part: took_us[int(len(took_us) * part)] for part in (0.5, 0.9, 0.99, 0.999)}
    sys.stdout.write(
        f"\n{len(took_us)} samples, {n_faults} faults, hub grew by {grown_bytes / 2**20:.1f} MiB"
        f"\nemit, all on the clock, us: {at}; load {os.getloadavg()} on {os.cpu_count()} cores\n"
    )


def disturb(hub: LiveHub, seconds: float, *, may_kill: bool) -> int:
    """Kill or stop the hub at random moments for so long; how often it was."""
    random_ = random.Random(1)  # noqa: S311 - the same moments each time
    end_s, n = time.monotonic() + seconds, 0
    while time.monotonic() < end_s:
        pause(random_.uniform(0.2, 1.0 + seconds / 10))
        n += 1
        if may_kill and random_.random() < 0.5:
            hub.restart()
            continue
        hub.process.send_signal(signal.SIGSTOP)
        pause(random_.uniform(0.1, min(6.0, seconds / 2)))
        hub.process.send_signal(signal.SIGCONT)
    return n


def missing(client: HubClient, told: dict[str, dict[str, int]]) -> dict[str, tuple[int, int]]:
    """(emitted, stored) of each run that is not there once, whole and in order."""
    found: dict[str, tuple[int, int]] = {}
    for run, count in told["counts"].items():
        events = [decode_event(row.body) for row in client.all_rows(run)]
        steps = [event.step for event in events if isinstance(event, Sample)]
        if steps != list(range(count)):
            found[run] = (count, len(steps))
    return found


def pause(seconds: float) -> None:
    """The time between two faults, and the length of one."""
    end_s = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() >= end_s)
