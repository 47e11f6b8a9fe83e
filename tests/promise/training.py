"""One training, alone and with kmonitor: what it computed, drew, printed and called must be equal.

`compare(case, folder)` runs the case's script twice in separate processes, in the same
environment; the second time a `MonitorCallback` is among the callbacks.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from tests.support.trainings import ROOT

LIMIT_S: Final = 300.0
"""Time for one training, seconds; beyond it hangs."""

_TENSORFLOW_LINE: Final = re.compile(r"[IWEF]\d{4} |WARNING: All log messages before absl")

Stream = Literal["file", "closed", "full", "broken", "stuck"]
"""`file`: the output is compared. `full`: /dev/full. `broken`: a pipe whose reader is gone.
`stuck`: a full pipe that no one reads."""


@dataclass(frozen=True, slots=True)
class Case:
    """An environment or usage.

    Attributes:
        name: Name of the test.
        before: Python, before anything is imported but the standard library.
        define: Python, after Keras was imported: may define `make_model`, `compile_model`,
            `make_callbacks`, `make_data`, `fit`.
        monitor: Expression of the callback.
        add: Statement that puts `monitor` among `callbacks`.
        after: Python, after the fit.
        env: Environment variables; "" takes one away. `{folder}` is the folder of this run.
        flags: Flags of Python.
        out: Target of standard output.
        err: Target of standard error.
        limits: Resource to its soft limit.
        umask: Umask of the process.
        lines: Lines that kmonitor may print to standard error, at most.
        full: Left to `make test-full`.
        computes: False for a script that ends before it has a result.
        keras: The module that is imported as `keras`.
        needs: Modules that must be installed.
        supervised: With kmonitor the script is started by `kmonitor run`.
    """

    name: str
    before: str = ""
    define: str = ""
    monitor: str = "MonitorCallback()"
    add: str = "callbacks.append(monitor)"
    after: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    out: Stream = "file"
    err: Stream = "file"
    limits: Mapping[int, int] = field(default_factory=dict)
    umask: int = -1
    lines: int = 1
    full: bool = True
    computes: bool = True
    keras: str = "keras"
    needs: tuple[str, ...] = ()
    supervised: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """Result of one training.

    Attributes:
        status: Exit status; negative: the signal that ended it; None: it hung.
        result: Its computed values, as its script wrote them; empty if it did not get there.
        out: Its standard output.
        err: Its standard error.
    """

    status: int | None
    result: dict[str, Any]
    out: str
    err: str


SCRIPT: Final = """
import sys, os
WITH = os.environ.pop("PROMISE_WITH") == "1"
RESULT = os.environ.pop("PROMISE_RESULT")
COUNTS = {}
def count(name):
    COUNTS[name] = COUNTS.get(name, 0) + 1
##BEFORE##
import random
import numpy as np
import ##KERAS## as keras

def make_model():
    layers = keras.layers
    return keras.Sequential([layers.Dense(3, "relu"), layers.Dropout(0.3), layers.Dense(1)])

def compile_model(model):
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])

def make_callbacks():
    return []

def make_data():
    x = np.linspace(-1.0, 1.0, 64, dtype="float32").reshape(16, 4)
    return {"x": x, "y": x.sum(axis=1, keepdims=True), "batch_size": 4, "epochs": 2, "verbose": 0}

def fit(model, callbacks, data):
    return model.fit(callbacks=callbacks, **data)

##DEFINE##

def array_of(variable):
    if hasattr(keras, "ops"):
        return keras.ops.convert_to_numpy(variable.value)
    return variable.numpy()

def next_draws():
    found = [random.random(), float(np.random.random())]
    if hasattr(keras, "random"):
        found += keras.ops.convert_to_numpy(keras.random.uniform((2,))).tolist()
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf
        found.append(tf.random.uniform((2,)).numpy().tolist())
    if keras.backend.backend() == "torch":
        import torch
        found.append(torch.rand(2).tolist())
    return found

