"""A training with many run names in one process, and what that costs it; prints JSON lines.

`python -m tests.support.named_runs COUNT (one|kept|again)`: names one after another, each callback
gone with its fit; or every callback kept; or two names in turn, COUNT fits in all.
"""

import gc
import json
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np

from kmonitor_agent import MonitorCallback
from kmonitor_agent.recording.runs import RUNS
from tests.support.waiting import wait_until

X = np.zeros((8, 2), "float32")
THREADS = 3
DESCRIPTORS = 16


def descriptors() -> int:
    """Descriptors of this process, now."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def threads() -> int:
    """Threads of this process, native ones too."""
    return len(list(Path("/proc/self/task").iterdir()))


def main() -> None:
    """Train and report; ends with an error where threads or descriptors stay."""
    count, how = int(sys.argv[1]), sys.argv[2]
    model: Any = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    for _ in range(3):
        model.fit(X, X[:, :1], verbose=0)
    gc.collect()
    before, before_fds = threads(), descriptors()
    kept: list[Any] = []
    ids: set[str] = set()
    for number in range(count):
        if number % 10 == 9:  # Keras leaves some of what a fit made in cycles
            gc.collect()
        name = f"trial {number % 2 if how == 'again' else number}"
        monitor = MonitorCallback(name)
        ids.add(monitor.run_id)
        model.fit(X, X[:, :1], verbose=0, callbacks=[monitor])
        if how == "kept":
            kept.append(monitor)
        del monitor
        if number % 10 == 9:
            link = RUNS.recorders()[-1].process_session.link
            assert link is not None
            wait_until(lambda link=link: link.status().connected)
            # The agent's thread closes what the fits have left, when it gets its turn.
            wait_until(lambda: descriptors() - before_fds <= DESCRIPTORS, what="few descriptors")
            wait_until(lambda: threads() - before <= THREADS, what="few threads")
    figures = {
        "sessions": len(RUNS.recorders()),
        "ids": sorted(ids),
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
