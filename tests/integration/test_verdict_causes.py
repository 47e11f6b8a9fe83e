"""Real trainings that leak in one way each: the hub names the cause, or says that it is open."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor_agent.wire.messages.events import Verdict
from tests.support.live_hub import LiveHub
from tests.support.trainings import ROOT
from tests.support.waiting import DEADLINE_S, wait_until

MIB = 2.0**20

pytestmark = [pytest.mark.keras, pytest.mark.slow, pytest.mark.full]


def verdict_of(cause: str, home: Path, hub: LiveHub, metric: str = "ram") -> Verdict:
    """Newest verdict at the end of a training that leaks in this way."""
    environ = {
        **os.environ,
        "KMONITOR_HOME": str(home),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "tests.support.leaking_training", cause]
    subprocess.run(command, env=environ, cwd=ROOT, check=True, timeout=4 * DEADLINE_S)
    hub.start()
    with hub.client() as client:

        def ended() -> list[str]:
            return [r.run for r in client.runs() if r.name == cause and r.state == "finished"]

        (run,) = wait_until(ended, DEADLINE_S, "the hub has it all")
        return next(verdict for verdict in client.verdicts(run) if verdict.metric == metric)


def test_a_training_that_leaks_nothing_is_not_suspected(kmonitor_home: Path, idle_hub: LiveHub):
    found = verdict_of("none", kmonitor_home, idle_hub)

    assert found.state in {"steady", "measuring"}


def test_models_that_are_built_anew_and_kept_are_named(kmonitor_home: Path, idle_hub: LiveHub):
    found = verdict_of("rebuilt", kmonitor_home, idle_hub)

    assert (found.per, found.state) == ("fit", "suspected")
    assert (found.cause, found.sureness) == ("rebuilt", "fitting")
    assert "build_once" in found.advice


def test_a_function_that_is_traced_again_is_named(kmonitor_home: Path, idle_hub: LiveHub):
    found = verdict_of("retracing", kmonitor_home, idle_hub)

    assert (found.state, found.cause) == ("suspected", "retracing")
    assert "scaled_gradients" in found.name
    assert found.changed == "python"
    assert found.advice == ["tensors_not_numbers", "function_once", "diagnose", "reload"]


@pytest.mark.parametrize(
    ("way", "cause", "sureness", "grew"),
    [
        ("objects", "kept", "counted", "kept_bytes"),
        ("tensors", "kept", "counted", "kept_bytes"),
        ("workers", "workers", "counted", "children_bytes"),
        ("native", "malloc", "fitting", "native_bytes"),
        ("arrays", "kept", "counted", "kept_bytes"),
        ("native, diagnosed", "native", "fitting", "native_bytes"),
        ("arrays, diagnosed", "kept", "counted", "python_bytes"),
    ],
)
def test_what_grows_is_named_as_far_as_it_is_counted(
    kmonitor_home: Path, idle_hub: LiveHub, way: str, cause: str, sureness: str, grew: str
):
    found = verdict_of(way, kmonitor_home, idle_hub)

    assert (found.state, found.cause, found.sureness) == ("suspected", cause, sureness)
    assert grew in {each.kind for each in found.grew_with}
    is_line = way == "arrays, diagnosed"
    assert ("leaking_training.py" in found.name) == is_line
    assert cause != "kept" or (found.kept is not None and found.kept.place == "__main__._kept")


def test_a_data_set_that_is_kept_as_it_is_read_is_no_leak(kmonitor_home: Path, idle_hub: LiveHub):
    found = verdict_of("data_cache", kmonitor_home, idle_hub)

    assert (found.state, found.cause, found.sureness) == ("measuring", "data_cache", "fitting")
    assert 30 * MIB < found.grew_with[0].per_unit < 160 * MIB


def test_steps_that_get_slower_with_traces_name_the_function(
    kmonitor_home: Path, idle_hub: LiveHub
):
    found = verdict_of("slower", kmonitor_home, idle_hub, "step_time")

    assert (found.state, found.cause, found.sureness) == ("growing", "retracing", "fitting")
    assert "scaled_gradients" in found.name
