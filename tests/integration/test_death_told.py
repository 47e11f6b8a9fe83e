"""A real training that the kernel kills for want of memory, one that is killed: the reports."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor.ui.text.formats import with_plain_spaces
from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub
from tests.support.memory_group import memory_group
from tests.support.trainings import ROOT
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = [pytest.mark.keras, pytest.mark.slow, pytest.mark.full]

MIB = 2**20

GROWS = """
import os, signal, sys, time
import keras, numpy as np
from kmonitor_agent import MonitorCallback

kept = []

class Grows(keras.callbacks.Callback):
    began = 0.0

    def on_train_batch_end(self, batch, logs=None):
        self.began = self.began or time.monotonic()
        if sys.argv[1] == "grow" or len(kept) < 60:
            kept.append(np.ones(6 * 2**20 // 8))
        if sys.argv[1] == "kill" and time.monotonic() > self.began + 6:  # sampled each second
            os.kill(os.getpid(), signal.SIGKILL)

x = np.zeros((4000, 8), "float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8)])
model.compile("sgd", "mse")
model.fit(x, x, batch_size=2, epochs=90, verbose=0, callbacks=[Grows(), MonitorCallback("grows")])
"""


def run(tmp_path: Path, home: Path, how: str, within: list[str]) -> int:
    """Let the training run under `kmonitor run`, to its end."""
    script = tmp_path / "train.py"
    script.write_text(GROWS)
    environ = {
        **os.environ,
        "KMONITOR_HOME": str(home),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONPATH": str(ROOT),
    }
    supervised = [sys.executable, "-m", "kmonitor", "run", "--", sys.executable]
    ran = subprocess.run(
        [*within, *supervised, str(script), how],
        env=environ,
        capture_output=True,
        check=False,
        timeout=4 * DEADLINE_S,
    )
    return ran.returncode


def told(hub: LiveHub) -> str:
    """Output of `kmonitor show` once the hub knows of the death."""
    hub.start()
    with hub.client() as client:
        wait_until(
            lambda: [r for r in client.runs() if r.state == "failed"], DEADLINE_S, "it has died"
        )
    return with_plain_spaces(kmonitor("show", "last").out)


def test_a_kill_for_want_of_memory_is_told_with_the_last_minute(
    tmp_path: Path, kmonitor_home: Path, idle_hub: LiveHub
):
    with memory_group(1100 * MIB) as within:
        assert run(tmp_path, kmonitor_home, "grow", within) == -signal.SIGKILL

    text = told(idle_hub)

    assert "out of memory: the kernel killed it" in text
    found = re.search(
        r"Cgroup RAM over the last [\d.]+ m?s: ([\d.]+) MiB to ([\d.]+) (MiB|GiB)", text
    )
    assert found is not None, text
    # Sampled up to shortly before its death: most of the limit was seen.
    highest = float(found[2]) * (1024 if found[3] == "GiB" else 1)
    assert highest > 800, text
    assert "cgroup limit 1.07 GiB" in text or "cgroup limit 1.1 GiB" in text, text
    assert "\u2588" in text
    assert "Nothing was saved" in text


def test_a_kill_by_somebody_is_no_want_of_memory(
    tmp_path: Path, kmonitor_home: Path, idle_hub: LiveHub
):
    assert run(tmp_path, kmonitor_home, "kill", []) == -signal.SIGKILL

    text = told(idle_hub)

    assert "SIGKILL" in text
    reasons = (
        "not for lack of memory",
        "no out-of-memory kill in its control group",  # another test has one
        "cannot tell whether it ran out of memory",
    )
    assert any(each in text for each in reasons)
    assert re.search(r"RAM[a-z ]* over the last", text), text
