"""Trainings in which calls of the agent fail: a process that forks itself for each of them.

Keras is imported once and nothing is computed before a fork, so each training has a process of
its own, with its own exit, and costs about a second. Orders come as lines of JSON on standard
input, answers go to standard output:

    {"fit": "light", "faults": [["recording/fit.py:1:2 call x", 1, "OSError"]]}
    {"status": 0, "output": "", "result": {...}, "met": {...}, "failed": ["recording/..."]}
"""

import atexit
import contextlib
import errno
import faulthandler
import gc
import importlib
import json
import os
import random
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from tests.support.fault_sites import SITES, Injection, install

install()

import keras  # noqa: E402 - the agent's modules come after `install`
import numpy as np  # noqa: E402

from kmonitor_agent import Limit, MonitorCallback  # noqa: E402
from kmonitor_agent.wire.local import supervision  # noqa: E402
from tests.support.recorders import recorder_of  # noqa: E402

importlib.import_module("kmonitor_agent.recording.runs")  # now, and not in every process

HANGS_AFTER_S: Final = 180.0
"""A training takes two seconds; on a machine of load 20 a minute."""

ERRORS: Final[dict[str, Callable[[], BaseException]]] = {
    "OSError": lambda: OSError(errno.EIO, "it failed, for a test"),
    "MemoryError": MemoryError,
    "RuntimeError": lambda: RuntimeError("it failed, for a test"),
}


def main() -> None:
    """Carry out orders until there are no more."""
    place = Path(sys.argv[1])
    gc.collect()
    gc.freeze()  # what the imports made is never garbage, and a collection is quick without it
    for line in sys.stdin:
        order = json.loads(line)
        answer = carry_out(order, place)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def carry_out(order: dict[str, Any], place: Path) -> dict[str, Any]:
    """Run one training in a process, or two where the first one leaves to be started again."""
    _clear(place, order)
    if order["fit"] == "take_up":
        _leave_before(place)
    answer = _in_child(order, place)
    if answer["status"] == supervision.RESTART_STATUS:
        supervision.Supervision(place / "supervised").begin_next()
        again = _in_child({"fit": "take_up"}, place)
        answer = {**again, "met": answer["met"], "failed": answer["failed"],
                  "left": True, "output": answer["output"] + again["output"]}  # fmt: skip
    return answer


def _leave_before(place: Path) -> None:
    """Put what a training left behind where the next one takes it up; the same each time."""
    left, shared = place / "left", place / "supervised"
    if not left.exists():
        answer = _in_child({"fit": "leave"}, place)
        assert answer["status"] == supervision.RESTART_STATUS, answer["output"]
        supervision.Supervision(shared).begin_next()
        shutil.copytree(shared, left)
    shutil.rmtree(shared)
    shutil.copytree(left, shared)


def _clear(place: Path, order: dict[str, Any]) -> None:
    for name in ("spool", "logs", "supervised", "checkpoints"):
        shutil.rmtree(place / name, ignore_errors=True)
    if order["fit"] in ("leave", "take_up"):
        shared = place / "supervised"
        shared.mkdir(mode=0o700)
        supervision.Supervision(shared).set_settings(
            supervision.SupervisorSettings(supervisor=os.getpid())
        )


def _in_child(order: dict[str, Any], place: Path) -> dict[str, Any]:
    result = place / "result.json"
    result.unlink(missing_ok=True)
    pid = os.fork()
    if not pid:
        _be_the_training(order, place)
    status = _ended(pid)
    output = (place / "output").read_text(errors="replace")
    known: dict[str, Any] = {"result": None, "met": {}, "failed": [], "records": []}
    with contextlib.suppress(OSError, ValueError):
        known |= json.loads(result.read_text())
    return {**known, "status": status, "output": output[-12000:]}


