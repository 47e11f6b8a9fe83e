# pyright: reportImplicitOverride=false
"""The report on each action in each kind of loop is what happened, and nothing else did."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import keras
import pytest
from tensorflow.python.eager import context

from kmonitor_agent import MonitorCallback, restore
from kmonitor_agent.reclaim.actions import collect_garbage, return_free_pages
from kmonitor_agent.recording.action_results import ActionResult
from kmonitor_agent.recording.runs import RUNS
from tests.frameworks.loops.loops import LOOPS, STEPS, Training, batches
from tests.support.recorders import faults_of
from tests.support.reloading import KERAS, clean_registry, seed_everything
from tests.support.running_tests import LONG

pytestmark = [*KERAS, pytest.mark.slow, LONG]

DONE: Final = "done"
FAILED: Final = "failed"
NOTHING: Final = "changed nothing"

BATCH: Final = 2
"""The step before which actions at a batch run."""

ACTIONS: Final[dict[str, tuple[tuple[str, dict[str, Any]], ...]]] = {
    "save": (("save", {}),),
    "collect": (("collect", {}),),
    "reload": (("reload", {}),),
    "recreate": (("reload", {"mode": "recreate"}),),
    "auto": (("auto", {}),),
    "diagnose": (("diagnose", {}),),
    "pause": (("pause", {}), ("resume", {})),
    "resume": (("resume", {}),),
    "restart": (("restart", {}),),
    "stop": (("stop", {}),),
}
"""Requested actions, one in each epoch but the first; two more epochs follow the last."""

EPOCHS: Final = len(ACTIONS) + 3

SAME: Final = {
    "save": [DONE],
    "collect": [NOTHING],
    "reload": [DONE],
    "recreate": [DONE],
    "auto": [NOTHING, NOTHING],
    "diagnose": [DONE],
    "pause": [DONE, DONE],
    "resume": [FAILED],
    "restart": [FAILED],
    "stop": [DONE],
}
"""In Keras' own `fit`."""

NO_STEP: Final = {"reload": [FAILED], "recreate": [FAILED], "auto": [NOTHING, FAILED]}
"""Results where Keras makes no step function."""

EXPECTED: Final[dict[str, dict[str, list[str]]]] = {
    "fit": {},
    "train_step": {},
    "GAN": {"recreate": [NOTHING]},  # which is refused, and a reload done instead
    "run_eagerly": {"reload": [NOTHING], "auto": [NOTHING, NOTHING]},
    "train_on_batch": {"auto": [NOTHING, DONE], "stop": [FAILED]},
    "train_on_batch, heeding": {"auto": [NOTHING, DONE]},
    "three models": {"auto": [NOTHING, DONE], "stop": [FAILED]},
    "tf.function": NO_STEP | {"stop": [FAILED]},
    "tf.function, heeding": NO_STEP,
    "eager": NO_STEP | {"recreate": [DONE], "stop": [FAILED]},
}
"""Differences from that."""

QUICK: Final = {("tf.function", "epoch")}


@dataclass
class Seen:
    """One action.

    Attributes:
        before: Values of everything, just before.
        after: The same just after.
        functions: TensorFlow's registered functions, before and after.
        steps: Steps done before.
        records: Reported results.
    """

    before: list[bytes]
    functions: tuple[int, int]
    steps: int
    after: list[bytes] = field(default_factory=list[bytes])
    records: list[ActionResult] = field(default_factory=list[ActionResult])


class Before(keras.callbacks.Callback):
    """Requests an action just before the callback under test comes to a safe point."""

    def __init__(self, training: Training, monitor: Any, at: str) -> None:
        super().__init__()
        self.training = training
        self.monitor = monitor
        self.at = at
        self.epoch = 0
        self.seen: dict[str, Seen] = {}
        self.running = ""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.at == "batch" and batch == BATCH:
            self.ask()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.at == "epoch":
            self.ask()

    def ask(self) -> None:
        if not 0 < self.epoch <= len(ACTIONS):
            return
        self.running = list(ACTIONS)[self.epoch - 1]
        # Keep an action from giving back memory of what ran in the process before.
        collect_garbage()
        return_free_pages()
        self.known = len(self.monitor.records)
        self.seen[self.running] = Seen(
            everything(self.training), (functions(), 0), self.training.steps
        )
        for action, how in ACTIONS[self.running]:
            self.monitor.request(action, at=self.at, **how)


class After(keras.callbacks.Callback):
    """Checks the state just behind it."""

    def __init__(self, asked: Before) -> None:
        super().__init__()
        self.asked = asked
        self.epochs: list[list[bytes]] = []

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == BATCH:
            self.look("batch")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.look("epoch")
        self.epochs.append(everything(self.asked.training))

    def look(self, at: str) -> None:
        asked = self.asked
        if not asked.running or at != asked.at:
            return
        seen = asked.seen[asked.running]
        seen.after = everything(asked.training)
        seen.functions = (seen.functions[0], functions())
        seen.records = list(asked.monitor.records[asked.known :])
        asked.running = ""


