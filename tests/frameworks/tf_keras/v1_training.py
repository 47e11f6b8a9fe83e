# pyright: basic, reportImplicitOverride=false, reportArgumentType=false
# pyright: reportIncompatibleMethodOverride=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false
"""Trainings in v1 graph mode, as a separate process: `disable_eager_execution()` is for ever.

`python -m tests.frameworks.tf_keras.v1_training NAME` prints what it found as JSON; NAME is the
name of a function here: exact, plain, settings or refusals.
"""

import hashlib
import json
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

warnings.simplefilter("ignore")

import tensorflow as tf  # noqa: E402 - its warnings are not ours
import tf_keras  # noqa: E402

tf.compat.v1.disable_eager_execution()

import kmonitor_agent  # noqa: E402
from kmonitor_agent import Limit, MonitorCallback  # noqa: E402
from kmonitor_agent.frameworks.detection import forget_frameworks, framework_for  # noqa: E402
from kmonitor_agent.frameworks.tf_keras.state import keras2_backend  # noqa: E402
from kmonitor_agent.reclaim.actions import collect, reload, save  # noqa: E402
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag  # noqa: E402
from kmonitor_agent.reclaim.checkpoints import CheckpointStore  # noqa: E402
from kmonitor_agent.recording.process_session import ProcessSession  # noqa: E402
from kmonitor_agent.wire.messages.events import Notice  # noqa: E402

EPOCHS: Final = 5
K: Final = tf_keras.backend
v1: Final = tf.compat.v1


class Scale(tf_keras.layers.Layer):
    """A layer of the script's own, registered nowhere."""

    def __init__(self, start: float = 1.0, **named: Any) -> None:
        super().__init__(**named)
        self.start = start

    def build(self, shape: Any) -> None:
        start = tf_keras.initializers.Constant(self.start)
        self.factor = self.add_weight(name="factor", shape=(), initializer=start)
        super().build(shape)

    def call(self, inputs: Any) -> Any:
        return inputs * self.factor

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "start": self.start}


def arrays() -> dict[str, Any]:
    """Inputs of 8 features and a target, reshuffled each epoch; a quarter for validation."""
    numbers = np.random.default_rng(5)
    x = numbers.normal(size=(48, 8)).astype("float32")
    return {"x": x, "y": x.sum(axis=1, keepdims=True), "batch_size": 8, "validation_split": 0.25}


def sequences() -> dict[str, Any]:
    """Eight sequences in a batch, always the same ones."""
    x = np.random.default_rng(5).normal(size=(32, 4, 3)).astype("float32")
    return {"x": x, "y": x[:, -1, :1], "batch_size": 8, "shuffle": False}


def two_targets() -> dict[str, Any]:
    """Two outputs, weighted samples."""
    found = arrays()
    weights = np.linspace(0.5, 1.5, 48).astype("float32")
    return {
        "x": found["x"],
        "y": [found["y"], found["y"] > 0],
        "sample_weight": [weights, weights[::-1]],
        "batch_size": 8,
    }


def dense(*, dropout: bool = False, optimizer: Any = "adam") -> Any:
    """Statistics that move, and metrics by name."""
    layers = tf_keras.layers
    model = tf_keras.Sequential(
        [
            tf_keras.Input((8,)),
            layers.Dense(8, activation="relu"),
            layers.BatchNormalization(),
            *([layers.Dropout(0.4)] if dropout else []),
            layers.Dense(1),
        ]
    )
    model.compile(optimizer, "mse", metrics=["mae"])
    return model


def functional() -> Any:
    """Two outputs, a layer of the script's own, a frozen one, a loss that is a lambda."""
    layers = tf_keras.layers
    given = tf_keras.Input((8,))
    frozen = layers.Dense(8, activation="tanh", trainable=False)
    hidden = Scale(0.7)(frozen(given))
    first = layers.Dense(1, name="first")(hidden)
    second = layers.Dense(1, activation="sigmoid", name="second")(hidden)
    model = tf_keras.Model(given, [first, second])
    model.compile(
        tf_keras.optimizers.legacy.RMSprop(0.01, momentum=0.5),
        loss=[lambda true, found: K.mean((true - found) ** 2, axis=-1), "binary_crossentropy"],
        loss_weights=[1.0, 0.3],
        metrics={"second": [tf_keras.metrics.AUC(name="auc")]},
    )
    return model


