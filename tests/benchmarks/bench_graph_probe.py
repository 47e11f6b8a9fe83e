# pyright: reportArgumentType=false
"""Cost of the per-epoch graph probe on a ResNet50. Run: python bench_graph_probe.py."""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

CALLS = 200


def main() -> None:
    """Print medians beside their targets."""
    import keras  # noqa: PLC0415 - after the environment was set
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    from kmonitor_agent.frameworks.detection import framework_for  # noqa: PLC0415

    model = keras.applications.ResNet50(weights=None, input_shape=(32, 32, 3), classes=10)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    x, y = np.ones((4, 32, 32, 3), "float32"), np.zeros(4, "int32")
    framework = framework_for(model)
    fit_s = _seconds(lambda: model.fit(x, y, verbose=0, batch_size=4))
    first_s = _seconds(lambda: framework.graph(model))
    count = framework.graph(model)
    unchanged_s = statistics.median(_seconds(lambda: framework.graph(model)) for _ in range(CALLS))
    allocator_s = statistics.median(_seconds(framework.allocator) for _ in range(CALLS))

    @tf.function
    def small(value: Any, factor: int) -> Any:
        return value * factor

    traced: list[float] = []
    for factor in range(20):
        small(tf.constant(1.0), factor)
        traced.append(_seconds(lambda: framework.graph(model)))
    rows = [
        ("operations, functions", f"{count.operations}, {count.functions}", ""),
        ("probe when nothing was traced", f"{1e3 * unchanged_s:.4f} ms", "<= 1 ms"),
        ("probe after the train step's traces", f"{1e3 * first_s:.0f} ms", ""),
        ("... for a first fit of", f"{fit_s:.1f} s", ""),
        ("probe after one small trace", f"{1e3 * statistics.median(traced):.2f} ms", ""),
        ("allocator", f"{1e6 * allocator_s:.1f} us", ""),
    ]
    print("| graph probe, ResNet50 | measured | target |\n|---|---|---|")
    for name, measured, target in rows:
        print(f"| {name} | {measured} | {target} |")


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