def everything(training: Training) -> list[bytes]:
    return [*training.values(), *training.values_beside()]


def functions() -> int:
    eager: Any = context.context()
    return len(eager.list_function_names())


def state_of(record: ActionResult) -> str:
    head = str(record).partition(" in ")[0]
    (found,) = [state for state in (DONE, FAILED, NOTHING) if head.endswith(state)]
    return found


def shrank(record: ActionResult) -> bool:
    """True if the record's own figures say that memory was given back."""
    before, after = record.event.before, record.event.after
    assert after is not None
    pairs = [
        (before.ram_process_bytes, after.ram_process_bytes),
        (before.allocator_in_use_bytes, after.allocator_in_use_bytes),
    ]
    return any(old and new is not None and new < old * 0.99 for old, new in pairs)


@pytest.fixture(autouse=True)
def closed_runs() -> Iterator[None]:
    """No run outlives its test."""
    yield
    RUNS.close()


@pytest.fixture(scope="module")
def plain() -> Callable[[str], list[list[bytes]]]:
    """Values at each epoch's end of a training without actions, made once for each loop."""
    known: dict[str, list[list[bytes]]] = {}

    def run(name: str) -> list[list[bytes]]:
        if name not in known:
            seed_everything(7)
            training = LOOPS[name].make()
            after = After(Before(training, None, ""))
            LOOPS[name].run(training, [after], EPOCHS)
            known[name] = after.epochs
        return known[name]

    return run


@pytest.mark.parametrize(
    ("name", "at"),
    [
        pytest.param(name, at, marks=() if (name, at) in QUICK else pytest.mark.full)
        for name in LOOPS
        for at in ("epoch", "batch")
    ],
)
def test_record_says_what_the_action_did(
    plain: Callable[[str], list[list[bytes]]], name: str, at: str, tmp_path: Path
):
    uninterrupted = plain(name)
    seed_everything(7)
    with clean_registry():
        training = LOOPS[name].make()
        monitor = MonitorCallback(name, hub="off", checkpoint_dir=tmp_path, keep_checkpoints=99)
        before = Before(training, monitor, at)
        after = After(before)
        LOOPS[name].run(training, [before, monitor, after], EPOCHS)
        # A stop of a script's own loop is settled when it ends or continues.
        before.seen["stop"].records = list(monitor.records[before.known :])
        faults = faults_of(monitor)

    reported = {
        action: [state_of(record) for record in seen.records]
        for action, seen in before.seen.items()
    }
    assert reported == SAME | EXPECTED[name]
    assert faults == {}
    for action, seen in before.seen.items():
        assert seen.after == seen.before, f"{action} changed a value"
        _check_given_back(action, seen)
    _check_stopped(before.seen["stop"], training, at)
    whole = after.epochs if at == "epoch" else after.epochs[: len(ACTIONS)]
    assert whole == uninterrupted[: len(whole)]
    _check_saved(before.seen["save"], training, tmp_path)


def _check_given_back(action: str, seen: Seen) -> None:
    """A claim that something was given back is true, and so is its opposite."""
    if action not in ("collect", "reload", "auto"):
        return
    fell = seen.functions[1] < seen.functions[0]
    claims = [record for record in seen.records if state_of(record) == DONE]
    assert fell == bool(claims) or any(map(shrank, claims)), seen.functions


def _check_stopped(seen: Seen, training: Training, at: str) -> None:
    (record,) = seen.records
    left = 0 if at == "epoch" else 1
    assert record.ok == (training.steps == seen.steps + left)
    if not record.ok:
        assert training.steps == EPOCHS * STEPS
        assert "model.stop_training" in record.why


def _check_saved(seen: Seen, training: Training, folder: Path) -> None:
    """The checkpoint has everything but what the record names."""
    (record,) = seen.records
    assert training.values() != seen.after[: len(training.values())], "it was trained on"

    restore(training.model, folder / record.event.checkpoint)

    known = training.values()
    assert known == seen.after[: len(known)]
    named = sum(int(line.partition("(")[2].partition(" ")[0]) for line in record.event.not_saved)
    assert named == len(training.values_beside())


@pytest.mark.parametrize("how", [pytest.param("evaluate", marks=pytest.mark.full), "predict"])
def test_without_a_fit_nothing_is_done_and_the_next_fit_does_it(how: str):
    training = LOOPS["fit"].make()
    monitor = MonitorCallback("no fit", hub="off")
    x, y = next(batches())
    before = everything(training)
    for action in ("save", "collect", "reload", "stop"):
        monitor.request(action, at="batch")

    if how == "evaluate":
        training.model.evaluate(x, y, verbose=0, callbacks=[monitor])
    else:
        training.model.predict(x, verbose=0, callbacks=[monitor])

    assert monitor.records == []
    weights = len(training.model.variables)
    assert everything(training)[:weights] == before[:weights]
    training.model.fit(x, y, verbose=0, epochs=3, callbacks=[monitor])
    assert [record.action for record in monitor.records] == ["save", "collect", "reload", "stop"]
