"""Cost of `MonitorCallback` for a training: each step, each second, and a real fit as a whole.

Everything is measured in one process and interleaved, so that ratios hold on a busy machine.
Run alone: `python tests/benchmarks/bench_hooks.py`, on JAX or PyTorch with `KERAS_BACKEND`.
"""


# pyright: reportImplicitOverride=false

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import importlib
import importlib.util
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np

from kmonitor_agent import MonitorCallback
from kmonitor_agent.probes.resources import Resources
from kmonitor_agent.recording.runs import RUNS
from kmonitor_agent.recording.sampler import ResourceReporter
from kmonitor_agent.wire.local.folders import find_folders
from tests.benchmarks.bench_agent import started_hub
from tests.benchmarks.judging import Judge, Measured

ROUNDS = 200
CALLS = 300
FIT_ROUNDS = 15
FIT_STEPS = 300
THREAD_S = 60.0
"""So long that readings once in minutes (the proportional set: 14 ms) do not count as if they were
part of each span."""
HOOK_TARGET_US = 1.0
DIRECT_TARGET_US = 0.5
EPOCH_S = 0.3
TENSORBOARD_TARGET = 50
THREAD_TARGET_PERCENT = 0.3
RESOURCES_TARGET_PERCENT = 0.05


class Empty(keras.callbacks.Callback):
    """A callback that does nothing in the two hooks of a step.

    Keras calls its ends of steps beside the training on JAX and PyTorch, as it calls ours.
    """

    async_safe = True

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        pass

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        pass


def small_model() -> Any:
    """A model whose step costs little, so that hooks show."""
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def data(steps: int) -> tuple[Any, Any]:
    """Inputs and targets of this many steps of 16 samples."""
    return np.ones((16 * steps, 8), "float32"), np.ones((16 * steps, 1), "float32")


def tensorboard(folder: Path) -> tuple[Any, str]:
    """Keras' TensorBoard callback with its defaults, and what writes its scalars.

    Without the tensorboard package TensorFlow's own writer stands in for `tf.summary.scalar`: the
    same write with less around it, so the ratio to it is on the safe side. Without TensorFlow
    nothing is compared.
    """
    if importlib.util.find_spec("tensorflow") is None:
        return None, ""
    board: Any = keras.callbacks.TensorBoard(str(folder))
    if importlib.util.find_spec("tensorboard") is not None:
        return board, "tensorboard"
    tf: Any = importlib.import_module("tensorflow")
    board._summary_module = SimpleNamespace(
        create_file_writer=tf.summary.create_file_writer, scalar=_bare_scalar
    )
    return board, "TensorFlow's bare summary writer"


def _bare_scalar(name: str, value: Any, step: int) -> Any:
    tf: Any = importlib.import_module("tensorflow")
    return tf.summary.write(name, tf.cast(value, tf.float32), step=step)


def started(callback: Any, model: Any) -> keras.callbacks.CallbackList:
    """Keras' list with this callback, in the first epoch of a fit."""
    listed = keras.callbacks.CallbackList([callback], model=model, epochs=1, steps=CALLS)
    listed.on_train_begin()
    listed.on_epoch_begin(0)
    return listed


def step_us(listed: keras.callbacks.CallbackList, calls: int) -> float:
    """Keras' dispatch of the two hooks of a step, microseconds a step."""
    logs = {"loss": 0.5}
    began = time.perf_counter()
    for batch in range(calls):
        listed.on_train_batch_begin(batch)
        listed.on_train_batch_end(batch, logs)
    return 1e6 * (time.perf_counter() - began) / calls


def direct_us(listed: keras.callbacks.CallbackList, calls: int) -> float:
    """The two hooks of a step as Keras' list calls them, without the list; microseconds a step.

    On JAX and PyTorch the list calls ends of steps on other threads, which takes tens of
    microseconds and differs by more than our hooks take.
    """
    callbacks: Any = listed.callbacks
    logs = {"loss": 0.5}
    began = time.perf_counter()
    for batch in range(calls):
        for callback in callbacks:
            callback.on_train_batch_begin(batch, logs=None)
        for callback in callbacks:
            callback.on_train_batch_end(batch, logs=logs)
    return 1e6 * (time.perf_counter() - began) / calls