def stateful() -> Any:
    """An LSTM that carries its state from batch to batch and from epoch to epoch."""
    model = tf_keras.Sequential(
        [
            tf_keras.Input(batch_shape=(8, 4, 3)),
            tf_keras.layers.LSTM(4, stateful=True),
            tf_keras.layers.Dense(1),
        ]
    )
    model.compile(tf_keras.optimizers.legacy.Nadam(0.01), "mse")
    return model


def plateau() -> list[Any]:
    """Callbacks with their own state, one of which writes the learning rate."""
    callbacks = tf_keras.callbacks
    return [
        callbacks.ReduceLROnPlateau(monitor="loss", patience=0, min_delta=10),
        callbacks.EarlyStopping(
            monitor="loss", patience=3, min_delta=100, restore_best_weights=True
        ),
    ]


SCENARIOS: Final[dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]]] = {
    "Adam, BatchNorm, shuffled": (dense, arrays, list),
    "momentum, ReduceLROnPlateau, EarlyStopping": (
        lambda: dense(optimizer=tf_keras.optimizers.legacy.SGD(0.01, momentum=0.9)),
        arrays,
        plateau,
    ),
    "two outputs, own layer, lambda, sample weights": (functional, two_targets, list),
    "stateful LSTM": (stateful, sequences, list),
}
MOMENTS: Final = {"once": (1,), "three times": (0, 1, 2)}


def exact() -> dict[str, Any]:
    """Each scenario with `model.fit`, and with reloads in `kmonitor_agent.fit`."""
    found: dict[str, Any] = {}
    for name, (make, data, callbacks) in SCENARIOS.items():
        found[name] = {"plain": _train(make, data, callbacks, None)}
        for moments, epochs in MOMENTS.items():
            found[name][moments] = _train(make, data, callbacks, epochs)
    rebuilt = {"rebuild": dense}
    found["rebuild="] = {
        "plain": _train(dense, arrays, list, None),
        "once": _train(dense, arrays, list, (1,), **rebuilt),
    }
    found["Dropout"] = {"once": _train(lambda: dense(dropout=True), arrays, list, (1,))}
    return found


def plain() -> dict[str, Any]:
    """Reports of a plain `fit`, the actions that it allows and refuses, and its growth."""
    _seed()
    model, monitor = dense(), MonitorCallback("plain", hub="off")
    asking = tf_keras.callbacks.LambdaCallback(on_epoch_begin=lambda *_: _ask_for_all(monitor))
    model.fit(**arrays(), epochs=1, verbose=0, callbacks=[monitor, asking])
    framework, store = framework_for(model), CheckpointStore(Path(tempfile.mkdtemp()))
    tag = CheckpointTag("run", 1, 0)
    counted = [framework.graph(model).operations]
    for _ in range(2):
        K.get_value(model.weights[0] * 2.0)  # the leak of old scripts: a new operation each time
        counted.append(framework.graph(model).operations)
    names = {each.name for each in framework.graph(model).by_function}
    return {
        "records": [(e.event.action, e.event.ok, e.event.why) for e in monitor.records],
        "unavailable": framework.info().unavailable,
        "save": save(framework, model, store, tag=tag).why,
        "reload": reload(framework, model, store, tag=tag).why,
        "collect": collect(framework, model).why,
        "operations": counted,
        "real": len(v1.get_default_graph().get_operations()),
        "source": framework.graph(model).source,
        "names": sorted(names),
        "rate": framework.learning_rate(model).value,
        "functions": framework.function_count().absent,
    }


