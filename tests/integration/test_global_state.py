"""Nothing that a script or Keras calls of ours draws from or sets what belongs to the script.

The result of the script's next model depends on it: Keras takes the seeds of initializers and of
Dropout from Python's generator where none is given.
"""

# pyright: basic
import copy
import gc
import pickle
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import keras
import numpy as np
import pytest
import tensorflow as tf

from kmonitor.notebook import memory_map
from kmonitor_agent import Limit, MonitorCallback, collect, collected, fit, restore, run_folds
from kmonitor_agent.recording.runs import RUNS
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.messages.commands import Command, PlainArguments
from kmonitor_agent.wire.messages.unions import Hello
from tests.frameworks.exactness import scenarios, tensorflow_scenarios
from tests.support import fold_functions
from tests.support.entry_points import EntryPoints
from tests.support.exactness import Scenario
from tests.support.fake_hub import FakeHub
from tests.support.global_calls import heard_on_our_threads
from tests.support.process_state import (
    FILTERS_TOUCHED,
    GENERATORS,
    READERS,
    changes,
    process_state,
)
from tests.support.reloading import KERAS, arrays, dense_model, seed_everything
from tests.support.running_tests import LONG
from tests.support.trainings import Ended, TrainingProcess, start_training

pytestmark = [*KERAS, pytest.mark.slow, LONG]

FULL: Final = pytest.mark.full

ACTIONS: Final = (
    ("save", {}),
    ("collect", {}),
    ("reload", {}),
    ("reload", {"mode": "recreate"}),
    ("auto", {}),
    ("diagnose", {}),
    ("save", {"export": True}),
)

ALL: Final = [
    *(*scenarios.CORE, *scenarios.SCENARIOS, *tensorflow_scenarios.CORE),
    *(*tensorflow_scenarios.SCENARIOS, *tensorflow_scenarios.KEPT),
]

QUICK: Final = {"Adam, Dropout, BatchNorm"}
"""Cases of `make test`; the rest is for `make test-full`."""


@pytest.fixture(autouse=True)
def closed_runs() -> Any:
    """No run outlives its test."""
    yield
    RUNS.close()


class At(keras.callbacks.Callback):
    """Calls a function at each epoch's begin."""

    def __init__(self, at_epoch: Callable[[int], object]) -> None:
        super().__init__()
        self._at_epoch = at_epoch

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._at_epoch(epoch)


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    "scenario",
    [pytest.param(each, id=each.name, marks=() if each.name in QUICK else FULL) for each in ALL],
)
def test_no_hook_changes_what_is_the_scripts(scenario: Scenario, tmp_path: Path):
    scenario.seed_all(scenario.seed)
    points = EntryPoints()
    model = scenario.model()
    monitor = points.watched("hooks", hub="off", checkpoint_dir=tmp_path / "kept", logs=True)

    def ask(epoch: int) -> None:
        if epoch < len(ACTIONS):
            name, more = ACTIONS[epoch]
            with points.around("request"):
                monitor.request(name, **more)

    settings = {"verbose": 0, **scenario.fit, "epochs": len(ACTIONS) + 1}
    callbacks = [At(ask), monitor, *scenario.callbacks()]
    epochs = model.fit(**scenario.data(), **settings, callbacks=callbacks).epoch
    with points.around("close"):
        RUNS.close()

    points.assert_nothing_touched()
    assert points.calls["on_epoch_end"] == len(epochs)  # some scenarios stop early
    assert points.calls["on_train_batch_begin"] >= len(epochs)
    assert len(monitor.records) >= min(len(epochs), len(ACTIONS))


