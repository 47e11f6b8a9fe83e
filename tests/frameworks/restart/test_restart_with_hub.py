"""A training that is restarted from the command line stays one run; its death is reported."""

import os
import subprocess
from pathlib import Path

import pytest

from kmonitor.export.events import decode_row
from kmonitor_agent.wire.messages.events import ActionRecord
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.running_tests import LONG
from tests.support.source_tree import ROOT
from tests.support.supervised import command, script
from tests.support.waiting import DEADLINE_S, wait_until

__all__ = ["idle_hub", "live_hub"]

pytestmark = [pytest.mark.keras, pytest.mark.slow, LONG]

SCRIPT = """
    import os, signal, sys, time
    from pathlib import Path
    import keras, numpy as np
    from kmonitor_agent import MonitorCallback

    class Gate(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            # It dies once its restart is known: what the last instant reported may be lost.
            while not Path(sys.argv[1], {1: "go", 4: "die"}.get(epoch, "")).exists():
                time.sleep(0.01)
            if epoch == 4:
                os.kill(os.getpid(), signal.SIGKILL)

    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones((8, 2))
    model.fit(x, x[:, :1], epochs=6, verbose=0, callbacks=[Gate(), MonitorCallback("gated")])
"""


def test_one_run_over_a_restart_and_a_death(tmp_path: Path, live_hub: LiveHub) -> None:
    process = subprocess.Popen(
        command(script(tmp_path, SCRIPT), tmp_path),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    with live_hub.client() as client:
        run = wait_until(
            lambda: _at_epoch(client.runs(), 1), 2 * DEADLINE_S, "the training at its gate"
        )
        assert run is not None
        assert "restart" in run.actions
        asked = client.command(run, "restart", requested_by="tester")
        wait_until(
            lambda: client.command(run, "restart", id=asked.id).state != "queued",
            DEADLINE_S,
            "received",
        )
        (tmp_path / "go").touch()
        status = client.wait_for(asked, timeout_s=2 * DEADLINE_S)
        assert (status.state, status.why) == ("done", "")
        [restarted] = [decode_row(row) for row in client.all_rows(run.run, ("action",))]
        (tmp_path / "die").touch()
        _, errors = process.communicate(timeout=2 * DEADLINE_S)
        ended = wait_until(lambda: _over(client.runs()), DEADLINE_S, "the hub knows of the death")

    assert ended is not None
    shown = kmonitor("show", "last")
    _assert_says_before_and_after(restarted, asked.id)
    assert "Restarted after epoch " in shown.out
    assert process.returncode == -9
    assert b"requested by tester" in errors
    assert (ended.run, ended.state, ended.cause) == (run.run, "failed", "SIGKILL")
    assert ended.session != run.session
    assert "SIGKILL" in shown.out
    assert "failed: SIGKILL" in kmonitor("runs").out


def _assert_says_before_and_after(restarted: object, command: str) -> None:
    assert isinstance(restarted, ActionRecord)
    assert (restarted.action, restarted.ok, restarted.command) == ("restart", True, command)
    assert restarted.after is not None
    assert restarted.before.ram_process_bytes
    assert restarted.after.ram_process_bytes
    # The old process had traced its step, the new one has not; the script's start takes its time.
    assert (restarted.before.graph_operations or 0) > (restarted.after.graph_operations or 0)
    assert restarted.seconds > 0.0
    assert restarted.variables
    assert restarted.checksum


def _at_epoch(runs: list[RunSummary], epoch: int) -> RunSummary | None:
    return next((run for run in runs if run.epochs_done == epoch), None)


def _over(runs: list[RunSummary]) -> RunSummary | None:
    assert len(runs) == 1
    return next((run for run in runs if run.cause), None)
