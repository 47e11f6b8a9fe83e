# pyright: reportArgumentType=false
"""The owner of a trace is mostly known without searching all objects, and right if not."""

import gc
from collections.abc import Iterator
from typing import Any, NoReturn

import keras
import numpy as np
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.base import Framework
from kmonitor_agent.frameworks.tensorflow import (
    graphs,
    internals,
    traces,
)
from kmonitor_agent.frameworks.tensorflow import (
    traces as tensorflow_traces,
)
from kmonitor_agent.reclaim.actions import collect
from tests.support.reloading import KERAS, arrays, clean_registry, dense_model

pytestmark = [*KERAS, pytest.mark.slow]


@pytest.fixture
def framework() -> Iterator[Framework]:
    with clean_registry() as found:
        yield found


@pytest.fixture
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*args: Any) -> NoReturn:
        raise AssertionError("all objects were looked through")

    monkeypatch.setattr(tensorflow_traces.GraphOwners, "find_owners", asked)


def used() -> Any:
    model, data = dense_model(), arrays(validation=False)
    model.fit(**data, verbose=0)
    model.evaluate(data["x"], data["y"], verbose=0)
    model.predict(data["x"], verbose=0)
    return model


@pytest.mark.usefixtures("nobody_is_asked")
def test_graphs_of_a_live_and_of_dead_models_are_told_apart_without_asking(framework: Framework):
    first = used()
    used()
    gc.collect()

    entries = framework.graph(first).step_entries
    retained = framework.graph(first).retained

    assert entries is not None
    assert retained == entries / 2
    assert framework.graph(first).disused == 0


def test_traces_of_a_model_that_was_compiled_again_are_disused(framework: Framework):
    model, data = dense_model(), arrays(validation=False)
    model.fit(**data, verbose=0)
    before = framework.graph(model).disused
    model.compile(optimizer="sgd", loss="mse")
    model.fit(**data, verbose=0)
    gc.collect()

    count = framework.graph(model)

    assert before == 0
    assert count.disused == count.retained
    assert count.disused > 0
    assert sum(each.disused for each in count.by_function) > 0


@pytest.mark.usefixtures("nobody_is_asked")
def test_between_models_a_collect_asks_nobody(framework: Framework):
    for _ in range(2):
        used()

    outcome = collect(framework, None)

    assert (outcome.why, outcome.released_models) == ("", 2)
    assert framework.graph(None).step_entries == 0


@pytest.mark.parametrize("hidden", ["VARIABLES", "_TRACING"])
@pytest.mark.full
def test_without_a_private_name_all_are_asked_and_the_result_is_the_same(
    framework: Framework, monkeypatch: pytest.MonkeyPatch, hidden: str
):
    monkeypatch.setattr(tensorflow_traces, hidden, "_no_such_name")
    if hidden == "VARIABLES":
        monkeypatch.setattr(traces, hidden, "_no_such_name")
    model = used()
    live = framework.graph(None).step_entries
    for _ in range(2):
        keras.utils.set_random_seed(1)
        used()
    gc.collect()
    retained = framework.graph(None).retained

    outcome = collect(framework, model)

    assert retained == 2 * (live or 0)
    assert (outcome.why, outcome.released_models) == ("", 2)
    assert framework.graph(None).step_entries == live
    assert np.isfinite(model.predict(arrays()["x"], verbose=0)).all()


def test_a_function_that_is_of_no_known_class_still_owns_its_trace(
    framework: Framework, monkeypatch: pytest.MonkeyPatch
):
    ask = gc.get_referrers
    model = used()
    framework.graph(None)

    def but_of_a_class(*objects: Any) -> list[Any]:
        return [] if isinstance(objects[0], type) else ask(*objects)

    monkeypatch.setattr(gc, "get_referrers", but_of_a_class)

    outcome = collect(framework, model)

    assert (outcome.released_traces, framework.graph(None).retained) == (0, 0)


def test_a_function_that_another_thread_frees_while_it_is_read_counts_as_nothing():
    context = internals.find_internals().eager_context
    assert context is not None

    facts = graphs.read_function(context(), "__inference_gone_1")

    assert facts.operations == 0


def test_new_function_is_seen_though_another_one_is_freed(framework: Framework):
    first = tf.function(lambda x: x + 1.0)
    first(tf.constant(1.0))
    counts = framework.function_count().value, framework.functions_made().value
    del first
    second = tf.function(lambda x: x + 1.0)
    second(tf.constant(1.0))
    gc.collect()

    assert framework.function_count().value == counts[0]
    assert (framework.functions_made().value or 0.0) > (counts[1] or 0.0)


def test_owners_are_searched_for_within_a_part_of_the_time(
    framework: Framework, monkeypatch: pytest.MonkeyPatch
):
    searches: list[int] = []
    now_s = [traces.time.monotonic() - 1000.0]  # behind, so that later tests are not
    monkeypatch.setattr(traces, "SEARCH_PART", 0.02)
    monkeypatch.setattr(traces.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(traces.time, "thread_time", lambda: 0.15 * len(searches))
    find = traces.GraphOwners.find_owners
    monkeypatch.setattr(
        traces.GraphOwners,
        "find_owners",
        lambda self, graphs: searches.append(1) or find(self, graphs),
    )
    model = used()

    def disused_after(fits: int) -> int:
        for _ in range(fits):
            model.compile(optimizer="sgd", loss="mse")
            model.fit(**arrays(validation=False), verbose=0)
            gc.collect()
            now_s[0] += 1.0
            framework.graph(model)
        return framework.graph(model).disused

    found = disused_after(12)
    assert 4 <= len(searches) <= 5

    now_s[0] += 100.0
    assert disused_after(1) > found
    assert len(searches) <= 6
