"""Real trainings that run out of something: the verdicts before, and the report afterwards."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.export.events import decode_row
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.events import EpochEnded, LimitCrossed, Verdict
from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub
from tests.support.memory_group import memory_group
from tests.support.scarce_agent import task_group, why_no_group
from tests.support.trainings import ROOT
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = [
    pytest.mark.keras,
    pytest.mark.slow,
    pytest.mark.full,
    pytest.mark.skipif(sys.platform != "linux", reason="ulimit, tmpfs, control groups"),
]

SCRIPT = """
import os, resource, sys, threading
import keras, numpy as np
from kmonitor_agent import Limit, MonitorCallback

kept = []

class Takes(keras.callbacks.Callback):
    filepath = ""

    def on_epoch_begin(self, epoch, logs=None):
        take(self, epoch)

{take}

x = np.random.rand(10_000, 20).astype("float32")
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
limits = [Limit("{metric}", "80%")]
takes = Takes()
{before}
try:
    callbacks = [takes, MonitorCallback("out", limits=limits)]
    model.fit(x, x[:, :1], 10, epochs=60, verbose=0, callbacks=callbacks)
finally:
    over = globals().get("over")
    if over is not None:
        over.set()
"""

FILES = """
def take(self, epoch):
    kept.extend(open(sys.argv[1] + f"/part-{n}.bin", "a") for n in range(20))
"""
THREADS = """
over = threading.Event()

def take(self, epoch):
    for n in range(8):
        thread = threading.Thread(target=over.wait, name=f"loader-{n}")
        thread.start()
        kept.append(thread)
"""
WRITES = """
def take(self, epoch):
    with open(self.filepath.format(epoch=epoch), "wb") as out:
        out.write(os.urandom(2 << 20))
"""
SPACE = """
def take(self, epoch):
    if epoch == 1:  # TensorFlow has its threads by then
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + (900 << 20),) * 2)
    kept.append(np.ones(40 << 17))
"""


OTHERS = """
import subprocess
hog = "import sys; kept = [bytearray(b'x') * (60 << 20) for _ in sys.stdin]"
command = ["/bin/sh", "-c", 'exec 3<&0; "$0" -c "$1" <&3 & exit', sys.executable, hog]
shell = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
shell.wait()  # the process is nobody's child, and ends with its input

def take(self, epoch):
    print(file=shell.stdin, flush=True)
    if epoch == 24:
        raise KeyError("enough")
"""


def died(script: str, folder: Path, home: Path, within: list[str]) -> None:
    """Let it train until it fails."""
    path = folder / "train.py"
    path.write_text(script)
    environ = {
        **os.environ,
        "KMONITOR_HOME": str(home),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONPATH": str(ROOT),
    }
    ran = subprocess.run(
        [*within, sys.executable, str(path), str(folder)],
        env=environ,
        capture_output=True,
        check=False,
        timeout=4 * DEADLINE_S,
    )
    assert ran.returncode == 1, ran.stderr[-2000:]


def shown(hub: LiveHub, metric: str) -> tuple[str, list[Verdict], int]:
    """Text of `kmonitor show`, verdicts before the end, epochs before the limit was met."""
    with hub.client() as client:
        run = wait_until(
            lambda: [r for r in client.runs() if r.state == "failed"], DEADLINE_S, "it has failed"
        )[0].run
        kinds = ("verdict", "crossing", "epoch_end")
        events = [decode_row(row) for row in client.all_rows(run, kinds)]
        said = [e for e in events if isinstance(e, Verdict) and e.metric == metric]
        crossings = [e for e in events if isinstance(e, LimitCrossed) and e.metric == metric]
        assert crossings, events
        before = events[: events.index(crossings[0])]
        epochs = sum(isinstance(event, EpochEnded) for event in before)
    return with_plain_spaces(kmonitor("show", "last").out), said, epochs


def check_forecast(said: list[Verdict], met_after: int) -> None:
    """At about half time the limit's unit was estimated within a fifth, or one unit."""
    estimates = [
        (verdict.unit, verdict.unit + verdict.forecast.units)
        for verdict in said
        if verdict.forecast is not None and verdict.forecast.of == "own"
    ]
    _, estimated = min(estimates, key=lambda each: abs(each[0] - met_after / 2))
    assert estimated == pytest.approx(met_after, rel=0.2, abs=1.0), estimates


