# pyright: reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportFunctionMemberAccess=false, reportImplicitOverride=false
"""Only traces of dead Keras step functions are released; users' and live models' stay."""

import contextlib
import gc
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.base import Framework
from kmonitor_agent.reclaim.actions import collect, reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from tests.support.reloading import KERAS, arrays, clean_registry, dense_model

pytestmark = [*KERAS, pytest.mark.slow]


@pytest.fixture
def framework() -> Iterator[Framework]:
    with clean_registry() as found:
        yield found


def fitted(**compiled: Any) -> Any:
    model = dense_model(**compiled)
    model.fit(**arrays(validation=False), verbose=0)
    return model


def retained(framework: Framework) -> int:
    count = framework.graph(None).retained
    assert count is not None
    return count


def reloaded(framework: Framework, model: Any, folder: Path) -> ReclaimOutcome:
    outcome = reload(framework, model, CheckpointStore(folder), tag=CheckpointTag("run", 1, 0))
    assert outcome.ok, outcome.why
    return outcome


@tf.custom_gradient
def doubled_backwards(x: Any) -> Any:
    """A gradient that no one else gives: twice the one that came."""

    def gradient(upstream: Any) -> Any:
        return 2.0 * upstream

    return tf.identity(x), gradient


def gradient_of(function: Callable[[Any], Any]) -> float:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return float(tape.gradient(y, x))


@pytest.mark.full
def test_models_one_after_the_other_leave_nothing_behind_a_collect(framework: Framework):
    counts: list[tuple[int | None, int, int | None]] = []
    for _ in range(3):
        model = fitted()
        del model
        outcome = collect(framework, None)
        count = framework.graph(None)
        counts.append((count.operations, count.functions, count.retained))

        assert outcome.ok
        assert outcome.released_traces > 0
        assert outcome.released_models == 1

    assert counts[0] == counts[1] == counts[2]
    assert counts[0][2] == 0


@pytest.mark.full
def test_dead_models_are_counted_by_what_they_left(framework: Framework):
    for _ in range(2):
        fitted()
    gc.collect()

    count = framework.graph(None)
    outcome = collect(framework, None)

    assert (count.retained or 0) >= 2
    by_name = {function.name: function for function in count.by_function}
    assert by_name["one_step_on_data"].retained == by_name["one_step_on_data"].traces
    assert outcome.released_models == 2
    assert outcome.after is not None
    assert (outcome.after.graph_operations or 0) < (outcome.before.graph_operations or 0)
    assert retained(framework) == 0


def test_fit_evaluate_and_predict_in_a_loop_release_nothing(framework: Framework):
    model = fitted()
    data = arrays(validation=False)
    model.evaluate(data["x"], data["y"], verbose=0)
    model.predict(data["x"], verbose=0)
    first = framework.graph(model)
    for _ in range(3):
        model.fit(**data, verbose=0)
        model.evaluate(data["x"], data["y"], verbose=0)
        model.predict(data["x"], verbose=0)
        gc.collect()

        assert framework.graph(model).operations == first.operations
        assert retained(framework) == 0

    outcome = collect(framework, model)

    assert outcome.ok
    assert outcome.released_traces == 0
    assert outcome.released_models == 0
    assert any("live models" in line for line in outcome.held)


@pytest.mark.parametrize("level", ["collect", pytest.param("reload", marks=pytest.mark.full)])
def test_a_users_custom_gradient_stays_differentiable(
    framework: Framework, tmp_path: Path, level: str
):
    @tf.function
    def my_step(x: Any) -> Any:
        return doubled_backwards(x)

    @tf.function
    def my_branches(x: Any) -> Any:
        return tf.cond(x > 0, lambda: doubled_backwards(x), lambda: x)

    @tf.function
    def train_function(x: Any) -> Any:  # named as Keras' own, but alive
        return doubled_backwards(x)

    functions = (my_step, my_branches, train_function)
    for function in functions:
        function(tf.constant(3.0))  # traced without a gradient
    model = fitted()
    fitted()

    outcome = (
        collect(framework, model) if level == "collect" else reloaded(framework, model, tmp_path)
    )

    assert outcome.released_models >= 1
    assert any("`my_step`" in line for line in outcome.held)
    assert [gradient_of(function) for function in functions] == [2.0, 2.0, 2.0]


