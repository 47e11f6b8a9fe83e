"""Real fits in which a callback or library keeps things: the judge names them."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
import functools
import gc
import itertools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.recording import diagnosis, fit_reporter
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    EpochEnded,
    EpochStarted,
    KeptObjects,
    ObjectsCounted,
    Sample,
    Verdict,
)
from kmonitor_agent.wire.messages.readings import Reading
from tests.support import callback_fits
from tests.support.callback_fits import Told, fit, of, small_model
from tests.support.reloading import KERAS

pytestmark = KERAS

closed_runs = callback_fits.closed_runs
monitor = callback_fits.monitor
told = callback_fits.told

MIB = 2.0**20
EPOCHS = 9


@pytest.fixture(autouse=True)
def growing_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory as the process reports it rises by 2 MiB a unit, and a count may take any time."""
    gc.collect()  # graphs of earlier tests may not go while those of this one are counted
    counted, reported = itertools.count(500, 2), itertools.count(500, 2)

    def reading(numbers: "itertools.count[int]") -> Callable[[], Reading]:
        return lambda: Reading(next(numbers) * MIB, "bytes", "test")

    monkeypatch.setattr(diagnosis, "read_held", reading(counted))
    monkeypatch.setattr(fit_reporter, "read_held", reading(reported))
    monkeypatch.setattr(fit_reporter, "read_own_pages", reading(reported))
    monkeypatch.setattr(diagnosis, "COST_SHARE", 1e9)


class Keeps(keras.callbacks.Callback):
    """Keeps something at each epoch's end, for plots say."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__()
        self.kept: list[Any] = []
        self._make = make

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.kept.append(self._make())


def verdict_of(events: list[AnyEvent], metric: str = "ram") -> Verdict:
    judge = RunJudge()
    for event in events:
        if isinstance(event, Sample):
            continue  # has the memory that there is
        judge.read(event.t_s, event)
        judge.judge()
    return next(each for each in judge.newest_verdicts() if each.metric == metric)


def newest(events: list[AnyEvent], place: str) -> KeptObjects:
    kept = [each for event in of(ObjectsCounted, events) for each in event.kept]
    return next(each for each in reversed(kept) if each.place == place)


def test_arrays_that_a_callback_keeps_are_the_cause(monitor: Any, told: Told):
    keeps = Keeps(lambda: np.ones((512, 1024), "float32"))

    fit(small_model(), keeps, monitor, epochs=EPOCHS)

    events = told(monitor)
    verdict = verdict_of(events)
    assert verdict.cause == "kept"
    assert verdict.kept is not None
    assert (verdict.kept.kind, verdict.kept.place) == ("numpy.ndarray", "Keeps.kept")
    assert verdict.kept.shape == "(512, 1024)"
    assert verdict.advice[0] == "keep_numbers"
    assert newest(events, "Keeps.kept").n_bytes == EPOCHS * 2 * MIB


class Loads(keras.callbacks.Callback):
    """Remembers what it loads at each epoch's end, for the first sixty of them."""

    @staticmethod
    @functools.lru_cache(maxsize=60)
    def load(number: int) -> Any:
        return np.full((512, 1024), number, "float32")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.load(epoch)


def test_a_cache_of_a_callback_with_a_limit_is_filling(monitor: Any, told: Told):
    fit(small_model(), Loads(), monitor, epochs=EPOCHS)
    Loads.load.cache_clear()

    verdict = verdict_of(told(monitor))
    assert (verdict.state, verdict.cause) == ("rising", "filling")
    assert verdict.kept is not None
    named = (verdict.kept.place, verdict.kept.container, verdict.kept.capacity)
    assert named == ("Loads.load", "functools.lru_cache", 60)


class NamesEach(keras.callbacks.Callback):
    """Keeps something at each epoch's end in an attribute of its own."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        setattr(self, f"epoch_{epoch}", np.full((512, 1024), epoch, "float32"))


class Chains(keras.callbacks.Callback):
    """Keeps something at each epoch's end together with what it kept before."""

    history: Any = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.history = [np.full((512, 1024), epoch, "float32"), self.history]


