"""From stored history to the first chart: time and memory of a tool until a run's points are
delivered.

Each tool's server is started afresh on runs on disk, and gets the requests of its own charts:
our hub as from the window, TensorBoard and MLflow at the addresses that their pages use.
"""

import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from kmonitor_agent.wire.local.folders import find_folders
from tests.support.live_hub import LiveHub
from tests.support.loopback import free_port
from tests.support.stored_runs import store_runs

POINTS = 100_000
RUNS = (1, 10, 100)
_PATIENCE_S = 600.0

_EVENT_FILES = """
import sys
from pathlib import Path
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
folder, runs, points = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for run in range(runs):
    writer = EventFileWriter(str(folder / f"run{run:03d}"), max_queue_size=10000)
    for step in range(points):
        value = Summary.Value(tag="ram", simple_value=1e9 + step % 1000)
        writer.add_event(Event(wall_time=1.7e9 + step, step=step, summary=Summary(value=[value])))
    writer.close()
"""


def ours(_python: Path, runs: int) -> tuple[float, float]:
    """Our hub: started on its database, queried for the runs and for one run's series.

    Returns:
        Seconds to the chart, and resident bytes of the hub then.
    """
    with tempfile.TemporaryDirectory(prefix="kmonitor-peers-") as name:
        os.environ["KMONITOR_HOME"] = name
        folders = find_folders()
        # Packed, as a hub does with what is old while it runs, and not at a start.
        names = list(store_runs(folders, runs, POINTS))
        live = LiveHub(folders)
        began_s = time.monotonic()
        live.start()
        with live.client() as client:
            assert len(client.runs()) == runs
            client.series(names[0], ["ram_bytes"])
        took_s = time.monotonic() - began_s
        held = _memory(live.process.pid)
        live.stop()
    return took_s, held


def tensorboard(python: Path, runs: int) -> tuple[float, float]:
    """TensorBoard's server with its defaults; done when a run's last point is delivered."""
    with tempfile.TemporaryDirectory(prefix="kmonitor-peers-") as name:
        words = [str(python), "-c", _EVENT_FILES, name, str(runs), str(POINTS)]
        subprocess.run(words, check=True, capture_output=True)
        port = free_port()
        words = ["-m", "tensorboard.main", "--logdir", name, "--port", str(port)]
        address = f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?run=run000&tag=ram"
        return _until(
            [str(python), *words, "--host", "127.0.0.1"],
            address,
            lambda points: bool(points) and points[-1][1] == POINTS - 1,
        )


def mlflow(python: Path, runs: int) -> tuple[float, float]:
    """MLflow's server on its file store; done when a run's thinned points are delivered."""
    with tempfile.TemporaryDirectory(prefix="kmonitor-peers-") as name:
        first = _mlflow_files(Path(name), runs)
        port = free_port()
        store = ["--backend-store-uri", Path(name, "mlruns").as_uri()]
        words = ["-m", "mlflow", "server", *store, "--port", str(port), "--workers", "1"]
        asked = urllib.parse.urlencode(
            {"run_ids": first, "metric_key": "ram", "max_results": 2500}
        )
        path = "ajax-api/2.0/mlflow/metrics/get-history-bulk-interval"
        return _until(
            [str(python), *words],
            f"http://127.0.0.1:{port}/{path}?{asked}",
            lambda told: told["metrics"][-1]["step"] == POINTS - 1,
        )


TOOLS: dict[str, Callable[[Path, int], tuple[float, float]]] = {
    "ours": ours,
    "TensorBoard": tensorboard,
    "MLflow": mlflow,
}


def rows(python: Path) -> Iterator[Sequence[str]]:
    """The table's lines: each tool, and each number of runs.

    Args:
        python: The peers' own environment.
    """
    for tool, measure in TOOLS.items():
        told = [measure(python, runs) for runs in RUNS]
        yield (tool, *(f"{took_s:.1f} s, {held / 2**20:.0f} MiB" for took_s, held in told))


def _mlflow_files(folder: Path, runs: int) -> str:
    """Runs as MLflow's file store lays them out, and the first one's name."""
    experiment = folder / "mlruns" / "0"
    experiment.mkdir(parents=True)
    experiment.joinpath("meta.yaml").write_text(
        f"artifact_location: {experiment.as_uri()}\ncreation_time: 1700000000000\n"
        "experiment_id: '0'\nlast_update_time: 1700000000000\nlifecycle_stage: active\n"
        "name: Default\n"
    )
    lines = "".join(
        f"{1_700_000_000_000 + n * 1000} {1e9 + n % 1000} {n}\n" for n in range(POINTS)
    )
    for number in range(runs):
        name = f"r{number:031x}"  # a letter first: YAML reads digits as a number
        run = experiment / name
        for part in ("metrics", "params", "tags", "artifacts"):
            (run / part).mkdir(parents=True)
        (run / "metrics" / "ram").write_text(lines)
        run.joinpath("meta.yaml").write_text(
            f"artifact_uri: {(run / 'artifacts').as_uri()}\nend_time: 1700000100000\n"
            "entry_point_name: ''\nexperiment_id: '0'\nlifecycle_stage: active\n"
            f"run_id: '{name}'\nrun_name: run{number}\nrun_uuid: {name}\nsource_name: ''\n"
            "source_type: 4\nsource_version: ''\nstart_time: 1700000000000\nstatus: 3\n"
            "tags: []\nuser_id: user\n"
        )
    return f"r{0:031x}"


def _until(words: list[str], address: str, is_whole: Callable[[Any], bool]) -> tuple[float, float]:
    """Start a server and query it until the answer is whole: seconds, and resident bytes then."""
    with _served(words) as server:
        began_s = time.monotonic()
        while not _answers(address, is_whole):
            if time.monotonic() - began_s > _PATIENCE_S or server.poll() is not None:
                raise SystemExit(f"no answer of {words[1:3]}")
            time.sleep(0.05)
        return time.monotonic() - began_s, _memory(server.pid)


@contextmanager
def _served(words: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    quiet = subprocess.DEVNULL
    environ = os.environ | {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    server = subprocess.Popen(words, env=environ, stdout=quiet, stderr=quiet)
    try:
        yield server
    finally:
        family = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        for one in family:
            one.kill()
        server.wait()


def _answers(address: str, is_whole: Callable[[Any], bool]) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=120) as answer:  # noqa: S310 - our own server
            return is_whole(json.load(answer))
    except (OSError, urllib.error.URLError, ValueError, KeyError, IndexError):
        return False


def _memory(pid: int) -> float:
    """Resident bytes of a process and of all that it started."""
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    return float(sum(one.memory_info().rss for one in family))