def auto() -> dict[str, Any]:
    """`auto` in `kmonitor_agent.fit`: requested, by a limit that it helps, by one that not."""
    notices: list[str] = []
    emit = ProcessSession.emit

    def listen(session: ProcessSession, event: Any) -> None:
        if isinstance(event, Notice):
            notices.append(event.code)
        emit(session, event)

    ProcessSession.emit = listen  # runs take it when they are made
    _seed()
    found: dict[str, Any] = {"plain": _train(dense, arrays, list, None)["state"]}
    for name, limits in {
        "asked": [],
        "helped": [Limit("graph", 600, action="auto", cooldown_s=0)],
        "helpless": [Limit("graph", 10, action="auto")],
    }.items():
        K.clear_session()
        _seed()
        notices.clear()
        monitor = MonitorCallback(name, hub="off", limits=limits)
        found[name] = _leaking(monitor, is_asked=not limits) | {"notices": [*notices]}
    return found


def _leaking(monitor: MonitorCallback, *, is_asked: bool) -> dict[str, Any]:
    """A training whose script adds 60 operations in each epoch."""

    def epoch(number: int, _: Any) -> None:
        for _ in range(20):
            K.get_value(monitor.model.weights[0] * 2.0)
        if is_asked and number == 1:
            monitor.request("auto")

    operations: list[int] = []
    watching = tf_keras.callbacks.LambdaCallback(
        on_epoch_begin=epoch,
        on_epoch_end=lambda *_: operations.append(len(v1.get_default_graph().get_operations())),
    )
    model, _ = kmonitor_agent.fit(
        dense(), **arrays(), epochs=EPOCHS, verbose=0, callbacks=[monitor, watching]
    )
    events = [each.event for each in monitor.records]
    return {
        "records": [(e.action, e.ok, e.mode, e.part_of, e.epoch) for e in events],
        "operations": operations,
        "printed": [str(each) for each in monitor.records],
        "state": _digest(model),
    }


def hidden() -> dict[str, list[str]]:
    """Messages when a private name is missing: by `kmonitor_agent.fit`, by saving."""
    _seed()
    backend, found = keras2_backend("tf_keras"), dict[str, list[str]]()
    for name in ("_SESSION", "_GRAPH_LEARNING_PHASES", "PER_GRAPH_OBJECT_NAME_UIDS", "get_value"):
        model, store = dense(), CheckpointStore(Path(tempfile.mkdtemp()))
        kept = getattr(backend, name)
        model.fit(**arrays(), epochs=1, verbose=0)
        delattr(backend, name)
        try:
            forget_frameworks()
            saved = save(framework_for(model), model, store, tag=CheckpointTag("run", 1, 0))
            refused = _refusal(lambda given=model: kmonitor_agent.fit(given, **arrays()))
        finally:
            setattr(backend, name, kept)
            forget_frameworks()
        found[name] = [refused, saved.why]
    model = dense()
    owner = next(cls for cls in type(model).__mro__ if "_make_train_function" in vars(cls))
    make = owner._make_train_function
    del owner._make_train_function
    try:
        found["_make_train_function"] = [
            _refusal(lambda: kmonitor_agent.fit(model, **arrays())),
            "",
        ]
    finally:
        owner._make_train_function = make
    return found


def settings() -> dict[str, Any]:
    """Settings of a script for its session stay over a reload."""
    _seed()
    keras2_backend("tf_keras").set_session(
        v1.Session(config=v1.ConfigProto(inter_op_parallelism_threads=3))
    )
    found = _train(dense, arrays, list, (1, 2), clear=False)
    session = keras2_backend("tf_keras").get_session()
    return {
        "threads": session._config.inter_op_parallelism_threads,
        "is of the graph": session.graph is v1.get_default_graph(),
        "seed": v1.get_default_graph().seed,
        "next name": tf_keras.layers.Dense(1).name,
        "names": found["layers"],
        "operations": found["operations"],
    }


