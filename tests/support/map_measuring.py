"""A model's peak as TensorFlow's own allocator counts it, in a separate process."""

import json
import sys
from typing import Any

import msgspec

STEPS = 6


def measured(name: str, batch: int, optimizer: str) -> dict[str, Any]:
    """Bytes before the first step, the highest of each step and what stays, the model's layout.

    Args:
        name: Name of a model of `map_models`.
        batch: Examples a step.
        optimizer: Keras' name of it.
    """
    import numpy as np  # noqa: PLC0415 - only in the child
    import tensorflow as tf  # noqa: PLC0415

    from kmonitor_agent.frameworks.layout_reader import read_layout  # noqa: PLC0415
    from tests.support.all_models import compiled  # noqa: PLC0415

    model = compiled(name, optimizer)
    model.optimizer.build(model.trainable_variables)
    data = tf.data.Dataset.from_tensors(_examples(np, model, batch)).repeat()
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


def _examples(np: Any, model: Any, batch: int) -> Any:
    import keras  # noqa: PLC0415

    rng = np.random.default_rng(0)
    shapes = [each.shape for each in getattr(model, "inputs", None) or ()]
    build = model.get_build_config() or {}
    shapes = shapes or list(build.get("shapes_dict", build).values())
    kinds = [each.dtype for each in getattr(model, "inputs", None) or ()] or ["float32"]
    x = [_values(rng, (batch, *each[1:]), kind)
         for each, kind in zip(shapes, kinds, strict=True)]  # fmt: skip
    symbolic = [keras.KerasTensor((batch, *each[1:]), kind)
                for each, kind in zip(shapes, kinds, strict=True)]  # fmt: skip
    told = keras.tree.flatten(model.compute_output_spec(symbolic if symbolic[1:] else symbolic[0]))
    losses = model.loss if isinstance(model.loss, list) else [model.loss] * len(told)
    y = [_target(np, rng, tuple(each.shape), loss)
         for each, loss in zip(told, losses, strict=True)]  # fmt: skip
    return (x[0] if len(x) == 1 else tuple(x)), (y[0] if len(y) == 1 else tuple(y))


def _target(np: Any, rng: Any, shape: tuple[int, ...], loss: Any) -> Any:
    name = loss if isinstance(loss, str) else str(getattr(loss, "name", ""))
    if name.startswith("sparse"):
        return rng.integers(0, 2, shape[:-1]).astype("int32")
    return np.asarray(rng.integers(0, 2, shape), "float32")


def _values(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    if "int" in dtype:
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.random(shape, dtype="float32")


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]), sys.argv[3])))  # noqa: T201
