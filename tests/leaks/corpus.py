"""Shared by the scripts of the corpus; part of no report.

Environment variables of a script:
    UNITS: Number of models, fits, epochs or rounds to run.
    FIXED: "1" runs the remedy in place of the reported script.
    LEAKS_TRACE: File for one line of JSON a unit: counters read outside of kmonitor.
    LEAKS_MONITOR: Run name of the `MonitorCallback` that each fit gets; unset: none.
"""

import ctypes
import gc
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from tests.leaks.report import Report

FIXED: Final = os.environ.get("FIXED") == "1"

EXIT_SKIPPED: Final = 77
"""Status of a script that cannot run here, as automake's."""

_TRACE: Final = os.environ.get("LEAKS_TRACE")
_START_S: Final = time.monotonic()
_STATUS: Final = {"RssAnon": "anonymous", "RssFile": "file", "RssShmem": "shared"}


class _Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def units(report: Report) -> int:
    """Number of units to run."""
    return int(os.environ.get("UNITS", report.units))


def require(module: str) -> Any:
    """Import what this environment may lack; ends the script as skipped."""
    try:
        return importlib.import_module(module)
    except ImportError:
        sys.stderr.write(f"skipped: {module} is not installed\n")
        sys.exit(EXIT_SKIPPED)


def keras_on(backend: str) -> Any:
    """Keras on a backend that this environment may lack."""
    require(backend)
    os.environ["KERAS_BACKEND"] = backend
    return importlib.import_module("keras")


def watch(*, each_epoch: bool = False, each_steps: int = 0, callbacks: Any = None) -> list[Any]:
    """Callbacks of the bench, for each fit; none in a plain run.

    Args:
        each_epoch: Each epoch is a unit.
        each_steps: This many steps are a unit.
        callbacks: Module with `LambdaCallback`; None: that of Keras.
    """
    added: list[Any] = []
    if name := os.environ.get("LEAKS_MONITOR"):
        from kmonitor_agent import MonitorCallback  # noqa: PLC0415 - a plain run has none of it

        added.append(MonitorCallback(name))
    if _TRACE and (each_epoch or each_steps):
        made = callbacks or importlib.import_module("keras").callbacks
        added.append(made.LambdaCallback(**_counting_hooks(each_steps)))
    return added


def _counting_hooks(each_steps: int) -> dict[str, Any]:
    if not each_steps:
        return {"on_epoch_end": lambda epoch, logs: unit(epoch)}
    steps = iter(range(1, sys.maxsize))

    def on_train_batch_end(batch: int, logs: Any) -> None:
        step = next(steps)
        if step % each_steps == 0:
            unit(step // each_steps - 1)

    return {"on_train_batch_end": on_train_batch_end}


def unit(index: int) -> None:
    """A unit has ended."""
    if not _TRACE:
        return
    counted = {"unit": index, "t_s": round(time.monotonic() - _START_S, 2), **_counters()}
    with Path(_TRACE).open("a", encoding="ascii") as out:
        out.write(json.dumps(counted) + "\n")


def _counters() -> dict[str, int]:
    found = {"blocks": sys.getallocatedblocks()}
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        key, _, value = line.partition(":")
        if key in _STATUS:
            found[_STATUS[key]] = int(value.split()[0]) * 1024
    try:
        mallinfo = ctypes.CDLL("libc.so.6").mallinfo2
    except (OSError, AttributeError):
        return found
    mallinfo.restype = _Mallinfo
    heap = mallinfo()
    found |= {"malloc": heap.uordblks + heap.hblkhd, "malloc_free": heap.fordblks}
    return found | {"children": _children_bytes(), **_counted()}


WRITES: list[Path] = []
"""Folders whose files a script counts as written."""


def _counted() -> dict[str, int]:
    """Counts of resources beside memory that run out."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    states = (Path(f"/proc/{pid}/stat").read_text(errors="replace") for pid in children)
    shared = os.statvfs("/dev/shm")  # noqa: S108 - where shared memory is
    return {
        "open_files": len(list(Path("/proc/self/fd").iterdir())) - 1,
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "zombies": sum(" Z " in state.rpartition(")")[2][:4] for state in states),
        "shared": (shared.f_blocks - shared.f_bfree) * shared.f_frsize,
        "written": sum(f.stat().st_size for each in WRITES for f in each.iterdir()),
    }


def epochs_of(report: Report, *callbacks: Any, width: int = 1) -> None:
    """Train a small model, an epoch about a second long, with callbacks before those of the bench.

    Args:
        report: Head of the script.
        *callbacks: Callbacks of the script.
        width: Units of the model's last layer.
    """
    numpy = importlib.import_module("numpy")
    x = numpy.random.rand(10_000, 20).astype("float32")
    model = dense(20, 1) if width == 1 else dense(20, width, 1)
    kept = [*callbacks, *watch(each_epoch=True)]
    model.fit(x, x[:, :1], 10, epochs=units(report), verbose=0, callbacks=kept)


def _children_bytes() -> int:
    import psutil  # noqa: PLC0415 - loaded after the framework, as by a plain script

    total = 0
    for child in psutil.Process().children(recursive=True):
        try:
            total += child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def dense(*widths: int, optimizer: str = "sgd", loss: str = "mse", **compiled: Any) -> Any:
    """A compiled model of dense layers; the first width is that of its input."""
    keras = importlib.import_module("keras")
    layers = [keras.layers.Dense(width) for width in widths[1:]]
    model = keras.Sequential([keras.layers.Input(widths[:1]), *layers])
    model.compile(optimizer=optimizer, loss=loss, **compiled)
    return model


def forget_gradients() -> None:
    """Drop custom gradients of traces from TensorFlow's registry: ends the retention of traces."""
    ops = importlib.import_module("tensorflow.python.framework.ops")
    entries = ops.gradient_registry._registry
    for name in [name for name in entries if name.startswith("CustomGradient")]:
        del entries[name]
    gc.collect()
