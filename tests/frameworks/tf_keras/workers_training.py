"""One of two workers that train a tf_keras model together. A separate process."""

import hashlib
import importlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.support.recorders import faults_of

EPOCHS = 6

UNWATCHED = {"plain": (0, 1), "chief only": (1,), "other only": (0,)}
"""Workers without our callback, by way."""


def main(index: int, ports: list[str], folder: Path, way: str) -> None:
    """Fit under the strategy and print the outcome.

    Args:
        index: This worker's place.
        ports: Ports of all workers.
        folder: For checkpoints.
        way: "plain", or the requester of a reload and its way; see `_ask`.
    """
    addresses = [f"127.0.0.1:{port}" for port in ports]
    os.environ["TF_CONFIG"] = json.dumps(
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    )
    warnings.simplefilter("ignore")
    import tensorflow as tf  # noqa: PLC0415 - reads the cluster from the environment

    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    tf_keras: Any = importlib.import_module("tf_keras")

    from kmonitor_agent import Limit, MonitorCallback  # noqa: PLC0415
    from kmonitor_agent.recording import worker_agreement  # noqa: PLC0415

    if way in UNWATCHED:
        worker_agreement.__dict__["COMES_WITHIN_S"] = 2.0
    tf_keras.utils.set_random_seed(7)
    with strategy.scope():
        model = _model(tf_keras)
    limits = [Limit("graph", 1, action="auto")] if way == "limit" and index == 1 else []
    watched = index not in UNWATCHED.get(way, ())
    monitor = MonitorCallback("workers", hub="off", checkpoint_dir=folder, limits=limits)
    asking = tf_keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, _: _ask(monitor, way, index, epoch),
        on_train_batch_begin=lambda batch, _: _ask_amid(monitor, way, index, batch),
    )
    if way == "full disk" and index == 0:
        _fill()
    history = model.fit(
        _data(tf),
        validation_data=_data(tf),
        epochs=EPOCHS,
        verbose=0,
        callbacks=[monitor, asking] if watched else [tf_keras.callbacks.LambdaCallback()],
    )
    events = [each.event for each in monitor.records]
    told = {
        "history": history.history,
        "state": _digest(model),
        "records": [(e.action, e.ok, e.epoch, e.requested_by, e.why) for e in events],
        "released": [e.released_traces for e in events],
        "files": sorted(path.name for path in folder.glob("*.h5")),
        "faults": faults_of(monitor),
    }
    print(json.dumps(told))  # noqa: T201 - how the test hears of it


def _ask(monitor: Any, way: str, index: int, epoch: int) -> None:
    asks = {
        "chief": (0, 2),
        "other": (1, 2),
        "chief only": (0, 2),
        "other only": (1, 2),
        "full disk": (1, 2),
        "late": (1, 5),
    }
    if (index, epoch) == asks.get(way) or (way == "both" and epoch == 2):
        monitor.request("reload")
    if way in UNWATCHED and epoch == 3:
        monitor.request("save", export=True)
        for action in ("collect", "diagnose", "reload"):
            monitor.request(action)


def _ask_amid(monitor: Any, way: str, index: int, batch: int) -> None:
    if way == "batch" and index == 1 and batch == 1 and not monitor.records:
        monitor.request("reload", at="batch")


def _fill() -> None:
    from kmonitor_agent.reclaim import checkpoints  # noqa: PLC0415 - not before the strategy

    checkpoints.__dict__["_free_bytes"] = lambda _: 0


def _model(tf_keras: Any) -> Any:
    layers = tf_keras.layers
    model = tf_keras.Sequential(
        [
            tf_keras.Input((8,)),
            layers.Dense(8, activation="silu"),
            layers.BatchNormalization(),  # its variables are summed up when they are read
            layers.Dense(1),
        ]
    )
    model.compile(tf_keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return model


def _data(tf: Any) -> Any:
    import numpy as np  # noqa: PLC0415

    x = np.random.default_rng(5).normal(size=(48, 8)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).batch(8)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return data.with_options(options)


def _digest(model: Any) -> list[str]:
    from kmonitor_agent.frameworks.detection import framework_for  # noqa: PLC0415

    steps = framework_for(model).reclaim_steps()
    assert steps is not None
    return [
        hashlib.sha256(steps.read(each.variable).tobytes()).hexdigest()
        for each in steps.state(model)
    ]


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2].split(","), Path(sys.argv[3]), sys.argv[4])
