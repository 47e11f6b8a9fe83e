# pyright: reportImplicitOverride=false, reportArgumentType=false
"""Cost of a reload: time and extra memory; nothing grows. Run: python bench_reload.py."""

import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kmonitor_agent.wire.messages.commands import ReloadMode

RUNS = 3
RELOADS = 3
MODELS = 10
STEPS = 4
"""In an epoch; the first pays for the retrace."""
BLOCK_BYTES = 4 * 1024 * 1024
TOUCHED_BYTES = 1024 * 1024 * 1024
KEPT = 2
"""Plain files that stay, as checkpoints do."""
MODES = ("assign", "recreate")
MB = 1e6


def main() -> None:
    """Print medians of fresh processes beside their targets."""
    print("| reload | measured | target |\n|---|---|---|")
    for mode in MODES:
        runs = [_child(mode) for _ in range(RUNS)]
        _print(_rows(mode, {key: statistics.median(run[key] for run in runs) for key in runs[0]}))
    loop = _child("loop")
    _print(
        [
            (
                f"functions after {MODELS} models, less after one",
                f"{loop['functions_grown']:.0f}",
                "0",
            ),
            (f"RSS after {MODELS} models, less after one", f"{loop['rss_grown_mb']:.1f} MB", ""),
            ("collect", f"{loop['seconds']:.2f} s", ""),
        ]
    )


def _rows(mode: str, median: dict[str, float]) -> list[tuple[str, str, str]]:
    limit_mb = 1.1 * median["largest_mb"] + 20
    limit_s = 1.5 * median["disk_seconds"] + median["gc_seconds"] + median["retrace_seconds"]
    with_retrace_s = median["seconds"] + median["retrace_seconds"]
    least_s = limit_s - median["gc_seconds"] + median["own_gc_seconds"]
    return [
        (f"mode {mode}: state", f"{median['state_mb']:.0f} MB", "170 MB"),
        ("... write and read as many bytes", f"{median['disk_seconds']:.2f} s", ""),
        ("... two garbage collections", f"{median['gc_seconds']:.2f} s", ""),
        ("... retrace, as after any new train function", f"{median['retrace_seconds']:.2f} s", ""),
        ("reload with its retrace", f"{with_retrace_s:.2f} s", f"<= {limit_s:.2f} s"),
        (
            f"... with only its own {median['own_gcs']:.0f} collections in the target",
            f"{with_retrace_s:.2f} s",
            f"<= {least_s:.2f} s",
        ),
        ("... of it save and verify", f"{median['save_seconds']:.2f} s", ""),
        ("largest variable", f"{median['largest_mb']:.1f} MB", ""),
        ("extra peak RSS", f"{median['peak_mb']:.1f} MB", f"<= {limit_mb:.1f} MB"),
        ("TF in use, third over first reload", f"{median['in_use_ratio']:.4f}", "0.95 to 1.05"),
        ("functions, third less second retrace", f"{median['functions_grown']:.0f}", "0"),
        ("functions after third less first reload", f"{median['functions_left']:.0f}", "0"),
    ]


def _print(rows: list[tuple[str, str, str]]) -> None:
    for name, measured, target in rows:
        print(f"| {name} | {measured} | {target} |")


def _child(part: str) -> dict[str, float]:
    environ = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    ended = subprocess.run(
        [sys.executable, __file__, part], env=environ, capture_output=True, text=True, check=True
    )
    return json.loads(ended.stdout.splitlines()[-1])


