"""A process with further sessions of stored runs, each of which sends a sample at an even rate.

`python -m tests.support.going_on PER_S RUN=N_EVENTS...`, with KMONITOR_HOME set: N_EVENTS is the
number that the hub has of the run. Says "ready" once the hub knows all; ends with its input.
"""

import sys
import threading
from contextlib import ExitStack

from kmonitor_agent.wire.local.folders import find_folders
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import wait_until

_GIB = 2.0**30


def main() -> None:
    """Send samples until the input ends."""
    per_s = float(sys.argv[1])
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with ExitStack() as stack:
        agents = [
            stack.enter_context(_next_boot(*words.split("="), number=number))
            for number, words in enumerate(sys.argv[2:])
        ]
        for agent in agents:
            agent.fit = 1
            agent.start_fit(epochs=90, steps=1000)
            agent.start_epoch()
        wait_until(lambda: all(agent.hubs for agent in agents), what="the hub knows all")
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        step = 0
        while not ended.wait(1 / per_s):
            step += 1
            for number, agent in enumerate(agents):
                ram_bytes = (40 + number + step / 100) * _GIB
                agent.sample(ram_bytes=ram_bytes, step=step, vram_bytes=20 * _GIB)


def _next_boot(run: str, n_events: str, *, number: int) -> SimulatedAgent:
    agent = SimulatedAgent(find_folders(), run=run, name=f"run {number}")
    # The hub does not request events that it has: hence empty.
    agent.bodies[:0] = [b""] * int(n_events)
    return agent


if __name__ == "__main__":
    main()
