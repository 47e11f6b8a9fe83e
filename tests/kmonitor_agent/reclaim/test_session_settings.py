# pyright: reportImplicitOverride=false, reportAttributeAccessIssue=false
"""Clearing the session forgets nothing that the script set, and is left out where it breaks."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.base import ReclaimSteps
from kmonitor_agent.reclaim.actions import reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from tests.support.reloading import KERAS, dense_model, tensorflow_framework
from tests.support.waiting import DEADLINE_S

pytestmark = KERAS


@pytest.fixture
def steps() -> ReclaimSteps:
    found = tensorflow_framework().reclaim_steps()
    assert found is not None
    return found


@pytest.fixture
def policy() -> Iterator[str]:
    keras.config.set_dtype_policy("mixed_bfloat16")
    yield "mixed_bfloat16"
    keras.config.set_dtype_policy("float32")


def test_settings_seed_and_name_counters_are_kept(steps: ReclaimSteps, policy: str):
    keras.utils.set_random_seed(5)
    keras.config.set_epsilon(1e-5)
    keras.random.normal((2,))
    number = keras.backend.get_uid("mine")
    generator = keras.src.random.seed_generator.global_seed_generator()

    assert steps.clear_session() == ""

    assert keras.config.dtype_policy().name == policy
    assert keras.config.epsilon() == 1e-5
    assert keras.src.random.seed_generator.global_seed_generator() is generator
    assert keras.backend.get_uid("mine") == number + 1
    keras.config.set_epsilon(1e-7)


def test_other_threads_keep_their_settings(steps: ReclaimSteps):
    begun, cleared = threading.Event(), threading.Event()
    seen: list[str] = []

    def other() -> None:
        with keras.name_scope("mine"):
            begun.set()
            cleared.wait(DEADLINE_S)
            seen.append(keras.src.backend.common.name_scope.current_path())

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait(DEADLINE_S)
    assert steps.clear_session() == ""
    cleared.set()
    thread.join(DEADLINE_S)

    assert seen == ["mine"]


def test_the_session_is_left_alone_inside_a_nested_graph(steps: ReclaimSteps):
    with tf.Graph().as_default():
        assert "graph" in steps.clear_session()
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        assert "strategy.scope()" in steps.clear_session()
    assert steps.clear_session() == ""


def test_a_step_function_of_the_script_is_not_replaced(tmp_path: Path):
    def my_train_function(iterator: Any) -> Any:
        return {"loss": 0.0}

    model = dense_model()
    model.train_function = my_train_function
    predicted_by = model.make_predict_function()

    outcome = reload(
        tensorflow_framework(), model, CheckpointStore(tmp_path), tag=CheckpointTag("r", 1, 0)
    )

    assert outcome.ok
    assert model.train_function is my_train_function
    assert model.predict_function is not predicted_by


def test_a_class_that_makes_its_own_step_function_makes_it_again(tmp_path: Path):
    class Own(keras.Sequential):
        made = 0

        def make_train_function(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 - Keras'
            if self.train_function is None or force:
                Own.made += 1
                self.train_function = lambda iterator: {"loss": 0.0}

    model = Own([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.make_train_function()
    before = model.train_function

    outcome = reload(
        tensorflow_framework(), model, CheckpointStore(tmp_path), tag=CheckpointTag("r", 1, 0)
    )

    assert outcome.ok
    assert Own.made == 2
    assert model.train_function is not before