@pytest.mark.parametrize(
    ("make", "place", "container"),
    [
        (NamesEach, "NamesEach.epoch_*", "attributes"),
        (Chains, "Chains.history", "linked list"),
    ],
)
def test_what_a_callback_keeps_without_a_container_is_the_cause(
    monitor: Any, told: Told, make: Callable[[], Any], place: str, container: str
):
    fit(small_model(), make(), monitor, epochs=EPOCHS)

    verdict = verdict_of(told(monitor))
    assert verdict.cause == "kept"
    assert verdict.kept is not None
    assert (verdict.kept.place, verdict.kept.container) == (place, container)


def test_tensors_that_a_callback_keeps_are_the_cause(monitor: Any, told: Told):
    keeps = Keeps(lambda: keras.ops.ones((512, 1024)))

    fit(small_model(), keeps, monitor, epochs=EPOCHS)

    verdict = verdict_of(told(monitor))
    assert verdict.cause == "kept"
    assert verdict.kept is not None
    assert verdict.kept.kind in {"tensorflow.Tensor", "torch.Tensor", "jax.Array"}
    assert verdict.kept.dtype == "float32"


def test_functions_of_data_sets_are_found_in_the_root_graph(monitor: Any, told: Told):
    tf: Any = pytest.importorskip("tensorflow")

    def dataset() -> Any:
        images = np.ones((500, 1024), "float32")

        def generate() -> Any:
            yield images[:4, :4], images[:4, :1]

        signature = tf.TensorSpec((4, 4), tf.float32), tf.TensorSpec((4, 1), tf.float32)
        return tf.data.Dataset.from_generator(generate, output_signature=signature).repeat()

    model = small_model()
    for _ in range(EPOCHS):
        model.fit(dataset(), steps_per_epoch=1, shuffle=False, verbose=0, callbacks=[monitor])

    kept = newest(told(monitor), "tf.Graph")
    assert (kept.kind, kept.container) == ("function", "list")
    assert (kept.n_bytes or 0.0) >= 2 * MIB * (EPOCHS // 2)


def test_a_list_of_traced_functions_is_named_and_creating_one_is_advised(monitor: Any, told: Told):
    tf: Any = pytest.importorskip("tensorflow")

    def traced() -> Any:
        @tf.function
        def probe(values: Any) -> Any:
            return tf.reduce_sum(values * values)

        probe(tf.ones((4, 4)))
        return probe

    fit(small_model(), Keeps(traced), monitor, epochs=EPOCHS)

    events = told(monitor)
    kept = newest(events, "Keeps.kept")
    assert (kept.kind, kept.n_bytes, kept.container) == ("tf.function", None, "list")
    if keras.backend.backend() == "tensorflow":  # others do not count traces
        for verdict in (verdict_of(events), verdict_of(events, "graph")):
            assert (verdict.cause, verdict.name) == ("retracing", "probe")
            assert verdict.advice[0] == "function_once"
            assert verdict.kept is not None
            assert verdict.kept.place == "Keeps.kept"


def fit_models(monitor: Any) -> None:
    histories: list[Any] = []
    for _ in range(EPOCHS):
        histories += [fit(small_model(), monitor, epochs=1)]


def test_histories_that_are_kept_name_their_list(monitor: Any, told: Told):
    fit_models(monitor)

    kept = newest(told(monitor), "fit_models.histories")
    assert (kept.kind, kept.n_bytes, kept.container) == ("keras.History", None, "list")


class Probe(keras.layers.Layer):
    """Keeps something at each step."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen: list[Any] = []

    def call(self, inputs: Any) -> Any:
        self.seen.append(np.ones((256, 1024), "float32"))
        return inputs


class KeepPredictions(keras.metrics.Metric):
    """Keeps something at each step, and clears nothing."""

    def __init__(self) -> None:
        super().__init__(name="predictions")
        self.values: list[Any] = []

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.values.append(np.ones((256, 1024), "float32"))

    def result(self) -> Any:
        return keras.ops.zeros(())

    def reset_state(self) -> None:
        pass


class KeepLosses(keras.losses.Loss):
    """Keeps something at each step."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: list[Any] = []

    def call(self, y_true: Any, y_pred: Any) -> Any:
        self.terms.append(np.ones((256, 1024), "float32"))
        return keras.ops.mean((y_true - y_pred) ** 2, axis=-1)


def in_a_layer() -> Any:
    outer = keras.Sequential([keras.Input((4,)), keras.Sequential([Probe()])])
    outer.add(keras.layers.Dense(1))
    outer.compile("sgd", "mse", run_eagerly=True)
    return outer


def in_a_metric() -> Any:
    model = small_model()
    model.compile("sgd", "mse", metrics=[KeepPredictions()], run_eagerly=True)
    return model


def in_a_loss() -> Any:
    model = small_model()
    model.compile("sgd", [KeepLosses()], run_eagerly=True)
    return model


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (in_a_layer, "Probe.seen"),
        (in_a_metric, "KeepPredictions.values"),
        pytest.param(in_a_loss, "KeepLosses.terms", marks=pytest.mark.full),
    ],
)
def test_what_a_part_of_a_model_keeps_is_the_cause(
    monitor: Any, told: Told, make: Callable[[], Any], place: str
):
    fit(make(), monitor, epochs=EPOCHS)

    events = told(monitor)
    kept = newest(events, place)
    assert (kept.kind, kept.container) == ("numpy.ndarray", "list")
    assert kept.n_bytes == kept.count * MIB
    assert verdict_of(events).cause == "kept"


