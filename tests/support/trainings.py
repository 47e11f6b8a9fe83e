"""Real Keras trainings as separate processes, watched by kmonitor, for tests that observe them.

`start_training` starts one; it runs `python -m tests.support.trainings '<json>'`.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.support.waiting import DEADLINE_S, wait_until

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Plan:
    """Instructions for a training process.

    Attributes:
        folder: Folder where it writes its result and looks for the gate.
        name: Run name.
        monitored: True if a `MonitorCallback` is passed at all.
        models: Models built and fitted one after the other.
        epochs: Epochs of each fit.
        limits: Arguments of `Limit`: [["graph", 1000, {"action": "reload"}]].
        arguments: More arguments of `MonitorCallback`.
        hold_epoch: Before this epoch of the first fit it waits at the gate; -1 never.
        request: `[action, epoch, at]`: requested at the begin of that epoch; empty never.
        ending: "raise": the last fit raises in its last epoch; "": it ends well.
        seeds_once: Seeds are set before the first model only: the next one's are drawn.
    """

    folder: str
    name: str = "training"
    monitored: bool = True
    models: int = 1
    epochs: int = 4
    limits: list[Any] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    hold_epoch: int = -1
    request: list[Any] = field(default_factory=list)
    ending: str = ""
    seeds_once: bool = False


@dataclass(frozen=True)
class Ended:
    """Results of a training process.

    Attributes:
        digests: Digest of each fit: all variables, optimizer slots, seeds and History, bit for
            bit.
        histories: History of each fit.
        run: Run id, empty if not monitored.
        records: `str` of each record.
        faults: Our own faults by part.
        seconds: Time of all fits together.
    """

    digests: list[str]
    histories: list[dict[str, list[float]]]
    run: str
    records: list[str]
    faults: dict[str, int]
    seconds: float


class TrainingProcess:
    """A running training; `end` or `kill` it."""

    def __init__(self, plan: Plan, home: Path) -> None:
        self.plan = plan
        self._folder = Path(plan.folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        environ = {
            **os.environ,
            "KMONITOR_HOME": str(home),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "-1",
            "PYTHONPATH": str(ROOT),
        }
        with (self._folder / "stderr").open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.trainings", json.dumps(asdict(plan))],
                env=environ,
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )

    def wait_at_gate(self, deadline_s: float = 2 * DEADLINE_S) -> None:
        """Until it waits before epoch `hold_epoch`."""

        def is_held() -> bool:
            assert self.process.poll() is None, self.errors()
            return (self._folder / "held").exists()

        wait_until(is_held, deadline_s, "training at the gate")

    def open_gate(self) -> None:
        """Let it go on."""
        (self._folder / "go").touch()

    def end(self, timeout_s: float = 2 * DEADLINE_S) -> Ended:
        """Wait for a good end; its result."""
        assert self.process.wait(timeout_s) == 0, self.errors()
        return Ended(**json.loads((self._folder / "result.json").read_text()))

    def kill(self) -> None:
        """SIGKILL, if it still lives."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(DEADLINE_S)

    def errors(self) -> str:
        """Its standard error."""
        return (self._folder / "stderr").read_text(errors="replace")[-4000:]


@contextmanager
def start_training(home: Path, **plan: Any) -> Iterator[TrainingProcess]:
    """A training process with kmonitor's files below `home`; killed at the end if it lives.

    Args:
        home: KMONITOR_HOME of the process.
        plan: Fields of `Plan`; `folder` may be left out.
    """
    plan.setdefault("folder", str(home.parent / "training"))
    training = TrainingProcess(Plan(**plan), home)
    try:
        yield training
    finally:
        training.kill()


def digest_of(model: Any, history: dict[str, list[float]]) -> str:
    """Digest of the model's whole exact state and the History of its fit."""
    from tests.support.reloading import state_of  # noqa: PLC0415 - brings TensorFlow along

    total = hashlib.sha256()
    for name, values in state_of(model):
        total.update(name.encode() + values.tobytes())
    told = {name: [float(each).hex() for each in values] for name, values in history.items()}
    total.update(json.dumps(told, sort_keys=True).encode())
    return total.hexdigest()


def run_plan(plan: Plan) -> Ended:
    """Do it, in this process."""
    import time  # noqa: PLC0415

    import keras  # noqa: PLC0415 - only in the training process

    from kmonitor_agent import Limit, MonitorCallback  # noqa: PLC0415
    from tests.support.recorders import faults_of  # noqa: PLC0415

    limits = [Limit(metric, threshold, **more) for metric, threshold, more in plan.limits]
    monitor: Any = None
    if plan.monitored:
        monitor = MonitorCallback(plan.name, limits=limits, **plan.arguments)
    digests: list[str] = []
    histories: list[dict[str, list[float]]] = []
    began = time.perf_counter()
    for number in range(plan.models):
        if number == 0 or not plan.seeds_once:
            keras.utils.set_random_seed(7 + number)
        callbacks = _callbacks(plan, monitor, number)
        model, history = _fit(plan, callbacks)
        histories.append(history)
        digests.append(digest_of(model, history))
    return Ended(
        digests=digests,
        histories=histories,
        run=monitor.run_id if monitor else "",
        records=[str(record) for record in monitor.records] if monitor else [],
        faults=faults_of(monitor) if monitor else {},
        seconds=time.perf_counter() - began,
    )


def _fit(plan: Plan, callbacks: list[Any]) -> tuple[Any, dict[str, list[float]]]:
    from tests.support.reloading import dense_model, shuffled_dataset  # noqa: PLC0415

    model = dense_model(metrics=["accuracy"])
    history = model.fit(
        **shuffled_dataset(), epochs=plan.epochs, verbose=0, callbacks=callbacks
    ).history
    return model, {name: [float(each) for each in values] for name, values in history.items()}


def _callbacks(plan: Plan, monitor: Any, number: int) -> list[Any]:
    import keras  # noqa: PLC0415

    plateau = keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_delta=10.0)
    script = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, _: _at_epoch(plan, monitor, number, epoch)
    )
    return [script, plateau, *([monitor] if monitor else [])]


def _at_epoch(plan: Plan, monitor: Any, number: int, epoch: int) -> None:
    folder = Path(plan.folder)
    if number == 0 and epoch == plan.hold_epoch:
        (folder / "held").touch()
        wait_until((folder / "go").exists, 4 * DEADLINE_S, "the gate")
    if plan.request and monitor and plan.request[1] == epoch:
        monitor.request(plan.request[0], at=plan.request[2])
    if plan.ending == "raise" and number == plan.models - 1 and epoch == plan.epochs - 1:
        raise RuntimeError("the training's own error")


def main(argument: str) -> None:
    """Run the plan given as JSON and write `result.json` into its folder."""
    plan = Plan(**json.loads(argument))
    ended = run_plan(plan)
    (Path(plan.folder) / "result.json").write_text(json.dumps(asdict(ended)))


if __name__ == "__main__":
    main(sys.argv[1])
