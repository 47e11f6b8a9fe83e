"""Trainings on two replicas; a separate process, since devices are set before anything runs."""

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from kmonitor_agent.wire.messages.commands import ReloadMode
from tests.frameworks.exactness import data, models
from tests.support.exactness import (
    MID_EPOCH,
    THREE_TIMES,
    Moments,
    Scenario,
    assert_reloaded,
    assert_same,
    run_plain,
    run_reloaded,
)

CASES: list[tuple[Moments, ReloadMode]] = [(THREE_TIMES, "assign"), (MID_EPOCH, "recreate")]


def main(folder: Path) -> None:
    """Reload outside and inside of the strategy's scope; an assertion fails the process."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def model() -> Any:
        """Made in the scope, as TensorFlow requires."""
        with strategy.scope():
            return models.dense(metrics=["accuracy"])

    outside = Scenario("outside", model, data.validated, why_assign="distribution strategy")
    inside = Scenario(
        "inside",
        model,
        data.validated,
        why_assign="strategy.scope()",
        left_out="session not cleared: the code runs inside strategy.scope()",
    )
    for scenario in (outside, inside):
        with strategy.scope() if scenario is inside else contextlib.nullcontext():
            plain = run_plain(scenario)
            assert len(plain.state) > len(models.dense().variables), "each replica has its own"
            for moments, mode in CASES:
                reloaded = run_reloaded(scenario, moments, _folder(folder), mode=mode)
                assert_reloaded(scenario, reloaded, mode=mode)
                assert_same(reloaded, plain)


def _folder(parent: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=parent))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