def test_another_live_model_trains_evaluates_and_differentiates_after_a_reload(
    framework: Framework, tmp_path: Path
):
    keras.utils.set_random_seed(1)
    other, model, data = fitted(), fitted(), arrays(validation=False)
    other.predict(data["x"], verbose=0)
    losses = [other.evaluate(data["x"], data["y"], verbose=0)]
    traces = framework.graph(None).traces

    outcome = reloaded(framework, model, tmp_path)

    losses.append(other.evaluate(data["x"], data["y"], verbose=0))
    assert losses[0] == losses[1]
    assert 0 < framework.graph(None).traces < traces
    assert any("live models" in line for line in outcome.held)
    x = tf.constant(data["x"])
    with tf.GradientTape() as tape:
        tape.watch(x)
        predicted = other.predict_function(((x,),))  # its trace has an entry for `silu`
    assert np.isfinite(tape.gradient(predicted, x).numpy()).all()
    other.fit(**data, verbose=0)
    model.fit(**data, verbose=0)


def test_a_reloaded_model_has_no_more_than_it_had_and_what_it_needs_at_once(
    framework: Framework, tmp_path: Path
):
    model, data = dense_model(), arrays()
    model.fit(**data, verbose=0)  # validates too: another of its functions
    model.predict(data["x"], verbose=0)
    before = framework.graph(model)

    reloaded(framework, model, tmp_path)

    entries = framework.graph(model).step_entries
    model.fit(**data, verbose=0)
    model.predict(data["x"], verbose=0)
    after = framework.graph(model)
    assert after.step_entries == entries
    assert (after.operations or 0) <= (before.operations or 0)


class AnyNames(keras.Model):
    """Takes arrays by any name; its step is traced for each set of names."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = self.add_weight(shape=(1,))

    def call(self, inputs: Any) -> Any:
        return sum(inputs.values()) * self.weight


def test_a_step_traced_again_and_again_leaves_nothing_behind_a_reload(
    framework: Framework, tmp_path: Path
):
    model = AnyNames()
    model.compile("sgd", "mse")
    x = np.ones((4, 1), dtype="float32")
    for name in "abcdef":
        model.train_on_batch({name: x}, x)

    outcome = reloaded(framework, model, tmp_path)

    count = framework.graph(model)
    assert (count.operations, count.functions, count.step_entries) == (0, 0, 0)
    assert not outcome.held
    assert not outcome.unchanged


@contextlib.contextmanager
def full_collections() -> Generator[list[str]]:
    """One word for each collection of all objects in the block."""
    found: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            found.append(phase)

    gc.collect()
    gc.disable()
    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)
        gc.enable()


def test_a_reload_looks_through_all_objects_once(framework: Framework, tmp_path: Path):
    model = fitted()

    with full_collections() as found:
        outcome = reloaded(framework, model, tmp_path)

    assert outcome.released_traces > 0
    assert retained(framework) == 0
    assert len(found) == 1


def test_a_reload_releases_a_dead_model_that_was_not_collected_yet(
    framework: Framework, tmp_path: Path
):
    model = fitted()

    with full_collections() as found:
        fitted()
        outcome = reloaded(framework, model, tmp_path)

    assert outcome.released_models == 1
    assert outcome.released_traces > outcome.disused_traces > 0, "the live model's own go too"
    assert retained(framework) == 0
    assert len(found) == 2


def test_a_step_function_that_the_script_keeps_too_keeps_its_traces(
    framework: Framework, tmp_path: Path
):
    model = fitted()
    kept = model.train_function

    outcome = reloaded(framework, model, tmp_path)

    assert outcome.released_traces == 0
    assert (framework.graph(model).step_entries or 0) > 0
    assert model.train_function is not kept


@pytest.mark.full
def test_compiling_a_model_anew_leaves_traces_that_are_released(framework: Framework):
    model = fitted()
    for _ in range(2):
        model.compile(optimizer="sgd", loss="mse")
        model.fit(**arrays(validation=False), verbose=0)
    gc.collect()
    assert retained(framework) > 0

    outcome = collect(framework, model)

    assert outcome.released_traces > 0
    assert retained(framework) == 0
    model.fit(**arrays(validation=False), verbose=0)


def test_gradients_inside_branches_of_a_step_are_released_with_it(framework: Framework):
    keras.config.set_dtype_policy("mixed_float16")  # its loss scale applies gradients in a branch
    try:
        fitted()
    finally:
        keras.config.set_dtype_policy("float32")

    outcome = collect(framework, None)

    assert outcome.released_models == 1
    assert framework.graph(None).step_entries == 0
    assert not outcome.held


def test_nothing_is_released_when_frozen_objects_hide_who_holds_a_trace(
    framework: Framework, monkeypatch: pytest.MonkeyPatch
):
    fitted()
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 10**12)

    outcome = collect(framework, None)

    assert outcome.released_traces == 0
    assert "gc.freeze()" in outcome.why


def test_release_says_when_the_registry_cannot_be_read(
    framework: Framework, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(framework.info().unavailable, "collect", "hidden for a test")

    outcome = collect(framework, None)

    assert not outcome.ok
    assert outcome.why == "hidden for a test"
    assert outcome.after is None