def check(text: str, said: list[Verdict], met_after: int, resource: str) -> None:
    """Shows the resource that ran out, not RAM; it was growing before, with a forecast."""
    check_forecast(said, met_after)
    end = text.partition("Before it ended:")[2]
    assert f"  {resource}: " in end, text
    assert "RAM" not in end.partition("Nothing was saved")[0], text
    growing = [verdict for verdict in said if verdict.state == "growing"]
    assert growing, [(verdict.state, verdict.units) for verdict in said]
    assert growing[0].forecast is not None


def test_files_run_out(tmp_path: Path, kmonitor_home: Path, live_hub: LiveHub):
    before = "resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))"
    script = SCRIPT.format(take=FILES, metric="open_files", before=before)

    died(script, tmp_path, kmonitor_home, [])

    text, said, met_after = shown(live_hub, "open_files")
    check(text, said, met_after, "Open file descriptors")
    assert "files, sockets or pipes are opened and never closed: " in text
    assert "part-*.bin" in text


def test_threads_run_out(tmp_path: Path, kmonitor_home: Path, live_hub: LiveHub):
    if why := why_no_group():
        pytest.skip(why)
    script = SCRIPT.format(take=THREADS, metric="threads", before="")
    with task_group("out") as group:
        (group / "pids.max").write_text("250")
        join = f'echo $$ > "{group}/cgroup.procs" && exec "$@"'

        died(script, tmp_path, kmonitor_home, ["/bin/sh", "-c", join, "in a group"])

    text, said, met_after = shown(live_hub, "threads")
    check(text, said, met_after, "Threads")
    assert "threads are started and never end: loader-*" in text


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of 40 MiB in memory."""
    folder.mkdir()
    mount = ["/bin/mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("root alone may mount a disk in memory")
    try:
        yield folder
    finally:
        subprocess.run(["/bin/umount", str(folder)], check=True)


def test_a_disk_runs_full(tmp_path: Path, kmonitor_home: Path, live_hub: LiveHub):
    with small_disk(tmp_path / "disk") as disk:
        before = f'takes.filepath = "{disk}/model-{{epoch}}.keras"'
        script = SCRIPT.format(take=WRITES, metric="disk", before=before)

        died(script, tmp_path, kmonitor_home, [])

    text, said, met_after = shown(live_hub, "disk")
    check(text, said, met_after, "Disk")
    assert "the disk is filling up" in text


def test_others_in_the_group_take_what_is_left_of_a_flat_training(
    tmp_path: Path, kmonitor_home: Path, live_hub: LiveHub
):
    script = SCRIPT.format(take=OTHERS, metric="ram", before="").replace(
        'Limit("ram", "80%")', 'Limit("ram", "20%", action="reload")'
    )
    with memory_group(2500 << 20) as within:
        died(script, tmp_path, kmonitor_home, within)

    text, said, _ = shown(live_hub, "ram")
    assert {verdict.state for verdict in said} <= {"measuring", "steady"}
    forecasts = [each.forecast for each in said if each.forecast is not None]
    assert forecasts, [(each.state, each.units) for each in said]
    assert forecasts[-1].of == "cgroup"
    assert forecasts[-1].by_others == pytest.approx(60 << 20, rel=0.3)
    assert "other processes are using up what is left" in text
    assert "Reloaded" not in text


def test_address_space_runs_out(tmp_path: Path, kmonitor_home: Path, live_hub: LiveHub):
    script = SCRIPT.format(take=SPACE, metric="ram", before="")

    died(script, tmp_path, kmonitor_home, [])

    text, said, met_after = shown(live_hub, "ram")
    assert "process: RLIMIT_AS less the address space in use" in text
    assert "RAM over the last" in text.partition("Before it ended:")[2]
    check_forecast(said, met_after)
    forecasts = [each.forecast for each in said if each.forecast is not None]
    assert forecasts[-1].of in {"address_space", "own"}