@pytest.mark.promise(20)
def test_no_public_function_changes_what_is_the_scripts(tmp_path: Path):
    seed_everything(3)
    points = EntryPoints()
    around = points.around
    monitor = points.watched(
        "functions",
        hub="off",
        checkpoint_dir=tmp_path / "kept",
        limits=[Limit("ram", "99%"), Limit("graph", 1, action="collect")],
        private=True,
    )
    model = dense_model()
    model.fit(
        **arrays(), epochs=3, verbose=0, callbacks=[At(lambda n: monitor.request("save")), monitor]
    )
    checkpoint = next((tmp_path / "kept").glob("*.h5"))
    points.in_a_thread("request in a thread", lambda: monitor.request("collect"))
    with around("properties"):
        assert all([monitor.run_id, monitor.records, monitor.model])
    with around("refusals"), pytest.raises(ValueError, match="is not a valid action"):
        monitor.request("nothing")
    with around("copies"):
        copy.deepcopy(MonitorCallback("copied", hub="off"))
        pickle.loads(pickle.dumps(MonitorCallback("pickled", hub="off")))  # noqa: S301 - our own
    with around("collect"):
        collect()
    points.in_a_thread("collect in a thread", collect)
    other = dense_model()
    with around("restore"):
        restore(other, checkpoint)
    with around("memory_map"):
        memory_map(model, batch=8)
    open_model = keras.Sequential([keras.Input((None, 4)), keras.layers.LSTM(3)])
    with around("memory_map of other inputs"):
        memory_map(open_model, batch=8, optimizer="adam", input_shapes=[(7, 4)])
    with around("close"):
        RUNS.close()

    points.assert_nothing_touched()


class DrawingSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """One of the script's, which draws in whatever way it likes."""

    def __call__(self, step: Any) -> Any:
        drawn = random.random() + np.random.random() + keras.random.uniform(())  # noqa: S311
        return 0.01 + 0.0 * drawn * keras.ops.cast(step, "float32") + 0.0 * tf.random.uniform(())


def test_looking_at_a_learning_rate_draws_nothing():
    seed_everything(3)
    points = EntryPoints()
    monitor = points.watched("drawing", hub="off")
    schedule: Any = DrawingSchedule()
    model = dense_model(optimizer=keras.optimizers.SGD(schedule))
    model.fit(**arrays(), epochs=3, verbose=0, callbacks=[monitor])

    points.assert_nothing_touched()
    assert points.calls["on_epoch_end"] == 3


def test_blocks_of_collected_change_nothing_themselves():
    points = EntryPoints()
    with points.around("collected"):
        block = collected()
    with points.around("entering"):
        block.__enter__()
    dense_model().fit(**arrays(), epochs=1, verbose=0)
    with points.around("leaving"):
        block.__exit__(None, None, None)

    points.assert_nothing_touched()


@pytest.mark.promise(20)
def test_studies_change_nothing_in_the_process_that_calls_them(tmp_path: Path):
    points = EntryPoints()
    with points.around("run_folds"):
        run_folds(fold_functions.told, folds=2, study=tmp_path / "study")
    with points.around("run_folds of folds that fail"):
        run_folds(fold_functions.by_index, folds=3, study=tmp_path / "failing", retries=0)
    with points.around("run_folds beside a hub"):
        run_folds(fold_functions.nothing, folds=1, timeout_s=60, memory="4 GiB")

    points.assert_nothing_touched()


def _state_after(train: Callable[[], object]) -> dict[str, Any]:
    """State that a script finds after a training that begins like any other."""
    keras.utils.clear_session()
    seed_everything(5)
    tf.random.get_global_generator().reset_from_seed(5)
    train()
    keras.layers.Dense(1)
    gc.collect()
    return process_state()


ASKS: Final = ((), ((1, "reload"),), ((0, "reload"), (2, "reload")))


