"""Ends of trainings: interrupted while paused, by their own exit status, and quickly."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    FitEnded,
    Paused,
    SessionEnded,
    SessionStarted,
)
from tests.support.running_tests import LONG
from tests.support.spooled import spooled_events
from tests.support.trainings import ROOT, start_training
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = [pytest.mark.keras, pytest.mark.slow, LONG]

LEAVING = """
import multiprocessing, sys
from kmonitor_agent import MonitorCallback

def work(n):
    return n * n

if __name__ == "__main__":
    import keras, numpy as np
    monitor = MonitorCallback("leaving")
    x = np.ones((32, 4), "float32")
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[monitor])
        assert pool.map(work, [3]) == [9]
    print(monitor.run_id)
    sys.exit(3)
"""

BYTES = """
import keras, numpy as np
from kmonitor_agent import MonitorCallback

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0, callbacks=[MonitorCallback(hub="off")])
raise ValueError("no \\udcff")
"""


def environ(home: Path) -> dict[str, str]:
    return {
        "KMONITOR_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    }


def test_ctrl_c_ends_a_pause_and_the_training_as_interrupted(
    kmonitor_home: Path, folders: Folders
):
    def is_paused() -> bool:
        assert training.process.poll() is None, training.errors()
        return any(b"paused" in path.read_bytes() for path in kmonitor_home.glob("spool/*/*.ev*"))

    with start_training(kmonitor_home, request=["pause", 1, "batch"]) as training:
        wait_until(is_paused, 2 * DEADLINE_S, "the training is paused")
        training.process.send_signal(signal.SIGINT)
        status = training.process.wait(DEADLINE_S)
        [spool] = (kmonitor_home / "spool").iterdir()
        events = spooled_events(folders, spool.name)

    assert status != 0
    assert [e.paused for e in events if isinstance(e, Paused)] == [True, False]
    assert [e.action for e in events if isinstance(e, ActionRecord)] == ["pause"]
    [end] = [e for e in events if isinstance(e, FitEnded)]
    assert (end.how, end.error_type) == ("interrupted", "KeyboardInterrupt")
    assert isinstance(events[-1], SessionEnded)
    assert events[-1].why == "interrupted"


def test_bytes_that_are_no_text_in_script_arguments_or_exception_lose_no_run(
    kmonitor_home: Path, folders: Folders, tmp_path: Path
):
    script = tmp_path / "caf\udce9.py"
    script.write_text(BYTES)

    subprocess.run(
        [sys.executable, str(script), "\udcff"],
        env=environ(kmonitor_home),
        timeout=2 * DEADLINE_S,
        check=False,
    )

    [spool] = (kmonitor_home / "spool").iterdir()
    events = spooled_events(folders, spool.name)
    first, last = events[0], events[-1]
    assert isinstance(first, SessionStarted)
    assert (first.name, first.argv[1]) == ("caf\\udce9.py", "\\udcff")
    assert isinstance(last, SessionEnded)
    assert (last.why, last.message) == ("failed", "no ?")


def test_script_keeps_its_exit_status_and_its_workers_are_left_alone(
    kmonitor_home: Path, folders: Folders, tmp_path: Path
):
    script = tmp_path / "leaving.py"
    script.write_text(LEAVING)

    done = subprocess.run(
        [sys.executable, str(script)],
        env=environ(kmonitor_home),
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=False,
    )

    events = spooled_events(folders, done.stdout.split()[-1])
    assert done.returncode == 3
    assert "kmonitor" not in done.stderr
    assert len(list((kmonitor_home / "spool").iterdir())) == 1
    assert [e.how for e in events if isinstance(e, FitEnded)] == ["finished"]
    assert isinstance(events[-1], SessionEnded)
