"""Real trainings that leak in one way each: the hub names the cause, or says that it is open."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor_agent.protocol.facts import Verdict
from tests.support.live_hub import LiveHub
from tests.support.trainings import ROOT
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.keras, pytest.mark.slow, pytest.mark.full]


def verdicts_of(cause: str, home: Path, hub: LiveHub) -> Verdict:
    environ = {
        **os.environ,
        "KMONITOR_HOME": str(home),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "tests.support.leaking_training", cause]
    subprocess.run(command, env=environ, cwd=ROOT, check=True, timeout=300.0)
    hub.start()
    with hub.client() as client:

        def ended() -> list[str]:
            return [r.run for r in client.runs() if r.name == cause and r.state == "finished"]

        (run,) = wait_until(ended, 60.0, "the hub has it all")
        return next(verdict for verdict in client.verdicts(run) if verdict.metric == "ram")


def test_a_training_that_leaks_nothing_is_not_suspected(kmonitor_home: Path, idle_hub: LiveHub):
    found = verdicts_of("none", kmonitor_home, idle_hub)

    assert found.state in {"steady", "learning"}


def test_models_that_are_built_anew_and_kept_are_named(kmonitor_home: Path, idle_hub: LiveHub):
    found = verdicts_of("rebuilt", kmonitor_home, idle_hub)

    assert (found.per, found.state) == ("fit", "suspected")
    assert (found.cause, found.sureness) == ("rebuilt", "fitting")
    assert "build_once" in found.advice


def test_a_function_that_is_traced_again_is_named(kmonitor_home: Path, idle_hub: LiveHub):
    found = verdicts_of("retracing", kmonitor_home, idle_hub)

    assert (found.state, found.cause) == ("suspected", "retracing")
    assert "scaled_gradients" in found.name
    assert "tensors_not_numbers" in found.advice


@pytest.mark.parametrize("cause", ["python", "native"])
def test_what_nothing_counts_grows_with_an_open_cause(
    kmonitor_home: Path, idle_hub: LiveHub, cause: str
):
    found = verdicts_of(cause, kmonitor_home, idle_hub)

    assert (found.state, found.cause) == ("growing", "unknown")
    assert found.sureness == "open"
    assert "diagnose" in found.advice