@pytest.mark.parametrize(
    ("given", "asks"),
    [
        pytest.param(
            given,
            asks,
            marks=() if (given, n) in {("function", 0), ("configuration", 2)} else FULL,
        )
        for given in ("configuration", "function")
        for n, asks in enumerate(ASKS)
    ],
)
def test_training_in_parts_leaves_the_process_as_kerass_fit_does(
    asks: tuple[tuple[int, str], ...], given: str
):
    def plain() -> None:
        model = dense_model(metrics=["accuracy"])
        model.fit(**arrays(), epochs=4, verbose=0)

    def ours() -> None:
        monitor = MonitorCallback("parts", hub="off")
        asking = At(lambda n: [monitor.request(action) for at, action in asks if at == n])
        model = dense_model(metrics=["accuracy"])
        rebuild = None if given == "configuration" else lambda: dense_model(metrics=["accuracy"])
        fit(model, **arrays(), epochs=4, verbose=0, callbacks=[asking, monitor], rebuild=rebuild)
        assert [each.ok for each in monitor.records] == [True] * len(asks)
        RUNS.close()

    found = changes(_state_after(plain), _state_after(ours), {GENERATORS, FILTERS_TOUCHED})

    assert not found


@pytest.mark.promise(20)
def test_no_thread_of_ours_draws_or_sets_while_hubs_come_and_go(folders: Folders):
    seed_everything(3)
    np.random.seed(3)
    hubs: list[FakeHub] = []

    def at_epoch(epoch: int) -> None:
        if hubs:
            hubs.pop().close()
        hub = FakeHub(ingest_socket_path(folders), acked=0)
        hubs.append(hub)
        hub.serve_until(lambda: hub.count(Hello) and hub.acked > 0)
        hello = next(each for each in hub.got if isinstance(each, Hello))
        at = PlainArguments("batch")
        hub.send(
            Command(f"save-{epoch}", hello.run, hello.session, "save", at, requested_by="ada")
        )
        hub.serve_until(lambda: "CommandProgress" in hub.kinds())

    with heard_on_our_threads() as heard:
        monitor = MonitorCallback("threads", sample_interval_s=0.1)
        dense_model().fit(**arrays(), epochs=4, verbose=0, callbacks=[monitor, At(at_epoch)])
        RUNS.close()
    hubs.pop().close()

    assert {"kmonitor-agent", "kmonitor-disk"} <= heard.threads
    assert heard.calls > 0
    assert not heard.found


def _ended(home: Path, **plan: Any) -> Ended:
    with start_training(home, models=2, seeds_once=True, epochs=3, **plan) as training:
        return training.end()


def _beside_hubs_that_stop(training: TrainingProcess, path: Path) -> Ended:
    for _ in range(3):  # each that connects shows that the one before was left
        with FakeHub(path) as hub:
            hub.serve_until(lambda hub=hub: hub.acked > 0)
    training.open_gate()
    return training.end()


def _beside_a_hub_that_stays(training: TrainingProcess, path: Path) -> Ended:
    with FakeHub(path) as hub:
        hub.serve_until(lambda: hub.acked > 0)
        training.open_gate()
        hub.serve_until(lambda: training.process.poll() is not None)
        return training.end()


@pytest.mark.parametrize(
    "beside",
    [_beside_hubs_that_stop, pytest.param(_beside_a_hub_that_stays, marks=FULL)],
)
def test_second_model_of_a_script_is_the_same_whatever_becomes_of_the_hub(
    kmonitor_home: Path, folders: Folders, beside: Callable[[TrainingProcess, Path], Ended]
):
    plain = _ended(kmonitor_home, monitored=False)
    how: dict[str, Any] = {"models": 2, "seeds_once": True, "epochs": 3, "hold_epoch": 1}
    with start_training(kmonitor_home, **how) as training:
        ended = beside(training, ingest_socket_path(folders))

    assert ended.histories == plain.histories
    assert ended.digests == plain.digests
    assert plain.histories[0] != plain.histories[1]
    assert ended.faults == {}


def test_harness_sees_each_kind_of_draw_and_setting():
    seed_everything(3)
    before = process_state()
    random.random()  # noqa: S311 - the one that must be seen
    np.random.random()
    tf.random.normal((1,))
    keras.random.normal((1,))
    keras.layers.Dense(1)
    seen = {each.partition(": ")[0] for each in changes(before, process_state())}

    assert len(READERS) > 60
    assert seen == {"random", "names"}
    assert threading.current_thread() is threading.main_thread()
