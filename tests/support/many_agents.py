"""Several agents in one process, each a real link of a run of its own, at an even rate.

`python -m tests.support.many_agents AGENTS PER_S`, with KMONITOR_HOME set. Emits until its input
ends, waits for the hub, and writes one JSON line: how many samples each run emitted, percentiles
of the time that an emit took (`us`: on the clock, `own_us`: of the emitting thread alone, without
what others take of the cores), in microseconds, and the faults of all links.
"""

import json
import sys
import threading
import time

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.protocol.facts import Sample
from tests.support.steady_source import new_link
from tests.support.waiting import wait_until


def main() -> None:
    """Emit until the input ends."""
    n_agents, per_s = int(sys.argv[1]), float(sys.argv[2])
    faults = FaultLog()
    links = dict(new_link(f"agent {number}", "", faults) for number in range(n_agents))
    counts = dict.fromkeys(links, 0)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    took_us: list[float] = []
    own_us: list[float] = []
    while not ended.wait(1 / per_s):
        for run, link in links.items():
            event = Sample(t_s=link.now_s(), fit=1, step=counts[run], ram_bytes=1e9)
            own_ns, began_ns = time.thread_time_ns(), time.perf_counter_ns()
            link.emit(event)
            took_us.append((time.perf_counter_ns() - began_ns) / 1000)
            own_us.append((time.thread_time_ns() - own_ns) / 1000)
            counts[run] += 1
    for run, link in links.items():
        wait_until(lambda run=run, link=link: link.status().acked > counts[run], what="confirmed")
        link.close(timeout_s=2.0)
    told = {
        "counts": counts,
        "us": _percentiles(took_us),
        "own_us": _percentiles(own_us),
        "faults": faults.counts(),
    }
    sys.stdout.write(json.dumps(told) + "\n")


def _percentiles(values: list[float]) -> dict[str, float]:
    in_order = sorted(values)
    return {f"p{n}": in_order[int(len(in_order) * n / 100)] for n in (50, 99)}


if __name__ == "__main__":
    main()
