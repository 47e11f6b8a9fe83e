# pyright: reportArgumentType=false
"""Cost of a collect, and proof that a loop with it does not grow. Run: python bench_collect.py."""

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

RUNS = 3
DEAD_MODELS = 20
LOOP_MODELS = 50
SETTLED = 3
"""Models after which a loop must be flat."""

MIB = 2**20


def main() -> None:
    """Print medians of fresh processes beside their targets."""
    once = [_child("once") for _ in range(RUNS)]
    median = {key: statistics.median(run[key] for run in once) for key in once[0]}
    loop, plain = _child("loop"), _child("plain")
    rows = [
        (f"collect at {DEAD_MODELS} dead models", f"{median['seconds'] * 1e3:.0f} ms", ""),
        ("... of it garbage collection", f"{median['gc_seconds'] * 1e3:.0f} ms", ""),
        ("... beyond the garbage collection", f"{median['own_seconds'] * 1e3:.0f} ms", "<= 50 ms"),
        ("models released", f"{median['models']:.0f}", f"{DEAD_MODELS}"),
        (
            f"functions after {LOOP_MODELS} models, less after {SETTLED}",
            f"{loop['functions']:.0f} (without collect {plain['functions']:.0f})",
            "0",
        ),
        (
            "gradient registry, likewise",
            f"{loop['registry']:.0f} (without collect {plain['registry']:.0f})",
            "0",
        ),
        (
            "RSS a model",
            f"{loop['rss_mib']:.2f} MiB (without collect {plain['rss_mib']:.2f} MiB)",
            "<= 1 MiB",
        ),
    ]
    print("| collect | measured | target |\n|---|---|---|")
    for name, measured, target in rows:
        print(f"| {name} | {measured} | {target} |")


def _child(part: str) -> dict[str, float]:
    environ = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    ended = subprocess.run(
        [sys.executable, __file__, part], env=environ, capture_output=True, text=True, check=True
    )
    return json.loads(ended.stdout.splitlines()[-1])


class _GarbageTime:
    """Adds up how long the garbage collector runs."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0
        gc.callbacks.append(self._told)

    def _told(self, phase: str, info: dict[str, int]) -> None:
        del info
        if phase == "start":
            self._began = time.perf_counter()
        else:
            self.seconds += time.perf_counter() - self._began


def _fit() -> None:
    import keras  # noqa: PLC0415 - only in the child
    import numpy as np  # noqa: PLC0415

    layers: list[Any] = [keras.layers.Dense(256, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((32,)), *layers, keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    x = np.ones((64, 32), "float32")
    model.fit(x, x[:, :1], verbose=0)


def _once() -> dict[str, float]:
    from kmonitor_agent import collect  # noqa: PLC0415

    _fit()
    collect()  # what is loaded on first use is not the question
    for _ in range(DEAD_MODELS):
        _fit()
    garbage = _GarbageTime()
    began = time.perf_counter()
    done = collect()
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "gc_seconds": garbage.seconds,
        "own_seconds": seconds - garbage.seconds,
        "models": float(done.released_models),
    }


def _loop(*, collecting: bool) -> dict[str, float]:
    import psutil  # noqa: PLC0415 - only in the child
    from tensorflow.python.eager.polymorphic_function import (  # noqa: PLC0415
        atomic_function,  # pyright: ignore[reportMissingImports]
    )
    from tensorflow.python.framework import (  # noqa: PLC0415
        ops,  # pyright: ignore[reportMissingImports]
    )

    from kmonitor_agent import collect  # noqa: PLC0415

    marks: list[tuple[int, int, int]] = []
    for _ in range(LOOP_MODELS):
        _fit()
        if collecting:
            collect()
        else:
            gc.collect()
        functions = len(atomic_function.RUNTIME_FUNCTION_REFS)
        registry = sum(1 for name in ops.gradient_registry._registry if "CustomG" in name)
        marks.append((functions, registry, psutil.Process().memory_info().rss))
    settled, last = marks[SETTLED - 1], marks[-1]
    return {
        "functions": float(last[0] - settled[0]),
        "registry": float(last[1] - settled[1]),
        "rss_mib": (last[2] - settled[2]) / MIB / (LOOP_MODELS - SETTLED),
    }


def _part(name: str) -> dict[str, float]:
    return _once() if name == "once" else _loop(collecting=name == "loop")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_part(sys.argv[1])))
    else:
        main()