def _reload(mode: "ReloadMode") -> dict[str, float]:
    import keras  # noqa: PLC0415 - only in the child
    import numpy as np  # noqa: PLC0415

    from kmonitor_agent.frameworks.detection import framework_for  # noqa: PLC0415
    from kmonitor_agent.reclaim.actions import reload, save  # noqa: PLC0415
    from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag  # noqa: PLC0415
    from kmonitor_agent.reclaim.checkpoints import CheckpointStore  # noqa: PLC0415

    dense = [keras.layers.Dense(2048, activation="relu") for _ in range(4)]
    model = keras.Sequential([keras.Input((784,)), *dense, keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    framework = framework_for(model)
    found: list[dict[str, float]] = []
    steps_s: list[float] = []
    disk_s: list[float] = []
    gc_s: list[float] = []

    class Measure(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.began_s = time.perf_counter()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            steps_s.append(time.perf_counter() - self.began_s)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            disk_s.append(
                _disk_seconds(Path(folder) / f"plain{epoch}", _state_bytes(framework, model))
            )
            (Path(folder) / f"plain{epoch - KEPT}").unlink(missing_ok=True)
            found.append(
                _measured(framework, lambda: reload(framework, model, store, tag=tag, mode=mode))
            )
            assert found[-1]["recreated"] == (mode == "recreate")
            gc_s.append(_gc_seconds())

    tag = CheckpointTag("bench", 1, 0)
    with tempfile.TemporaryDirectory() as folder:
        _touch_page_cache(Path(folder) / "touched")
        store = CheckpointStore(Path(folder))
        x = np.ones((STEPS * 16, 784), "float32")
        model.fit(x, x[:, :1], batch_size=16, epochs=RELOADS + 1, verbose=0, callbacks=[Measure()])
        saved = save(framework, model, store, tag=tag)
    found = found[:RELOADS]
    return {
        "state_mb": saved.state_bytes / MB,
        "largest_mb": max(v.numpy().nbytes for v in model.variables) / MB,
        "seconds": statistics.median(one["seconds"] for one in found),
        "save_seconds": saved.seconds,
        "disk_seconds": statistics.median(disk_s[:RELOADS]),
        "gc_seconds": statistics.median(gc_s[:RELOADS]),
        "own_gcs": statistics.median(one["gcs"] for one in found),
        "own_gc_seconds": statistics.median(one["gc_seconds"] for one in found),
        "retrace_seconds": statistics.median(steps_s[STEPS::STEPS][:RELOADS])
        - statistics.median(steps_s),
        "peak_mb": max(one["peak_mb"] for one in found),
        "in_use_ratio": found[-1]["in_use"] / found[0]["in_use"],
        # The first fit of a model traces its step twice, so the first count is a higher one.
        "functions_grown": found[-1]["functions"] - found[1]["functions"],
        "functions_left": found[-1]["functions_after"] - found[0]["functions_after"],
    }


def _state_bytes(framework: Any, model: Any) -> int:
    return sum(each.n_bytes for each in framework.reclaim_steps().state(model))


def _disk_seconds(path: Path, n_bytes: int) -> float:
    """To write and flush that many bytes to a new file, as a checkpoint is, and to read them."""
    block = os.urandom(BLOCK_BYTES)
    began_s = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(n_bytes // BLOCK_BYTES):
            file.write(block)
        os.fsync(file.fileno())
    with path.open("rb", buffering=0) as file:
        while file.read(BLOCK_BYTES):
            pass
    return time.perf_counter() - began_s


def _touch_page_cache(path: Path) -> None:
    """Have memory for files that a virtual machine has used before: the first time is slow.

    Else that is most of what writing takes, for the plain file as for a checkpoint.
    """
    with path.open("wb", buffering=0) as file:
        for _ in range(TOUCHED_BYTES // BLOCK_BYTES):
            file.write(bytes(BLOCK_BYTES))
    path.unlink()


def _gc_seconds() -> float:
    began_s = time.perf_counter()
    gc.collect()
    gc.collect()
    return time.perf_counter() - began_s


def _measured(framework: Any, act: Any) -> dict[str, float]:
    functions = framework.function_count().value  # with the retrace of the reload before
    Path("/proc/self/clear_refs").write_text("5")  # the highest resident set starts again
    before = _status("VmRSS")
    with _timed_collections() as collections_s:
        outcome = act()
    assert outcome.ok, outcome.why
    return {
        "gcs": len(collections_s),
        "gc_seconds": sum(collections_s),
        "seconds": outcome.seconds,
        "recreated": float(outcome.mode == "recreate"),
        "peak_mb": (_status("VmHWM") - before) / MB,
        "in_use": outcome.after.allocator_in_use_bytes,
        "functions": functions,
        "functions_after": outcome.after.functions,
    }


@contextlib.contextmanager
def _timed_collections() -> Generator[list[float]]:
    """Seconds of each collection of all objects in the block, what it frees included."""
    seconds: list[float] = []
    began_s = 0.0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal began_s
        if phase == "start":
            began_s = time.perf_counter()
        elif info["generation"] == len(gc.get_threshold()) - 1:
            seconds.append(time.perf_counter() - began_s)

    gc.callbacks.append(note)
    try:
        yield seconds
    finally:
        gc.callbacks.remove(note)


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return float(line.split()[1]) * 1024
    raise LookupError(name)


def _loop() -> dict[str, float]:
    import keras  # noqa: PLC0415 - only in the child
    import numpy as np  # noqa: PLC0415

    from kmonitor_agent.frameworks.detection import framework_for  # noqa: PLC0415
    from kmonitor_agent.reclaim.actions import collect  # noqa: PLC0415

    x = np.ones((64, 256), "float32")
    functions: list[float] = []
    resident: list[float] = []
    seconds: list[float] = []
    for _ in range(MODELS):
        dense = [keras.layers.Dense(256, activation="silu") for _ in range(2)]
        model = keras.Sequential([keras.Input((256,)), *dense, keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(x, x[:, :1], verbose=0)
        framework = framework_for(model)
        del model, dense
        outcome = collect(framework, None)
        assert outcome.ok, outcome.why
        functions.append(framework.function_count().value or 0.0)
        resident.append(_status("VmRSS"))
        seconds.append(outcome.seconds)
    return {
        "functions_grown": functions[-1] - functions[0],
        "rss_grown_mb": (resident[-1] - resident[0]) / MB,
        "seconds": statistics.median(seconds),
    }


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["assign" | "recreate" as mode]:
            print(json.dumps(_reload(mode)))
        case ["loop"]:
            print(json.dumps(_loop()))
        case _:
            main()
