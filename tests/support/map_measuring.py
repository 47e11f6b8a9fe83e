"""A model's peak as TensorFlow's own allocator counts it, in a process of its own."""

import json
import sys
from typing import Any

import msgspec

STEPS = 6


def measured(name: str, batch: int, optimizer: str) -> dict[str, Any]:
    """Bytes before the first step, the highest of each step and what stays, the model's layout.

    Args:
        name: Of a model of `map_models`.
        batch: Examples a step.
        optimizer: Keras' name of it.
    """
    import numpy as np  # noqa: PLC0415 - only in the child
    import tensorflow as tf  # noqa: PLC0415

    from kmonitor_agent.frameworks.keras_layout import read_layout  # noqa: PLC0415
    from tests.support.map_models import AWKWARD, KNOWN, UNSEEN  # noqa: PLC0415

    model = {**KNOWN, **AWKWARD, **UNSEEN}[name]()
    loss = "sparse_categorical_crossentropy"
    if model.outputs[0].shape[-1] == 1:
        loss = "binary_crossentropy"
    model.compile(optimizer, loss, jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    rng = np.random.default_rng(0)
    x = [_values(rng, (batch, *each.shape[1:]), each.dtype) for each in model.inputs]
    shape = model.outputs[0].shape[1:]
    y = rng.integers(0, 2, (batch, *(shape if loss.startswith("b") else shape[:-1])))
    y = y.astype("float32") if loss.startswith("b") else y.astype("int32")
    x = x[0] if len(x) == 1 else x
    data = tf.data.Dataset.from_tensors((x if not isinstance(x, list) else tuple(x), y)).repeat()
    base = tf.config.experimental.get_memory_info("CPU:0")["current"]
    peaks, between = [], []

    def step_ended(*_: Any, **__: Any) -> None:
        info = tf.config.experimental.get_memory_info("CPU:0")
        peaks.append(info["peak"])
        between.append(info["current"])
        tf.config.experimental.reset_memory_stats("CPU:0")

    import keras  # noqa: PLC0415

    model.fit(
        data,
        steps_per_epoch=STEPS,
        epochs=1,
        verbose=0,
        callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=step_ended)],
    )
    layout = msgspec.to_builtins(read_layout(model))
    return {
        "base_bytes": base,
        "peaks_bytes": peaks,
        "between_bytes": between,
        "layout": layout,
    }


def _values(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    if "int" in dtype:
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.random(shape, dtype="float32")


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]), sys.argv[3])))  # noqa: T201