class Play(keras.utils.PyDataset):
    """Keeps something with each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: list[Any] = []

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        self.memory.append(np.ones((256, 1024), "float32"))
        return callback_fits.X[:8], callback_fits.Y[:8]


def play() -> Any:
    memory: list[Any] = []
    while True:
        memory.append(np.ones((256, 1024), "float32"))
        yield callback_fits.X[:8], callback_fits.Y[:8]


@pytest.mark.parametrize(
    ("make", "place"),
    [
        # The test of validation data also covers a data set's list.
        pytest.param(Play, "Play.memory", marks=pytest.mark.full),
        (play, "play.memory"),
    ],
)
def test_what_data_made_in_the_call_of_fit_keep_is_the_cause(
    monitor: Any, told: Told, make: Callable[[], Any], place: str
):
    small_model().fit(
        make(), steps_per_epoch=6, epochs=EPOCHS, shuffle=False, verbose=0, callbacks=[monitor]
    )

    events = told(monitor)
    assert newest(events, place).kind == "numpy.ndarray"
    assert verdict_of(events).cause == "kept"


def test_what_the_validation_data_keep_is_found(monitor: Any, told: Told):
    x, y = callback_fits.X, callback_fits.Y

    small_model().fit(x, y, validation_data=Play(), epochs=EPOCHS, verbose=0, callbacks=[monitor])

    assert newest(told(monitor), "Play.memory").container == "list"


def test_a_training_that_keeps_nothing_names_nothing(monitor: Any, told: Told):
    fit(small_model(), monitor, epochs=EPOCHS)

    verdict = verdict_of(told(monitor))
    assert (verdict.cause, verdict.kept) != ("kept", None)
    assert verdict.kept is None


def test_growth_in_validation_is_reported_with_its_epoch(monitor: Any, told: Told):
    x, y = callback_fits.X, callback_fits.Y

    small_model().fit(x, y, batch_size=8, validation_data=(x, y), verbose=0, callbacks=[monitor])

    events = told(monitor)
    (begun,), (ended,) = of(EpochStarted, events), of(EpochEnded, events)
    assert ended.validation_bytes is not None
    assert begun.ram_process_bytes is not None


def test_evaluation_outside_of_a_fit_is_no_validation(monitor: Any, told: Told):
    model = small_model()

    fit(model, monitor, epochs=1)
    model.evaluate(callback_fits.X, callback_fits.Y, verbose=0, callbacks=[monitor])
    fit(model, monitor, epochs=1)

    assert [each.validation_bytes for each in of(EpochEnded, told(monitor))] == [None, None]