def _ended(pid: int) -> int | str:
    until_s = time.monotonic() + HANGS_AFTER_S + 30
    pidfd = os.pidfd_open(pid)
    try:
        if not select.select([pidfd], [], [], until_s - time.monotonic())[0]:
            os.kill(pid, signal.SIGKILL)
    finally:
        os.close(pidfd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _be_the_training(order: dict[str, Any], place: Path) -> None:
    """Never returns but through the interpreter's own exit."""
    output = os.open(place / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    stderr = os.fdopen(os.dup(2), "w")
    faulthandler.enable(stderr)
    faulthandler.dump_traceback_later(HANGS_AFTER_S, exit=True, file=stderr)
    if order["fit"] in ("leave", "take_up"):
        os.environ[supervision.SUPERVISED_VARIABLE] = str(place / "supervised")
    training = Training(order, place)
    # Registered first, so called last: the agent's own functions have run by then.
    atexit.register(training.end, whole=order.get("whole_exit", False))
    training.run()
    sys.exit(0)


class Training:
    """One training and what came of it."""

    def __init__(self, order: dict[str, Any], place: Path) -> None:
        self._fit: str = order["fit"]
        self._place = place
        self._result: dict[str, Any] | None = None
        self._monitor: Any = None
        self._faults: Any = None
        self._status: Any = 1
        self._raised = ""
        self._is_armed = "allocations" not in order  # what counts sites allocates too
        if not self._is_armed:
            _fail_allocations(*order["allocations"])
        for site, nth, error in order.get("faults", ()):
            SITES.injections[site] = Injection(nth, ERRORS[error])

    def run(self) -> None:
        """Train from the same seeds as always."""
        keras.utils.set_random_seed(7)
        model = small_model()
        if self._fit == "plain":
            self._result = result_of(model, model.fit(**data(), **HOW))
            self._status = 0
            return
        self._monitor = monitor = MonitorCallback(
            "training",
            limits=[Limit("ram", "99.9%"), Limit("step_time", "100 s")],
            checkpoint_dir=self._place / "checkpoints",
            logs=False,
        )
        self._faults = recorder_of(monitor).faults
        for arguments in REQUESTS[self._fit]:
            monitor.request(**arguments)
        SITES.is_armed = self._is_armed
        try:
            history = model.fit(**data(), **HOW, callbacks=[monitor])
        except SystemExit as exc:
            self._status = exc.code
            raise
        except BaseException as exc:
            self._raised = type(exc).__name__
            raise
        self._result = result_of(model, history)
        self._status = 0

    def end(self, *, whole: bool) -> None:
        """At exit; Python's own clearing up is left out, unless the exit is to be whole."""
        self._write()
        if not whole:
            # It takes longer than the training: TensorFlow's modules are many.
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(self._status)

    def _write(self) -> None:
        SITES.is_armed = False
        records: list[Any] = [] if self._monitor is None else list(self._monitor.records)
        faults = {} if self._faults is None else self._faults.counts()
        written = {
            "result": self._result,
            "raised": self._raised,
            "failed": SITES.failed,
            "met": {site: [met.kind, met.times] for site, met in SITES.met.items()},
            "records": [[each.action, each.ok, each.why] for each in records],
            "faults": faults,
        }
        (self._place / "result.json").write_text(json.dumps(written))


def _fail_allocations(action: str, first: int, count: int) -> None:
    """Have some of Python's allocations fail, one after the other, while an action runs.

    None fails while TensorFlow traces a step or Protocol Buffers read one, since both crash then;
    that there is memory is seen before.
    """
    performer: Any = importlib.import_module("kmonitor_agent.recording.action_executor")
    reclaim: Any = importlib.import_module("kmonitor_agent.frameworks.tensorflow.reclaim")
    hooks: Any = importlib.import_module("_testcapi")
    real = getattr(performer, action)

    def act(*given: Any, **named: Any) -> Any:
        hooks.set_nomemory(first, first + count)
        try:
            return real(*given, **named)
        finally:
            hooks.remove_mem_hooks()

    def spared(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            hooks.remove_mem_hooks()
            try:
                return work(*given)
            finally:
                hooks.set_nomemory(first, first + count)

        return call

    setattr(performer, action, act)
    reclaim.retrace, reclaim.is_same_step = spared(reclaim.retrace), spared(reclaim.is_same_step)


HOW: Final[dict[str, Any]] = {"batch_size": 4, "epochs": 2, "verbose": 0}

REQUESTS: Final[dict[str, list[dict[str, Any]]]] = {
    "light": [],
    "full": [
        {"action": "save", "export": True},
        {"action": "collect"},
        {"action": "diagnose"},
        {"action": "reload"},
    ],
    "collect": [{"action": "collect"}],
    "reload": [{"action": "reload"}],
    "recreate": [{"action": "reload", "mode": "recreate"}],
    "leave": [{"action": "restart"}],
    "take_up": [],
}


def small_model() -> Any:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def data() -> dict[str, Any]:
    x = np.linspace(0.0, 1.0, 16 * 4, dtype="float32").reshape(16, 4)
    return {"x": x, "y": x.sum(axis=1, keepdims=True)}


def result_of(model: Any, history: Any) -> dict[str, Any]:
    """All that a training may change, in a form that JSON keeps exactly."""
    variables = [*model.variables, *model.optimizer.variables]
    return {
        "history": {name: [v.hex() for v in values] for name, values in history.history.items()},
        "variables": [each.numpy().tobytes().hex() for each in variables],
        "random": [random.random().hex(), float(np.random.rand()).hex()],  # noqa: S311
    }


if __name__ == "__main__":
    main()