def dispatch() -> tuple[dict[str, list[float]], list[float]]:
    """Microseconds a step of each kind of callback, round by round, interleaved.

    Returns:
        Times of Keras' dispatch, by kind; and times of our hooks beyond empty ones.
    """
    model = small_model()
    model.fit(*data(2), batch_size=16, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        board, writer = tensorboard(Path(folder))
        lists = {
            "empty": started(Empty(), model),
            "ours": started(MonitorCallback("bench hooks", hub="off"), model),
        }
        if board is not None:
            lists[writer] = started(board, model)
        found: dict[str, list[float]] = {name: [] for name in lists}
        hooks: list[float] = []
        for _ in range(ROUNDS):
            for name, listed in lists.items():
                found[name].append(step_us(listed, CALLS))
            empty_us = direct_us(lists["empty"], CALLS)
            hooks.append(direct_us(lists["ours"], CALLS) - empty_us)
        for listed in lists.values():
            listed.on_train_end()
    RUNS.close()
    return found, hooks


def fits() -> dict[str, list[float]]:
    """Milliseconds a step of whole fits, with and without us, interleaved."""
    model = small_model()
    x, y = data(FIT_STEPS)
    kinds: dict[str, Any] = {
        "empty": Empty,
        "ours": lambda: MonitorCallback("bench fits", hub="off"),
    }
    found: dict[str, list[float]] = {name: [] for name in kinds}
    for round_number in range(FIT_ROUNDS + 1):
        for name, make in kinds.items():
            began = time.perf_counter()
            model.fit(x, y, batch_size=16, epochs=3, verbose=0, callbacks=[make()])
            seconds = time.perf_counter() - began
            if round_number:  # the first traces
                found[name].append(1e3 * seconds / (3 * FIT_STEPS))
    RUNS.close()
    return found


class ResourcesCost:
    """Processor time of what is read beside memory, processors and the GPU, while it is timed."""

    def __init__(self) -> None:
        self.spent_s = 0.0
        for owner, name in (
            (Resources, "read"),
            (Resources, "find"),
            (ResourceReporter, "report"),
        ):
            setattr(owner, name, self._timed(getattr(owner, name)))

    def _timed(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            began = time.thread_time()
            found = work(*args)
            found = found if found is None else iter(list(found))
            self.spent_s += time.thread_time() - began
            return found

        return timed


@contextmanager
def served() -> Iterator[None]:
    """A hub of this user in its own process."""
    hub = started_hub(find_folders())
    yield
    hub.communicate(b"")


def thread_percent(*, with_hub: bool) -> tuple[float, float]:
    """CPU of the agent's thread during a fit at 1 Hz, and of it for resources; % of a core.

    Epochs take about `EPOCH_S` on each backend: each one's end is work too.
    """
    model = small_model()
    model.fit(*data(FIT_STEPS), batch_size=16, verbose=0)
    began = time.perf_counter()
    model.fit(*data(FIT_STEPS), batch_size=16, verbose=0)
    steps = round(FIT_STEPS * EPOCH_S / (time.perf_counter() - began))
    ended = threading.Event()
    found: list[float] = []
    resources = ResourcesCost()

    def watch() -> None:
        while (thread := _agent_thread()) is None:
            time.sleep(0.05)
        time.sleep(2.0)
        before, began = _cpu_s(thread), time.monotonic()
        resources.spent_s = 0.0
        ended.wait(THREAD_S)
        seconds = time.monotonic() - began
        found.append(100 * (_cpu_s(thread) - before) / seconds)
        found.append(100 * resources.spent_s / seconds)
        ended.set()

    class Until(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            model: Any = self.model
            model.stop_training = ended.is_set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    with served() if with_hub else nullcontext("off") as hub:
        monitor: Any = MonitorCallback("bench thread", hub=hub)
        callbacks = [monitor, Until()]
        model.fit(*data(steps), batch_size=16, epochs=10**6, verbose=0, callbacks=callbacks)
        watcher.join()
        RUNS.close()
    whole, for_resources = found
    return whole, for_resources


def _agent_thread() -> threading.Thread | None:
    return next((t for t in threading.enumerate() if t.name == "kmonitor-agent"), None)


def _cpu_s(thread: threading.Thread) -> float:
    text = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
    return int(text.split()[0]) / 1e9


def _dispatch(judge: Judge) -> None:
    costs, hooks = dispatch()
    empty, ours = costs.pop("empty"), costs.pop("ours")
    # Differences within a round: what else the machine does then hits both.
    added = median(b - a for a, b in zip(empty, ours, strict=True))
    judge.add("dispatch of a step, empty callback", median(empty), None, "us")
    judge.add("added by us", added, HOOK_TARGET_US, "us")
    judge.add("our hooks called directly", median(hooks), DIRECT_TARGET_US, "us")
    for writer, board in costs.items():
        theirs = median(b - a for a, b in zip(empty, board, strict=True))
        judge.add(f"added by TensorBoard ({writer})", theirs, None, "us")
        name = "TensorBoard's over ours"
        judge.take(Measured(name, theirs / added, TENSORBOARD_TARGET, "times", at_least=True))


def _fits(judge: Judge) -> None:
    found = fits()
    empty, ours = median(found["empty"]), median(found["ours"])
    ratios = [b / a for a, b in zip(found["empty"], found["ours"], strict=True)]
    judge.add("a step of a small fit, empty callback", empty, None, "ms")
    name = "the same with us, epochs' ends and sampling included"
    judge.take(Measured(name, ours, None, "ms", beside=f"{100 * (median(ratios) - 1):+.1f}%"))


def _thread(judge: Judge) -> None:
    unit = "% of a core"
    for hub, with_hub in (("no hub", False), ("with a hub", True)):
        whole, resources = thread_percent(with_hub=with_hub)
        name = f"agent's thread during a fit, 1 Hz, epochs of {EPOCH_S:g} s, {hub}"
        judge.add(name, whole, THREAD_TARGET_PERCENT, unit)
        name = "of it for what can run out beside memory"
        judge.add(name, resources, RESOURCES_TARGET_PERCENT, unit)


def main() -> int:
    """Print what was measured; 1 if a bound is missed."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["KMONITOR_HOME"] = home
        print(f"Keras {keras.__version__} on {keras.backend.backend()}\n")
        with Judge() as judge:
            _dispatch(judge)
            _fits(judge)
            _thread(judge)
    return judge.status


if __name__ == "__main__":
    sys.exit(main())