def main():
    keras.utils.set_random_seed(7)
    random.seed(7)
    model = make_model()
    compile_model(model)
    callbacks = make_callbacks()
    if WITH:
        import kmonitor_agent
        from kmonitor_agent import MonitorCallback
        monitor = ##MONITOR##
        ##ADD##
    found = {}
    try:
        history = fit(model, callbacks, make_data())
        found["history"] = repr(getattr(history, "history", history))
    except Exception as exc:
        found["raised"] = f"{type(exc).__name__}: {exc}"[:2000]
    import hashlib
    digest = hashlib.sha256()
    for variable in model.variables:
        digest.update(np.ascontiguousarray(array_of(variable)).tobytes())
    found["weights"] = digest.hexdigest()
    found["names"] = [getattr(v, "path", v.name) for v in model.variables]
    found["names"] += [keras.layers.Dense(1).name, keras.Sequential().name]
    found["draws"] = next_draws()
    found["counts"] = COUNTS
    found["handlers"] = [str(__import__("signal").getsignal(n)) for n in (1, 2, 15)]
    ##AFTER##
    file = os.open(RESULT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    import json
    text = json.dumps(found, sort_keys=True).encode()
    while text:
        text = text[os.write(file, text):]
    os.close(file)

if __name__ == "__main__":
    main()
"""


def script_of(case: Case) -> str:
    """The case's script; the same alone and with kmonitor."""

    def indented(code: str, depth: int) -> str:
        return code.strip().replace("\n", "\n" + " " * depth) or "pass"

    return (
        SCRIPT.replace("##KERAS##", case.keras)
        .replace("##BEFORE##", indented(case.before, 0))
        .replace("##DEFINE##", indented(case.define, 0))
        .replace("##MONITOR##", case.monitor)
        .replace("##ADD##", indented(case.add, 8))
        .replace("##AFTER##", indented(case.after, 4))
    )


def compare(case: Case, folder: Path) -> list[str]:
    """Differences of the training with kmonitor from the one alone; empty: none."""
    with ThreadPoolExecutor(2) as pool:
        alone, watched = pool.map(lambda name: run(case, folder / name), ("alone", "watched"))
    found: list[str] = []
    if alone.status is None:
        found.append("the training alone hangs: the case is wrong")
    if alone.status != watched.status:
        found.append(f"status {alone.status} became {watched.status}\n{watched.err[-3000:]}")
    for key in sorted({*alone.result, *watched.result}):
        before, after = alone.result.get(key), watched.result.get(key)
        if before != after:
            found.append(f"{key}: {str(before)[:600]} became {str(after)[:600]}")
    if not alone.result and case.computes:
        found.append(f"nothing computed alone: {alone.err[-2000:]}")
    if alone.out != watched.out:
        found.append(f"output: {alone.out[-500:]!r} became {watched.out[-500:]!r}")
    more = _added_lines(alone.err, watched.err)
    if len(more) > case.lines or any(not line.startswith("kmonitor: ") for line in more):
        found.append("printed: " + "\n".join(more)[:3000])
    return found


def run(case: Case, folder: Path) -> Ran:
    """Run the case once; `folder` is named for it: `alone` or `watched`."""
    folder.mkdir(parents=True)
    (folder / "home").mkdir()
    script = folder / "train.py"
    script.write_text(script_of(case), encoding="utf-8")
    result = folder / "result.json"
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "CUDA_VISIBLE_DEVICES": "-1",
        "KMONITOR_HOME": str(folder / "home"),
        "PROMISE_WITH": str(int(folder.name == "watched")),
        "PROMISE_RESULT": str(result),
    }
    for name, value in case.env.items():
        environ[name] = value.replace("{folder}", str(folder))
        if not value:
            del environ[name]
    with _stream(case.out, folder / "out") as out, _stream(case.err, folder / "err") as err:
        process = subprocess.Popen(
            [*_starter(case, folder), sys.executable, *case.flags, str(script)],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=out if out >= 0 else None,
            stderr=err if err >= 0 else None,
            preexec_fn=_limited(case, close=(out < 0, err < 0)),  # noqa: PLW1509 - it calls the system only
        )
        try:
            status: int | None = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            status = None
    return Ran(
        status,
        json.loads(result.read_bytes()) if result.exists() else {},
        _text(folder / "out").replace(str(folder), "FOLDER"),
        _text(folder / "err").replace(str(folder), "FOLDER"),
    )


def _starter(case: Case, folder: Path) -> list[str]:
    is_supervised = case.supervised and folder.name == "watched"
    return [sys.executable, "-m", "kmonitor.cli.main", "run", "--"] if is_supervised else []


def _limited(case: Case, close: tuple[bool, bool]) -> Callable[[], None]:
    def limit() -> None:
        for number, is_closed in enumerate(close, start=1):
            if is_closed:
                os.close(number)
        for kind, soft in case.limits.items():
            resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1]))
        if case.umask >= 0:
            os.umask(case.umask)

    return limit


@contextmanager
def _stream(kind: Stream, path: Path) -> Iterator[int]:
    if kind == "closed":
        yield -1
        return
    if kind in ("broken", "stuck"):
        reader, writer = os.pipe()
        if kind == "broken":
            os.close(reader)
        else:
            os.set_blocking(writer, False)
            try:
                while os.write(writer, b"x" * 4096):
                    pass
            except BlockingIOError:
                os.set_blocking(writer, True)
        try:
            yield writer
        finally:
            os.close(writer)
            if kind == "stuck":
                os.close(reader)
        return
    file = os.open("/dev/full" if kind == "full" else path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _lines(text: str) -> list[str]:
    """Without those of TensorFlow's C++ code, which carry times and thread numbers."""
    return [line for line in text.splitlines() if line and not _TENSORFLOW_LINE.match(line)]


def _added_lines(alone: str, watched: str) -> list[str]:
    known = _lines(alone)
    added: list[str] = []
    for line in _lines(watched):
        if line in known:
            known.remove(line)
        else:
            added.append(line)
    return [*added, *(f"gone: {line}" for line in known)]
