"""A real window, offscreen, that follows live runs: `following SIZE`; prints one line of JSON."""

import json
import sys
import time
from statistics import median

import psutil

from tests.benchmarks.bench_desktop import Tried

_SECONDS = 15.0
_REFRESHES = 20


def main() -> None:
    """Open the window, wait until all runs are listed, follow them."""
    size = int(sys.argv[1])
    began_s = time.monotonic()
    tried = Tried()
    tried.until(lambda: len(tried.app.workspace.run_store) == size, "all runs are known")
    listed_s = time.monotonic() - began_s
    tried.until(lambda: tried.app.charts_controller is not None, "charts")
    tried.rest(2.0)
    cpu_s, main_s, began_s = time.process_time(), time.thread_time(), time.monotonic()
    tried.rest(_SECONDS)
    wall_s = time.monotonic() - began_s
    percent = 100 * (time.process_time() - cpu_s) / wall_s
    main_percent = 100 * (time.thread_time() - main_s) / wall_s
    took_ms: list[float] = []
    for _ in range(_REFRESHES):
        tried.rest(0.1)
        took_ms.append(tried.cost(tried.app.controller.refresh)[0])
    told = {
        "listed_s": listed_s,
        "percent": percent,
        "main_percent": main_percent,
        "refresh_ms": median(took_ms),
        "worst_ms": max(took_ms),
        "rss_bytes": psutil.Process().memory_info().rss,
    }
    tried.app.stop()
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
