"""Exactness where it needs a process of its own, and the proof that the comparison can fail."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

from tests.support.reloading import KERAS, Reclaim, Training, dense_layers

pytestmark = [*KERAS, pytest.mark.slow, pytest.mark.full]

MIRRORED = """
import sys
import tensorflow as tf
from pathlib import Path
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from tests.support.reloading import Reclaim, Training, dense_model
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
def model():
    with strategy.scope():
        return dense_model(metrics=["accuracy"])
training = Training(model)
uninterrupted = training.run()
callback = Reclaim(Path(sys.argv[1]), epochs=[0], batches=[(1, 2)])
training.run(callback).assert_same(uninterrupted)
assert [outcome.why for outcome in callback.outcomes] == ["", ""], callback.outcomes
"""


def test_reload_is_exact_on_two_replicas_of_a_mirrored_strategy(tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, "-c", MIRRORED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr[-2000:]


class StatefulNoise(keras.layers.Layer):
    """Draws from an operation that counts for itself, which a retrace starts again."""

    def call(self, inputs: Any) -> Any:  # pyright: ignore[reportImplicitOverride]
        return inputs + tf.random.normal(tf.shape(inputs))


def noisy() -> Any:
    model = keras.Sequential([keras.Input((8,)), StatefulNoise(), *dense_layers()])
    model.compile(optimizer="adam", loss="mse")
    return model


def test_the_comparison_sees_the_one_case_that_is_announced_as_not_exact(tmp_path: Path):
    training = Training(noisy)
    uninterrupted = training.run()
    training.run().assert_same(uninterrupted)
    callback = Reclaim(tmp_path, epochs=[0])

    reloaded = training.run(callback)

    assert "not exact" in callback.outcomes[0].why
    with pytest.raises(AssertionError):
        reloaded.assert_same(uninterrupted)
