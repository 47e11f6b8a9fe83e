"""A training that the kernel kills for want of memory: resumed on request, and reported."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from kmonitor_agent.wire.messages.events import SessionDied
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.memory_group import memory_group
from tests.support.restarts import supervised_run
from tests.support.source_tree import ROOT
from tests.support.supervised import command, script
from tests.support.waiting import DEADLINE_S, wait_until

__all__ = ["idle_hub", "live_hub"]

pytestmark = [pytest.mark.keras, pytest.mark.slow, pytest.mark.full]

SCRIPT = """
    import json, sys
    from pathlib import Path
    import keras, numpy as np
    from kmonitor_agent import MonitorCallback

    folder = Path(sys.argv[1])
    starts = folder / "starts"
    starts.write_text((starts.read_text() if starts.exists() else "") + "x")

    class Leak(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            taken = []
            # In epoch 2 of the first process, and in epoch 4 of the second.
            while epoch == 2 * len(starts.read_text()):
                taken.append(b"x" * (64 << 20))

        def on_epoch_end(self, epoch, logs=None):
            with (folder / "losses").open("a") as file:
                file.write(json.dumps([epoch, logs["loss"].hex()]) + "\\n")

    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dropout(0.3), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    x = np.random.default_rng(1).normal(size=(8, 2))
    model.fit(x, x[:, :1], epochs=6, verbose=0, callbacks=[Leak(), MonitorCallback("leaking")])
"""


def test_killed_for_want_of_memory_resumed_once_and_told_of(
    tmp_path: Path, live_hub: LiveHub
) -> None:
    path = script(tmp_path, SCRIPT)
    again = command(path, tmp_path, options=("--resume-after-crash", "1"))

    with memory_group(3 * 2**30) as within:
        ran = subprocess.run(
            [*within, *again],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=4 * DEADLINE_S,
            check=False,
        )
    with live_hub.client() as client:
        ended = wait_until(lambda: _over(client.runs()), DEADLINE_S, "the hub knows of the death")

    assert ended is not None
    assert ran.returncode == -9, ran.stderr[-2000:]
    assert (ended.state, ended.cause) == ("failed", "out of memory")
    died = [each for each in supervised_run(live_hub.folders) if isinstance(each, SessionDied)]
    assert [(each.how, bool(each.supervisor)) for each in died] == [
        ("memory", True),
        ("memory", False),
    ]
    assert "out of memory: the kernel killed it" in kmonitor("show", "last").out
    assert "failed: out of memory" in kmonitor("runs").out
    # An epoch that was not saved runs again, with the same result.
    told = {tuple(json.loads(line)) for line in (tmp_path / "losses").read_text().splitlines()}
    assert sorted(epoch for epoch, _ in told) == [0, 1, 2, 3]


def _over(runs: list[RunSummary]) -> RunSummary | None:
    return next((run for run in runs if run.state == "failed"), None)