def refusals() -> dict[str, str]:
    """Refusals at the call, in words."""
    _seed()

    class Subclass(tf_keras.Model):
        """No configuration."""

        def call(self, inputs: Any) -> Any:
            return inputs

    data, model = arrays(), dense()
    pipeline = tf.data.Dataset.from_tensor_slices((data["x"], data["y"])).batch(8)
    own = Subclass()
    own.compile("sgd", "mse")
    raw = dense(optimizer=v1.train.AdamOptimizer())
    with v1.Session().as_default():
        inside = _refusal(lambda: kmonitor_agent.fit(model, **data))
    with tf.Graph().as_default():
        other = dense()
        graph = _refusal(lambda: kmonitor_agent.fit(other, **data))
    return {
        "tf.data": _refusal(lambda: kmonitor_agent.fit(model, pipeline)),
        "tensor": _refusal(lambda: kmonitor_agent.fit(model, x=tf.constant(data["x"]))),
        "subclass": _refusal(lambda: kmonitor_agent.fit(own, data["x"], data["y"])),
        "v1 optimizer": _refusal(lambda: kmonitor_agent.fit(raw, **data)),
        "session": inside,
        "graph": graph,
        "rebuild differs": _refusal(lambda: kmonitor_agent.fit(model, **data, rebuild=stateful)),
        "rebuild no function": _refusal(
            lambda: kmonitor_agent.fit(model, **data, rebuild=model)  # pyright: ignore[reportArgumentType]
        ),
        "still trains": str(model.fit(**data, epochs=1, verbose=0).epoch),
    }


def _train(
    make: Callable[[], Any],
    data: Callable[[], Any],
    callbacks: Callable[[], Any],
    reload_at: tuple[int, ...] | None,
    *,
    clear: bool = True,
    **named: Any,
) -> dict[str, Any]:
    if clear:
        K.clear_session()
        _seed()
    model, used, calls = make(), callbacks(), {"begin": 0, "end": 0}
    monitor = MonitorCallback("v1", hub="off")
    counting = tf_keras.callbacks.LambdaCallback(
        on_train_begin=lambda _: _count(calls, "begin"),
        on_train_end=lambda _: _count(calls, "end"),
        on_epoch_begin=lambda epoch, _: (
            monitor.request("reload") if epoch in (reload_at or ()) else None
        ),
    )
    given = {**data(), "epochs": EPOCHS, "verbose": 0}
    if reload_at is None:
        history = model.fit(**given, callbacks=used)
    else:
        model, history = kmonitor_agent.fit(
            model, **given, **named, callbacks=[monitor, *used, counting]
        )
    return {
        "history": {name: [float(v) for v in some] for name, some in history.history.items()},
        "epochs": history.epoch,
        "state": _digest(model),
        "next numbers": [random.random(), float(np.random.random())],  # noqa: S311
        "records": [
            (each.event.action, each.event.ok, each.event.mode, each.event.why)
            for each in monitor.records[-len(reload_at or ()) :]
            if reload_at
        ],
        "calls": calls,
        "same history": model.history is history,
        "layers": [layer.name for layer in model.layers],
        "operations": len(v1.get_default_graph().get_operations()),
    }


def _seed() -> None:
    random.seed(3)
    np.random.seed(3)
    v1.set_random_seed(3)


def _count(calls: dict[str, int], name: str) -> None:
    calls[name] += 1


def _ask_for_all(monitor: MonitorCallback) -> None:
    for action in ("save", "collect", "reload"):
        monitor.request(action)


def _digest(model: Any) -> list[str]:
    # Old hyperparameters and slots too; the order is that of the model.
    steps = framework_for(model).reclaim_steps()
    assert steps is not None
    return [
        hashlib.sha256(steps.read(each.variable).tobytes()).hexdigest()
        for each in steps.state(model)
        if not each.path.startswith("metrics/")
    ]


def _refusal(act: Callable[[], Any]) -> str:
    try:
        act()
    except (TypeError, ValueError) as exc:
        return f"{type(exc).__name__}: {exc}"
    return "not refused"


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    print(json.dumps(globals()[sys.argv[1]]()))  # noqa: T201 - what the test reads
