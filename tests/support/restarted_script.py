# pyright: basic, reportImplicitOverride=false, reportAttributeAccessIssue=false
"""Common code of scripts that are restarted in tests: their fits, and their exact results.

It uses only the Keras that the script itself imported: Keras 3 on any backend, or tf_keras.
"""

import hashlib
import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kmonitor_agent import MonitorCallback
from tests.support.recorders import faults_of

FITS = 3
EPOCHS = 4
SAMPLES = 48
BATCH = 8


def keras_here() -> Any:
    """The Keras that the script imported."""
    return sys.modules.get("tf_keras") or sys.modules["keras"]


class Script:
    """One process of the script; all are the same but for where they resume."""

    def __init__(self, result: Path, points: tuple[str, ...]) -> None:
        self.told: list[dict[str, Any]] = []
        self._result = result
        self._points = points
        self._monitor = MonitorCallback("script", sample_interval_s=3600.0)
        self._fit = 0

    def fit(self, model: Any, *callbacks: Any, **arguments: Any) -> Any:
        """One fit, with our callback before the script's own; its result is reported."""
        self._fit += 1
        ask = _asking(self._monitor, self._epochs(""), self._epochs("!"), self._result)
        arguments.setdefault("epochs", EPOCHS)
        own = [ask, self._monitor, *callbacks]
        history = model.fit(verbose=0, callbacks=own, **arguments)
        self.told.append(
            {
                "history": exact(history.history),
                "epochs": list(history.epoch),
                "state": digest_of(model),
                "callbacks": [exact(plain_of(each)) for each in callbacks],
                "random": draws(),
                "stopped": bool(model.stop_training),
            }
        )
        return history

    def _epochs(self, mark: str) -> set[int]:
        """Epochs of the running fit that are named with this mark before them."""
        head = f"{mark}{self._fit}:"
        return {int(point.removeprefix(head)) for point in self._points if point.startswith(head)}

    def tell(self, **facts: Any) -> None:
        """Something that the script saw besides."""
        self.told.append(exact(facts))

    @property
    def faults(self) -> dict[str, int]:
        """Faults of our own."""
        return faults_of(self._monitor)


def _asking(monitor: Any, restarts: set[int], kills: set[int], result: Path) -> Any:
    was_killed = result.with_suffix(".killed")

    class Ask(keras_here().callbacks.Callback):
        """Requests restarts, and is killed once."""

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            if epoch in restarts:
                monitor.request("restart")
            if epoch in kills and not was_killed.exists():
                was_killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    return Ask()


def digest_of(model: Any) -> str:
    """Digest of all variables, optimizer slots and seeds; metrics start over with each epoch."""
    from kmonitor_agent.frameworks.detection import framework_for  # noqa: PLC0415

    steps = framework_for(model).reclaim_steps()
    assert steps is not None
    total = hashlib.sha256()
    for each in steps.state(model):
        if each.path.startswith("metrics/"):
            continue
        # Their names may differ: a model that is built before its first step is called otherwise.
        group = each.path.partition("/")[0].encode()
        total.update(group + np.ascontiguousarray(steps.read(each.variable)).tobytes())
    return total.hexdigest()


def draws() -> list[str]:
    """One draw of every generator that is here."""
    drawn = [random.random(), np.random.rand()]  # noqa: S311 - what is drawn is compared
    tf, torch = sys.modules.get("tensorflow"), sys.modules.get("torch")
    if tf is not None:
        drawn.append(float(tf.random.uniform([])))
    if torch is not None:
        drawn.append(float(torch.rand(())))
    if hasattr(keras_here(), "random"):
        drawn.append(float(keras_here().random.uniform([])))
    return [float(each).hex() for each in drawn]


def plain_of(callback: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(callback).items()
        if isinstance(value, int | float | str | list | dict)
        and not name.startswith("_")
        and name not in {"params", "validation_data"}
    }


def exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): exact(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [exact(each) for each in value]
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    if isinstance(value, bool | str) or value is None:
        return value
    return float(value).hex()


def arrays(n: int = SAMPLES) -> tuple[Any, Any]:
    """Inputs and targets, the same each time."""
    generator = np.random.default_rng(3)
    x = generator.normal(size=(n, 6)).astype("float32")
    return x, x.sum(1, keepdims=True) + 0.3 * generator.normal(size=(n, 1)).astype("float32")


def batches(x: Any, y: Any) -> Iterator[Any]:
    """Batches for ever."""
    while True:
        for start in range(0, len(x), BATCH):
            yield x[start : start + BATCH], y[start : start + BATCH]


def run_script(
    scenarios: Mapping[str, Callable[[Script], None]], seed_all: Callable[[int], None]
) -> None:
    """Run what the command line names: SCENARIO RESULT.json [FIT:EPOCH ...], and report it.

    A point that begins with "!" is where the script is killed instead, once.
    """
    scenario, result, *points = sys.argv[1:]
    seed_all(11)
    script = Script(Path(result), tuple(points))
    for name in scenarios if scenario == "all" else [scenario]:
        scenarios[name](script)
    Path(result).write_text(json.dumps({"told": script.told, "faults": script.faults}))
