# pyright: basic, reportImplicitOverride=false, reportOptionalMemberAccess=false
"""The parts of an epoch add up to its time, whatever feeds the training, on each backend."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.frameworks import input_timing
from kmonitor_agent.probes import compiled_code, step_clock
from kmonitor_agent.recording import epoch_times
from kmonitor_agent.recording.runs import RUNS
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import (
    EPOCH_PARTS,
    EpochEnded,
    EpochParts,
    FieldSources,
)
from tests.support.backends import ON_BACKEND, backend_here, on_backend
from tests.support.exactness import seed_keras
from tests.support.spooled import spooled_events

keras, data, models = on_backend(
    "keras",
    "tests.frameworks.exactness.data",
    "tests.frameworks.exactness.models",
    only=("tensorflow", "jax", "torch"),
)

pytestmark = [
    *ON_BACKEND,
    pytest.mark.filterwarnings("ignore:.*got an unexpected keyword argument:DeprecationWarning"),
]

EPOCHS = 5
STEPS = data.SAMPLES // data.BATCH


class Counting(keras.callbacks.Callback):
    """One of the script's."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        float(logs["loss"])


def compiled(**more: Any) -> Any:
    model = keras.Sequential(
        [keras.Input((data.FEATURES,)), keras.layers.Dense(8), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse", **more)
    return model


def batches() -> Any:
    given = data.arrays()
    while True:
        for at in range(0, data.SAMPLES, data.BATCH):
            yield given["x"][at : at + data.BATCH], given["y"][at : at + data.BATCH]


def own_pipeline() -> Any:
    """A pipeline in the form that the backend itself reads."""
    given = data.arrays()
    if backend_here() == "torch":
        torch = importlib.import_module("torch")
        tensors = [torch.as_tensor(np.asarray(given[name])) for name in ("x", "y")]
        held = torch.utils.data.TensorDataset(*tensors)
        return torch.utils.data.DataLoader(held, batch_size=data.BATCH)
    if backend_here() == "jax":
        return data.Batches()
    tf = importlib.import_module("tensorflow")
    return tf.data.Dataset.from_tensor_slices((given["x"], given["y"])).batch(data.BATCH)


TRAININGS: dict[str, Callable[[Any], tuple[Any, dict[str, Any]]]] = {
    "arrays": lambda _: (compiled(), data.arrays()),
    "generator": lambda _: (
        compiled(),
        {"x": batches(), "steps_per_epoch": STEPS, "shuffle": False},
    ),
    "own pipeline": lambda _: (compiled(), {"x": own_pipeline(), "shuffle": False}),
    "PyDataset": lambda _: (compiled(), {"x": data.Batches()}),
    "PyDataset with workers": lambda _: (compiled(), {"x": data.Batches(workers=2)}),
    "several steps in one execution": lambda _: (
        compiled(steps_per_execution=4),
        data.arrays(),
    ),
    "eagerly": lambda _: (compiled(run_eagerly=True), data.arrays()),
    "validation": lambda _: (compiled(), data.validated() | {"validation_freq": 2}),
    "checkpoints": lambda folder: (
        compiled(),
        data.arrays()
        | {"callbacks": [keras.callbacks.ModelCheckpoint(str(folder / "model.keras"))]},
    ),
    "callbacks": lambda _: (compiled(), data.arrays() | {"callbacks": [Counting()]}),
}


if backend_here() == "torch":
    del TRAININGS["several steps in one execution"]  # Keras refuses it there


def test_steps_that_are_handed_over_ahead_of_the_device_have_a_mean_only(folders: Folders):
    if backend_here() != "jax":
        pytest.skip("a processor computes behind the steps on JAX only; others need a GPU")
    seed_keras(3)
    wide = 512
    model = keras.Sequential([keras.Input((wide,)), *map(keras.layers.Dense, [wide] * 4)])
    model.compile("sgd", "mse")
    x = np.ones((20 * 512, wide), "float32")
    monitor = MonitorCallback(hub="off")

    val = (x[:512], x[:512])
    model.fit(x, x, 512, epochs=3, verbose=0, callbacks=[monitor], validation_data=val)
    RUNS.close()

    ended = [e for e in spooled_events(folders, monitor.run_id) if isinstance(e, EpochEnded)]
    assert [(each.step_times.count, each.step_times.p50_s) for each in ended] == [(19, None)] * 3


def added_up(parts: EpochParts) -> float:
    return sum(getattr(parts, f"{name}_s") or 0.0 for name in EPOCH_PARTS)


@pytest.mark.parametrize("training", TRAININGS)
def test_parts_of_each_epoch_add_up(training: str, folders: Folders, tmp_path: Any):
    seed_keras(3)
    model, given = TRAININGS[training](tmp_path)
    monitor = MonitorCallback(hub="off")

    for _ in range(2):
        called = given | {"callbacks": [*given.get("callbacks", []), monitor]}
        model.fit(**called, epochs=EPOCHS, verbose=0)
    RUNS.close()

    events = spooled_events(folders, monitor.run_id)
    ended = [event for event in events if isinstance(event, EpochEnded)]
    parts = [event.parts for event in ended if event.parts is not None]
    assert len(parts) == len(ended) == 2 * EPOCHS
    assert [added_up(each) for each in parts] == pytest.approx(
        [each.wall_s for each in parts], rel=0.02
    )
    assert min(getattr(each, f"{name}_s") or 0.0 for each in parts for name in EPOCH_PARTS) >= 0.0
    assert parts[EPOCHS].between_fits_s > 0.0
    assert is_explained(events) or parts[-1].input_s is not None
    assert (parts[1].validation_s > 0.0) == (training == "validation")
    assert (parts[-1].checkpoints_s > 0.0) == (training == "checkpoints")
    if training == "callbacks":
        assert "Counting" in {each.name for each in parts[-1].callbacks}


def test_wait_is_known_of_short_epochs_of_many_steps(folders: Folders):
    given = data.arrays()
    many = {name: np.concatenate([np.asarray(given[name])] * 21) for name in ("x", "y")}
    monitor = MonitorCallback(hub="off")

    compiled().fit(**many, batch_size=8, epochs=4, verbose=0, callbacks=[monitor])
    RUNS.close()

    events = spooled_events(folders, monitor.run_id)
    parts = [event.parts for event in events if isinstance(event, EpochEnded)]
    assert parts[-1] is not None
    assert parts[-1].input_s is not None


@pytest.mark.skipif(backend_here() != "tensorflow", reason="a dataset of TensorFlow's")
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_wait_is_known_where_the_number_of_steps_is_not(folders: Folders):
    tf = importlib.import_module("tensorflow")
    given = data.arrays()

    def few() -> Any:
        for _ in range(30):
            yield given["x"][: data.BATCH], given["y"][: data.BATCH]

    taken = [np.asarray(given[name])[: data.BATCH] for name in ("x", "y")]
    shapes = tuple(tf.TensorSpec((None, *each.shape[1:]), each.dtype) for each in taken)
    monitor = MonitorCallback(hub="off")

    generated = tf.data.Dataset.from_generator(few, output_signature=shapes)
    compiled().fit(generated, epochs=4, shuffle=False, verbose=0, callbacks=[monitor])
    RUNS.close()

    events = spooled_events(folders, monitor.run_id)
    parts = [event.parts for event in events if isinstance(event, EpochEnded)]
    assert all(each is not None and each.input_s is not None for each in parts[1:])
    assert {each.steps for each in events if isinstance(each, EpochEnded)} == {30}


class Waits:
    """A clock that moves where batches and a callback of the script's take their time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        for module in (epoch_times, input_timing, step_clock, compiled_code):
            monkeypatch.setattr(module, "perf_counter", lambda: self.now_s)

    def batches(self, wait_s: Callable[[int], float]) -> Any:
        for number, batch in enumerate(batches()):
            self.now_s += wait_s(number)
            yield batch

    def parts_of_last_epoch(self, folders: Folders, wait_s: Callable[[int], float]) -> EpochParts:
        waits = self

        class Computing(keras.callbacks.Callback):
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                waits.now_s += 0.001

        monitor = MonitorCallback(hub="off")
        given = {"x": self.batches(wait_s), "steps_per_epoch": 200, "shuffle": False, "verbose": 0}
        compiled().fit(**given, epochs=20, callbacks=[Computing(), monitor])
        RUNS.close()

        events = spooled_events(folders, monitor.run_id)
        # Keras has peeked at the first batches before the fit.
        parts = [event.parts for event in events if isinstance(event, EpochEnded)][-1]
        assert parts is not None
        return parts


by_python = pytest.mark.skipif(
    backend_here() == "tensorflow", reason="TensorFlow's runtime measures by a clock of its own"
)


@by_python
@pytest.mark.parametrize("wait_s", [0.0002, 0.002, 0.008, 0.05])
def test_wait_is_the_scripts_whether_all_steps_are_timed_or_some(
    wait_s: float, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    parts = Waits(monkeypatch).parts_of_last_epoch(folders, lambda _: wait_s)

    assert parts.input_s == pytest.approx(200 * wait_s, rel=0.02)
    assert parts.callbacks_s == pytest.approx(200 * 0.001, rel=0.02)


@by_python
def test_wait_for_the_first_batch_of_an_epoch_is_known_apart(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    waits = Waits(monkeypatch)

    parts = waits.parts_of_last_epoch(folders, lambda n: 0.002 if n % 200 else 3.0)

    assert parts.input_s == pytest.approx(3.0 + 199 * 0.002, rel=0.02)
    assert parts.first_input_s == pytest.approx(3.0, rel=0.02)


def is_explained(events: list[Any]) -> bool:
    """True if it says why the wait for input is not known."""
    sources = [
        source
        for event in events
        if isinstance(event, FieldSources)
        for source in event.sources
        if "input" in source.field
    ]
    assert not any("{{" in source.absent for source in sources)  # a text of TensorFlow's own
    return any(source.absent for source in sources)
