"""A team's database beside the hub's own file: rate, latency, charts; a history that is moved."""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack

from kmonitor.connect.local_hub import ensure_hub, stop_hub
from kmonitor.hub.history_move import moved_to
from kmonitor.hub.store.opening import write_store
from kmonitor_agent.local.folders import Folders, find_folders
from tests.benchmarks.bench_hub import charts, throughput
from tests.support.capabilities import postgres_missing
from tests.support.stored_runs import store_runs
from tests.support.team_server import TeamServer

Row = tuple[str, str, str, bool]

MOVED_RUNS = 10
MOVED_SAMPLES = 20_000
LEAST_MOVED_PER_S = 5_000


def main() -> int:
    """Print the table; 1 when a figure is missed."""
    if postgres_missing():
        print(f"NOT RUN: {postgres_missing()}")
        return 1
    rows: list[tuple[str, Row]] = []
    with ExitStack() as stack:
        # As a team would run it: the same durability as the file has.
        server = TeamServer(is_durable=True)
        stack.callback(server.close)
        for number, measure in enumerate((throughput, charts)):
            rows += [("file", row) for row in _measured(measure, "")]
            server.ask(f"CREATE DATABASE bench{number}")
            rows += [("team", row) for row in _measured(measure, server.url(f"bench{number}"))]
        server.ask("CREATE DATABASE moved")
        rows += [("team", row) for row in _moved(server.url("moved"))]
    print("| store | figure | measured | target | met |")
    print("|---|---|---|---|---|")
    for store, (figure, measured, target, met) in rows:
        print(f"| {store} | {figure} | {measured} | {target} | {'yes' if met else 'NO'} |")
    return 0 if all(met for _, (*_, met) in rows) else 1


def _measured(measure: Callable[[Folders], list[Row]], store: str) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
        os.environ["KMONITOR_HOME"] = home
        folders = find_folders()
        write_store(folders, store)
        ensure_hub(folders)
        try:
            return measure(folders)
        finally:
            stop_hub(folders)


def _moved(store: str) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
        os.environ["KMONITOR_HOME"] = home
        folders = find_folders()
        store_runs(folders, MOVED_RUNS, MOVED_SAMPLES, are_ended=True)
        begin_s = time.perf_counter()
        moved = moved_to(folders, store, lambda _number, _of: None)
        per_s = moved.events / (time.perf_counter() - begin_s)
    what = f"{moved.events:,} events of {moved.runs} runs moved and compared, a second"
    return [(what, f"{per_s:,.0f}", f"{LEAST_MOVED_PER_S:,}", per_s >= LEAST_MOVED_PER_S)]


if __name__ == "__main__":
    sys.exit(main())
