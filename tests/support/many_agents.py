"""Agents of one process, each a real link of its own run, at an even rate.

`python -m tests.support.many_agents AGENTS PER_S`, with KMONITOR_HOME set. Emits from the first
line of its input until that ends, waits for the hub, and writes one JSON line: the number of
samples that each run emitted, the time of each emit on the clock in microseconds, and the faults
of all links.

Before each emit the thread works for a moment, as a training does. The data of an emit has left
the processor's caches by then: an emit in a loop takes a tenth of the time.
"""

import json
import sys
import threading
import time

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.wire.messages.events import Sample
from tests.support.steady_source import new_link
from tests.support.waiting import wait_until

WORK_US = 200


def main() -> None:
    """Emit until the input ends."""
    n_agents, per_s = int(sys.argv[1]), float(sys.argv[2])
    faults = FaultLog()
    links = dict(new_link(f"agent {number}", "", faults) for number in range(n_agents))
    counts = dict.fromkeys(links, 0)
    sys.stdin.readline()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    took_us: list[float] = []
    while not ended.wait(1 / per_s):
        for run, link in links.items():
            work()
            event = Sample(t_s=link.now_s(), fit=1, step=counts[run], ram_bytes=1e9)
            began_ns = time.perf_counter_ns()
            link.emit(event)
            took_us.append(round((time.perf_counter_ns() - began_ns) / 1000, 2))
            counts[run] += 1
    for run, link in links.items():
        wait_until(lambda run=run, link=link: link.status().acked > counts[run], what="confirmed")
        link.close(timeout_s=2.0)
    told = {"counts": counts, "us": took_us, "faults": faults.counts()}
    sys.stdout.write(json.dumps(told) + "\n")


def work() -> None:
    """Keep the interpreter at it for a while."""
    end_ns = time.perf_counter_ns() + WORK_US * 1000
    while time.perf_counter_ns() < end_ns:
        pass


if __name__ == "__main__":
    main()
