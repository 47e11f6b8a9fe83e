"""A team's database beside the hub's own file: rate, latency, charts; a history that is moved."""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from kmonitor.cli.hub.store import moved_to
from kmonitor.connect.local_hub import ensure_hub, stop_hub
from kmonitor.hub.store.store_choice import write_store
from kmonitor_agent.wire.local.folders import Folders, find_folders
from tests.benchmarks.bench_hub import charts, throughput
from tests.benchmarks.judging import Judge, Measured
from tests.support.capabilities import postgres_missing
from tests.support.stored_runs import store_runs
from tests.support.team_server import TeamServer

MOVED_RUNS = 10
MOVED_SAMPLES = 20_000
LEAST_MOVED_PER_S = 5_000


def main() -> int:
    """Print each figure beside its bound; 1 if one is missed on a quiet machine."""
    if postgres_missing():
        print(f"NOT RUN: {postgres_missing()}")
        return 1
    with ExitStack() as stack:
        # As a team would run it: the same durability as the file has.
        server = TeamServer(is_durable=True)
        stack.callback(server.close)
        judge = stack.enter_context(Judge())
        for number, measure in enumerate((throughput, charts)):
            judge.take(*_named("file", _measured(measure, "")))
            server.ask(f"CREATE DATABASE bench{number}")
            judge.take(*_named("team", _measured(measure, server.url(f"bench{number}"))))
        server.ask("CREATE DATABASE moved")
        judge.take(*_named("team", _moved(server.url("moved"))))
    return judge.status


def _named(store: str, rows: list[Measured]) -> list[Measured]:
    return [replace(row, name=f"{store}: {row.name}") for row in rows]


def _measured(measure: Callable[[Folders], list[Measured]], store: str) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
        os.environ["KMONITOR_HOME"] = home
        folders = find_folders()
        write_store(folders, store)
        ensure_hub(folders)
        try:
            return measure(folders)
        finally:
            stop_hub(folders)


def _moved(store: str) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
        os.environ["KMONITOR_HOME"] = home
        folders = find_folders()
        store_runs(folders, MOVED_RUNS, MOVED_SAMPLES, are_ended=True)
        begin_s = time.perf_counter()
        moved = moved_to(folders, store, lambda _number, _of: None)
        per_s = moved.events / (time.perf_counter() - begin_s)
    what = f"{moved.events:,} events of {moved.runs} runs moved and compared"
    return [Measured(what, per_s, LEAST_MOVED_PER_S, "events a second", at_least=True)]


if __name__ == "__main__":
    sys.exit(main())
